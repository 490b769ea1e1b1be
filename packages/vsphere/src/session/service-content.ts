import { VimError } from '../errors.ts';
import { foreignText } from '../foreign-text.ts';
import type { ServiceContent } from '../soap/call.ts';
import type { MoRef } from '../vcenter.ts';
import { child, childText, elements, referenceOf, textOf, type XmlElement } from '../xml/xml.ts';
import type { Transport } from './transport.ts';

/** The newest API version that the tables of this package were checked against. */
const NEWEST = '8.0.3.0';
const VERSIONS_MS = 15_000;

/** Reads the answer of RetrieveServiceContent. */
export function readServiceContent(response: XmlElement, server: string): ServiceContent {
  const value = child(response, 'returnval');
  const about = child(value, 'about');
  const said = (name: string): string => foreignText(childText(about, name) ?? '');
  const ref = (name: string): MoRef | undefined => referenceOf(child(value, name));
  const required = (name: string): MoRef => {
    const found = ref(name);
    if (found !== undefined) return found;
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_BAD_RESPONSE',
      op: 'RetrieveServiceContent',
      message: `${server} names no ${name}`,
    });
  };
  const optional = <N extends string>(name: N): { readonly [K in N]?: MoRef } => {
    const found = ref(name);
    return found === undefined ? {} : ({ [name]: found } as { readonly [K in N]?: MoRef });
  };
  return {
    rootFolder: required('rootFolder'),
    propertyCollector: required('propertyCollector'),
    sessionManager: required('sessionManager'),
    ...optional('viewManager'),
    ...optional('searchIndex'),
    ...optional('taskManager'),
    ...optional('ovfManager'),
    ...optional('customFieldsManager'),
    ...optional('authorizationManager'),
    ...optional('setting'),
    about: {
      fullName: said('fullName'),
      version: said('version'),
      build: said('build'),
      apiType: said('apiType'),
      apiVersion: said('apiVersion'),
      instanceUuid: said('instanceUuid'),
    },
  };
}

/** A singleton that a server may lack. */
export function requireService(
  content: ServiceContent,
  name: 'authorizationManager' | 'customFieldsManager' | 'ovfManager' | 'searchIndex' | 'viewManager',
  server: string,
): MoRef {
  const found = content[name];
  if (found !== undefined) return found;
  throw new VimError({
    kind: 'protocol',
    code: 'VIM_NOT_FOUND',
    op: 'connect',
    message: `${server} (${content.about.apiType}) has no ${name}`,
  });
}

/**
 * The SOAPAction to speak: the server's newest version, capped at the newest we know, since a version that the server lacks is a fault. A server that does not publish its
 * versions is spoken to without one.
 */
export async function soapActionOf(transport: Transport, baseUrl: URL, signal: AbortSignal): Promise<string> {
  let document: XmlElement;
  try {
    ({ document } = await transport.exchange({
      op: 'vimServiceVersions.xml',
      method: 'GET',
      path: `${baseUrl.pathname}/vimServiceVersions.xml`,
      timeoutMs: VERSIONS_MS,
      idempotent: true,
      lane: 'session',
      signal,
    }));
  } catch (error) {
    // 404: no such page. Whatever else is wrong will be so for the next call, too.
    if (error instanceof VimError && error.kind === 'http' && error.status === 404) return 'urn:vim25';
    throw error;
  }
  const version = chooseVersion(document);
  return version === undefined ? 'urn:vim25' : `urn:vim25/${version}`;
}

/** The newest version in the document that we know. */
export function chooseVersion(document: XmlElement, newest: string = NEWEST): string | undefined {
  const namespace = elements(document, 'namespace').find((entry) => childText(entry, 'name')?.trim() === 'urn:vim25');
  const offered = [
    childText(namespace, 'version'),
    ...elements(child(namespace, 'priorVersions'), 'version').map(textOf),
  ];
  let best: string | undefined;
  for (const version of offered) {
    const candidate = version?.trim() ?? '';
    if (!/^\d+(?:\.\d+)*$/.test(candidate) || compareVersions(candidate, newest) > 0) continue;
    if (best === undefined || compareVersions(candidate, best) > 0) best = candidate;
  }
  return best;
}

function compareVersions(one: string, other: string): number {
  const a = one.split('.').map(Number);
  const b = other.split('.').map(Number);
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
