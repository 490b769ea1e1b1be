import { dirname } from 'node:path/posix';
import type { Placement } from '@drydock/templates';
import type { CallOptions, NamedPlace, VCenter } from '@drydock/vsphere';
import { exitCode } from '../exit.ts';
import { withFlag } from './next-command.ts';
import { TemplateProblem } from './problem.ts';
import type { PlaceSettings } from './settings.ts';

/** What a verb needs to know of the place: reading and retiring happen in a folder, an import needs all of it. */
export type Need = 'folder' | 'import';

/** How the kinds are called, and by what they are chosen. */
export const KINDS = {
  datacenter: { label: 'datacenter', flag: '--datacenter', env: 'GOVC_DATACENTER', below: '' },
  folder: { label: 'folder', flag: '--folder', env: 'GOVC_FOLDER', below: 'vm' },
  cluster: { label: 'compute cluster', flag: '--cluster', env: 'GOVC_CLUSTER', below: 'host' },
  resourcePool: { label: 'resource pool', flag: '--resource-pool', env: 'GOVC_RESOURCE_POOL', below: 'host' },
  datastore: { label: 'datastore', flag: '--datastore', env: 'GOVC_DATASTORE', below: 'datastore' },
  network: { label: 'network', flag: '--network', env: 'GOVC_NETWORK', below: 'network' },
} as const;
type Kind = keyof typeof KINDS;

/** Finds the parts of a place, each for itself. What is found out once is kept. */
export interface Locator {
  datacenter(): Promise<string>;
  folder(): Promise<string>;
  cluster(): Promise<string>;
  /** '' where none is given: the root pool of the cluster. */
  resourcePool(): Promise<string>;
  datastore(): Promise<string>;
  network(): Promise<string>;
}

/**
 * Finds what settings mean, as absolute inventory paths. A relative name is looked for in the inventory, as govc does; what is not given is taken where
 * there is exactly one of its kind. The inventory is only read when something is left to find out. Existence is checked by who uses the place.
 */
export function locator(
  vcenter: Pick<VCenter, 'places' | 'hosts'>,
  settings: PlaceSettings,
  options: CallOptions,
): Locator {
  const items = once(() => vcenter.places(options));
  const datacenter = once(() => datacenterOf(settings, items));
  const part = async (kind: Part, given: string | undefined = settings[kind]): Promise<string> =>
    partOf(items, await datacenter(), kind, given);
  const resourcePool = once(async () => (settings.resourcePool === undefined ? '' : part('resourcePool')));
  const cluster = once(async () => {
    const { host } = settings;
    if (settings.cluster !== undefined) return part('cluster');
    const pool = await resourcePool();
    const root = pool.indexOf('/Resources');
    if (root > 0) return pool.slice(0, root);
    if (host === undefined) return part('cluster');
    if (host.startsWith('/')) return dirname(clean(host));
    if (host.includes('/')) return part('cluster', dirname(host));
    return clusterOfHost(vcenter, inside(await items(), await datacenter(), 'cluster'), host, options);
  });
  return {
    datacenter,
    folder: async () => (settings.folder === undefined ? `${await datacenter()}/vm` : part('folder')),
    cluster,
    resourcePool,
    datastore: () => part('datastore'),
    network: () => part('network'),
  };
}

/** The place of a verb; see {@link locator}. */
export async function resolvePlacement(
  vcenter: VCenter,
  settings: PlaceSettings,
  need: Need,
  options: CallOptions,
): Promise<Placement> {
  const find = locator(vcenter, settings, options);
  const place = { server: vcenter.server, datacenter: await find.datacenter(), folder: await find.folder() };
  if (need === 'folder') {
    return { ...place, failureDomain: '', datastore: '', resourcePool: '', computeCluster: '', networks: [] };
  }
  const computeCluster = await find.cluster();
  return {
    ...place,
    failureDomain: computeCluster.slice(computeCluster.lastIndexOf('/') + 1),
    resourcePool: await find.resourcePool(),
    computeCluster,
    datastore: await find.datastore(),
    networks: [await find.network()],
  };
}

type Items = () => Promise<readonly NamedPlace[]>;
type Part = Exclude<Kind, 'datacenter'>;

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

async function datacenterOf(settings: PlaceSettings, items: Items): Promise<string> {
  const { datacenter: given } = settings;
  if (given?.startsWith('/') === true) return clean(given);
  if (given !== undefined) {
    const named = inside(await items(), '', 'datacenter').filter(({ path }) => endsWith(path, given));
    return theNamed('datacenter', given, named) ?? clean(`/${given}`);
  }
  for (const [path, word] of [
    [settings.folder, 'vm'],
    [settings.resourcePool ?? settings.cluster ?? settings.host, 'host'],
    [settings.datastore, 'datastore'],
    [settings.network, 'network'],
  ] as const) {
    const at = path?.startsWith('/') === true ? path.split('/').indexOf(word) : -1;
    if (path !== undefined && at > 1) return path.split('/').slice(0, at).join('/');
  }
  return theOnly('datacenter', 'this vCenter', inside(await items(), '', 'datacenter'));
}

async function clusterOfHost(
  vcenter: Pick<VCenter, 'hosts'>,
  clusters: readonly NamedPlace[],
  host: string,
  options: CallOptions,
): Promise<string> {
  for (const cluster of clusters) {
    if ((await vcenter.hosts(cluster.ref, options)).some(({ name }) => name === host)) return cluster.path;
  }
  throw new TemplateProblem({
    code: 'HOST_UNKNOWN',
    message: `no cluster (${listed(clusters)}) has a host named ${host}; give --cluster or GOVC_CLUSTER`,
    exit: exitCode.blocked,
  });
}

async function partOf(items: Items, datacenter: string, kind: Part, name: string | undefined): Promise<string> {
  if (name?.startsWith('/') === true) return clean(name);
  const there = inside(await items(), datacenter, kind);
  if (name === undefined) return theOnly(kind, datacenter, there);
  const asPath = clean(`${datacenter}/${KINDS[kind].below}/${name}`);
  if (there.some(({ path }) => path === asPath)) return asPath;
  const named = there.filter((item) => item.name === name || endsWith(item.path, name));
  return theNamed(kind, name, named) ?? asPath;
}

/** Items of a kind in a datacenter, sorted by path. */
export function inside(items: readonly NamedPlace[], datacenter: string, kind: Kind): readonly NamedPlace[] {
  return items.filter((item) => item.kind === kind && item.path.startsWith(`${datacenter}/`));
}

/** Refuses where there is none, or a choice. */
function theOnly(kind: Kind, where: string, all: readonly NamedPlace[]): string {
  const { label, flag, env } = KINDS[kind];
  const [first, ...others] = all;
  if (first === undefined) {
    throw new TemplateProblem({
      code: 'PLACE_UNDECIDED',
      message: `there is no ${label} in ${where} that the user may see`,
      exit: exitCode.blocked,
      next: ({ program, flags }) => `${program} doctor${flags}`,
    });
  }
  if (others.length === 0) return first.path;
  throw new TemplateProblem({
    code: 'PLACE_UNDECIDED',
    message: `there are ${all.length} ${label}s in ${where} (${listed(all)}): say which with ${flag} or ${env}`,
    next: ({ again }) => withFlag(again, flag, first.path),
  });
}

/** Refuses where several have the name. */
function theNamed(kind: Kind, name: string, named: readonly NamedPlace[]): string | undefined {
  const { label, flag, env } = KINDS[kind];
  const [first, ...others] = named;
  if (first === undefined || others.length === 0) return first?.path;
  throw new TemplateProblem({
    code: 'PLACE_AMBIGUOUS',
    message: `${named.length} ${label}s are named ${name} (${listed(named)}): give a path with ${flag} or ${env}`,
    next: ({ again }) => withFlag(again, flag, first.path),
  });
}

/** Paths for a sentence; the first few say enough. */
export function listed(items: readonly NamedPlace[]): string {
  const shown = items.slice(0, 6).map(({ path }) => path);
  return items.length > shown.length ? `${shown.join(', ')} and ${items.length - shown.length} more` : shown.join(', ');
}

function endsWith(path: string, name: string): boolean {
  return path.endsWith(`/${name.replace(/\/+$/, '')}`);
}

function clean(path: string): string {
  return `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`;
}
