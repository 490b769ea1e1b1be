import { VimError } from '../errors.ts';
import { refText } from '../foreign-text.ts';
import type { SessionCaller } from '../session/caller.ts';
import { type Retrieval, referredBy } from '../session/retrieve.ts';
import { requireService } from '../session/service-content.ts';
import type { ObjectContent } from '../soap/call.ts';
import { arrayOf, label, ref } from '../soap/decode.ts';
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

/** Folders can be nested at will, but not so deep; a server that names an object as its own ancestor would never be done. */
const DEEPEST = 100;

/** See `VCenter.places`. */
export async function places(caller: SessionCaller, options?: CallOptions): Promise<readonly NamedPlace[]> {
  const { rootFolder } = await caller.content(options);
  const entity = (content: ObjectContent) => ({
    ref: content.ref,
    name: read(content, 'name', label) ?? '',
    parent: read(content, 'parent', ref),
  });
  const what = { type: 'ManagedEntity', paths: ['name', 'parent'] };
  const found = await viewed(caller, rootFolder, VIEWED, what, entity, options);
  const entities = new Map(found.map((one) => [refKey(one.ref), one]));
  const kinds = new Map(KINDS);
  const items: NamedPlace[] = [];
  for (const one of entities.values()) {
    const kind = kinds.get(one.ref.type);
    if (kind === undefined) continue;
    // Upwards; the names are kept as stored, which is escaped.
    const names: string[] = [];
    let inVmFolder = false;
    for (let at: typeof one | undefined = one; at !== undefined && names.length < DEEPEST; ) {
      names.unshift(at.name);
      const above: typeof one | undefined = at.parent === undefined ? undefined : entities.get(refKey(at.parent));
      // The folders right below a datacenter have these names everywhere.
      if (above?.ref.type === 'Datacenter') inVmFolder = at.name === 'vm';
      at = above;
    }
    if (kind === 'folder' && !inVmFolder) continue;
    items.push({ ref: one.ref, kind, name: unescapeName(one.name), path: `/${names.join('/')}` });
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
  const below = <T>(paths: readonly string[], keep: (content: ObjectContent) => T): Promise<readonly T[]> =>
    place.type === 'Datastore'
      ? caller.retrieveEach({ ...what, paths, from: referredBy(place, 'vm') }, keep, options)
      : viewed(caller, place, [what.type], { ...what, paths }, keep, options);
  if (except === undefined) return below(what.paths, machineDisks);
  const others = (await below(['name'], (content) => content.ref)).filter(({ value }) => !except.has(value));
  if (others.length === 0) return [];
  return (await caller.retrieve(others, what.type, what.paths, options)).map(machineDisks);
}

function machineDisks(content: ObjectContent): MachineDisks {
  const unreadable = whyUnreadable(content);
  return {
    ref: content.ref,
    name: unescapeName(read(content, 'name', label) ?? ''),
    disks: read(content, 'config.hardware.device', arrayOf(disk)) ?? [],
    ...(unreadable === undefined ? {} : { unreadable }),
    datastores: read(content, 'datastore', arrayOf(ref)) ?? [],
  };
}

/** Reads what a container has below it, at any depth, through a view that lives as long as the reading. Keeps what `keep` makes of each. */
export async function viewed<T>(
  caller: SessionCaller,
  container: MoRef,
  types: readonly string[],
  what: Omit<Retrieval, 'from'>,
  keep: (content: ObjectContent) => T,
  options?: CallOptions,
): Promise<readonly T[]> {
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
        message: `${refText(container)}: ${caller.server} names no view`,
      });
    }
    try {
      return await caller.retrieveEach({ ...what, from: referredBy(view, 'view') }, keep, options);
    } catch (error) {
      // A view is its session's: a login in between took it away.
      const lost = error instanceof VimError && error.fault?.is('ManagedObjectNotFound') === true;
      if (!lost || again) throw error;
    } finally {
      await caller.call('DestroyView', view, [], { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    }
  }
}
