import { VimError } from '../errors.ts';
import type { SessionCaller } from '../session/caller.ts';
import { type Retrieval, referredBy } from '../session/retrieve.ts';
import { requireService } from '../session/service-content.ts';
import type { ObjectContent } from '../soap/call.ts';
import { arrayOf, ref, text } from '../soap/decode.ts';
import { unescapeName } from '../soap/names.ts';
import { methodBody } from '../soap/schema.ts';
import { refKey } from '../soap/soap.ts';
import type { CallOptions, MachineDisks, MoRef, NamedPlace } from '../vcenter.ts';
import { child, referenceOf } from '../xml/xml.ts';
import { disk, read, whyUnreadable } from './vm-summary.ts';

/** What a placement names; each stands for the types that extend it (a cluster, a port group, a vApp). */
const KINDS: readonly (readonly [type: string, kind: NamedPlace['kind']])[] = [
  ['ClusterComputeResource', 'cluster'],
  ['ComputeResource', 'cluster'],
  ['Datacenter', 'datacenter'],
  ['Datastore', 'datastore'],
  ['DistributedVirtualPortgroup', 'network'],
  ['Folder', 'folder'],
  ['Network', 'network'],
  ['OpaqueNetwork', 'network'],
  ['ResourcePool', 'resourcePool'],
  ['VirtualApp', 'resourcePool'],
];
/** Their ancestors, too: a path has the name of every one but the root. */
const VIEWED: readonly string[] = ['ComputeResource', 'Datacenter', 'Datastore', 'Folder', 'Network', 'ResourcePool'];

/** See `VCenter.places`. */
export async function places(caller: SessionCaller, options?: CallOptions): Promise<readonly NamedPlace[]> {
  const { rootFolder } = await caller.content(options);
  const found = await viewed(caller, rootFolder, VIEWED, { type: 'ManagedEntity', paths: ['name', 'parent'] }, options);
  const entities = new Map(
    found.map((content) => [
      refKey(content.ref),
      { ref: content.ref, name: read(content, 'name', text) ?? '', parent: read(content, 'parent', ref) },
    ]),
  );
  const kinds = new Map(KINDS);
  const items: NamedPlace[] = [];
  for (const entity of entities.values()) {
    const kind = kinds.get(entity.ref.type);
    if (kind === undefined) continue;
    // Upwards; the names are kept as stored, which is escaped.
    const names: string[] = [];
    let inVmFolder = false;
    for (let at: typeof entity | undefined = entity; at !== undefined; ) {
      names.unshift(at.name);
      const above: typeof entity | undefined = at.parent === undefined ? undefined : entities.get(refKey(at.parent));
      // The folders right below a datacenter have these names everywhere.
      if (above?.ref.type === 'Datacenter') inVmFolder = at.name === 'vm';
      at = above;
    }
    if (kind === 'folder' && !inVmFolder) continue;
    items.push({ ref: entity.ref, kind, name: unescapeName(entity.name), path: `/${names.join('/')}` });
  }
  return items.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** See `VCenter.disksOn`. */
export async function disksOn(
  caller: SessionCaller,
  place: MoRef,
  options: CallOptions & { readonly except?: ReadonlySet<string> } = {},
): Promise<readonly MachineDisks[]> {
  const { except } = options;
  const what = {
    type: 'VirtualMachine',
    paths: ['name', 'datastore', 'config.hardware.device', 'runtime.connectionState'],
  };
  const below = (paths: readonly string[]): Promise<readonly ObjectContent[]> =>
    place.type === 'Datastore'
      ? caller.retrieveFrom({ ...what, paths, from: referredBy(place, 'vm') }, options)
      : viewed(caller, place, [what.type], { ...what, paths }, options);
  if (except === undefined) return (await below(what.paths)).map(machineDisks);
  const others = (await below(['name'])).map(({ ref }) => ref).filter(({ value }) => !except.has(value));
  if (others.length === 0) return [];
  return (await caller.retrieve(others, what.type, what.paths, options)).map(machineDisks);
}

function machineDisks(content: ObjectContent): MachineDisks {
  const unreadable = whyUnreadable(content);
  return {
    ref: content.ref,
    name: unescapeName(read(content, 'name', text) ?? ''),
    disks: read(content, 'config.hardware.device', arrayOf(disk)) ?? [],
    ...(unreadable === undefined ? {} : { unreadable }),
    datastores: read(content, 'datastore', arrayOf(ref)) ?? [],
  };
}

/** Reads what a container has below it, at any depth, through a view that lives as long as the reading. */
export async function viewed(
  caller: SessionCaller,
  container: MoRef,
  types: readonly string[],
  what: Omit<Retrieval, 'from'>,
  options?: CallOptions,
): Promise<readonly ObjectContent[]> {
  const manager = requireService(await caller.content(options), 'viewManager', caller.server);
  const body = methodBody('CreateContainerView', { container, type: types, recursive: true });
  for (let again = false; ; again = true) {
    // One whose answer was lost ends with the session.
    const answer = await caller.call('CreateContainerView', manager, body, { ...options, idempotent: true });
    const view = referenceOf(child(answer, 'returnval'));
    if (view === undefined) {
      throw new VimError({
        kind: 'protocol',
        code: 'VIM_BAD_RESPONSE',
        op: 'CreateContainerView',
        message: `${refKey(container)}: ${caller.server} names no view`,
      });
    }
    try {
      return await caller.retrieveFrom({ ...what, from: referredBy(view, 'view') }, options);
    } catch (error) {
      // A view is its session's: a login in between took it away.
      const lost = error instanceof VimError && error.fault?.is('ManagedObjectNotFound') === true;
      if (!lost || again) throw error;
    } finally {
      await caller.call('DestroyView', view, [], { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    }
  }
}
