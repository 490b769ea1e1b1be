import { quotedText } from '@drydock/api/text';
import { VimError } from '../errors.ts';
import { foreignText } from '../foreign-text.ts';
import type { Caller } from '../soap/call.ts';
import { readLocalizedFault } from '../soap/faults.ts';
import { data, methodBody, schemaPosition } from '../soap/schema.ts';
import type { CallOptions, ImportLease, ImportRequest } from '../vcenter.ts';
import {
  child,
  childText,
  descend,
  element,
  elements,
  type OpaqueXml,
  referenceOf,
  type XmlElement,
  type XmlNode,
  xsd,
} from '../xml/xml.ts';
import { type ImportItem, openLease } from './lease.ts';

/** What CreateImportSpec makes of a descriptor. */
export interface ImportSpec {
  /** The server's own `importSpec`, to be passed back whole. */
  readonly spec: OpaqueXml;
  readonly items: readonly ImportItem[];
  readonly warnings: readonly string[];
}

/** Creates the spec, marks it from birth, imports it and waits until the lease is ready. What it started and cannot finish it aborts. */
export async function startImport(
  caller: Caller,
  request: ImportRequest,
  options: CallOptions = {},
): Promise<ImportLease> {
  const made = await createImportSpec(caller, request, options);
  for (const warning of made.warnings)
    caller.log.warn({ server: caller.server, vm: request.name, warning }, 'The server warns about the descriptor.');
  const spec = markSpec(made.spec, request);
  const body = methodBody('ImportVApp', { spec, folder: request.folder, host: request.host });
  const answer = await caller.call('ImportVApp', request.resourcePool, body, options);
  const lease = referenceOf(child(answer, 'returnval'));
  if (lease === undefined) {
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_BAD_RESPONSE',
      op: 'ImportVApp',
      message: `${request.name}: the answer names no lease`,
    });
  }
  return openLease(caller, { lease, name: request.name, items: made.items }, options);
}

/** See `VCenter.checkImport`. */
export async function checkImport(
  caller: Caller,
  request: ImportRequest,
  options: CallOptions = {},
): Promise<readonly string[]> {
  const { spec, warnings } = await createImportSpec(caller, request, options);
  markSpec(spec, request);
  return warnings;
}

/** CreateImportSpec. What the server reports as an error is `VIM_OVF_REFUSED` with its first message; warnings are passed on. */
export async function createImportSpec(
  caller: Caller,
  request: ImportRequest,
  options: CallOptions = {},
): Promise<ImportSpec> {
  const op = 'CreateImportSpec';
  const { ovfManager } = await caller.content(options);
  if (ovfManager === undefined) throw ovfRefused(op, request.name, `${caller.server} offers no OVF import`);
  const params = data('OvfCreateImportSpecParams', {
    // Both are required by the schema and may be empty.
    locale: 'US',
    deploymentOption: '',
    entityName: request.name,
    hostSystem: request.host,
    networkMapping: [...request.networks].map(([name, network]) => data('OvfNetworkMapping', { name, network })),
    diskProvisioning: request.diskProvisioning === '' ? undefined : request.diskProvisioning,
  });
  const body = methodBody(op, {
    ovfDescriptor: request.descriptor,
    resourcePool: request.resourcePool,
    datastore: request.datastore,
    cisp: params,
  });
  const result = child(await caller.call(op, ovfManager, body, { ...options, idempotent: true }), 'returnval');
  const errors = elements(result, 'error');
  const [first] = errors;
  if (first !== undefined) {
    const fault = readLocalizedFault(first);
    const said = childText(first, 'localizedMessage') ?? '';
    const text = said === '' ? (fault?.name ?? 'an error without a text') : quotedText(foreignText(said));
    throw ovfRefused(op, request.name, `${caller.server} refuses the descriptor: ${text}`);
  }
  const spec = child(result, 'importSpec');
  if (spec === undefined) throw ovfRefused(op, request.name, `${caller.server} makes no import spec of the descriptor`);
  return {
    spec,
    items: elements(result, 'fileItem').map(readItem),
    warnings: elements(result, 'warning').map(readWarning),
  };
}

/**
 * The spec with our instance UUID, our note before that of the descriptor, and our extraConfig in its configSpec, each at the schema's position: a real vCenter drops or rejects what is out of order. The
 * rest is passed on as it came. Only a VirtualMachineImportSpec has a configSpec; a vApp is refused.
 */
export function markSpec(
  spec: OpaqueXml,
  { instanceUuid, extraConfig, annotation }: Pick<ImportRequest, 'instanceUuid' | 'extraConfig' | 'annotation'>,
): XmlElement {
  const config = child(spec, 'configSpec');
  if (config === undefined)
    throw ovfRefused(
      'CreateImportSpec',
      spec.type?.local ?? spec.name,
      'the descriptor describes no single virtual machine',
    );
  const kept = config.children.filter((node) => {
    if (typeof node === 'string' || node.name === 'instanceUuid') return typeof node === 'string';
    if (node.name === 'annotation') return annotation === undefined;
    return node.name !== 'extraConfig' || !extraConfig.has(childText(node, 'key') ?? '');
  });
  const options = [...extraConfig].map(([key, value]) =>
    data('OptionValue', { key, value: xsd('value', 'string', value) }, { concrete: true, name: 'extraConfig' }),
  );
  const said = childText(config, 'annotation') ?? '';
  const notes =
    annotation === undefined ? [] : [element('annotation', said === '' ? annotation : `${annotation}\n\n${said}`)];
  const marked = insert(insert(insert(kept, [element('instanceUuid', instanceUuid)]), notes), options);
  const children = spec.children.map((node) => (node === config ? { ...config, children: marked } : node));
  return { ...spec, children };
}

/** Puts fields behind the last one that the schema has at or before their place. A field that the table does not know stays behind its neighbour. */
function insert(children: readonly XmlNode[], fields: readonly XmlElement[]): readonly XmlNode[] {
  const [first] = fields;
  if (first === undefined) return children;
  const place = schemaPosition('VirtualMachineConfigSpec', first.name);
  const after = children.findLastIndex((node) => {
    const at = typeof node === 'string' ? -1 : schemaPosition('VirtualMachineConfigSpec', node.name);
    return at >= 0 && at <= place;
  });
  return children.toSpliced(after + 1, 0, ...fields);
}

function readItem(item: XmlElement): ImportItem {
  const size = Number(childText(item, 'size') ?? Number.NaN);
  return {
    deviceId: childText(item, 'deviceId') ?? '',
    path: childText(item, 'path') ?? '',
    // 0 means that the descriptor gave none.
    ...(Number.isSafeInteger(size) && size > 0 ? { size } : {}),
    create: childText(item, 'create')?.trim() === 'true',
  };
}

function readWarning(at: XmlElement): string {
  const said = childText(at, 'localizedMessage') ?? '';
  return foreignText(said === '' ? (descend(at, 'fault')?.type?.local ?? 'a warning without a text') : said);
}

function ovfRefused(op: string, name: string, why: string): VimError {
  return new VimError({ kind: 'fault', code: 'VIM_OVF_REFUSED', op, message: `${name}: ${why}` });
}
