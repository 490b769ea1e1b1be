import type { CallOptions, HostSummary, MoRef, VCenter } from '@drydock/vsphere';
import { TemplateError, type TemplateErrorCode } from '../errors.ts';
import { failure, readFailure } from '../failure.ts';
import { absolutePath, cleanInventoryPath } from '../paths.ts';
import type { Placement, TemplateWish } from '../wish.ts';
import type { Scope } from './observe.ts';

/** Everything that an import needs, resolved. */
export interface Place {
  readonly resourcePool: MoRef;
  readonly network: MoRef;
  readonly datastore: MoRef;
  readonly datastoreName: string;
  readonly freeSpace: number;
  /** Hosts that can take it, in the order of the cluster; never empty. */
  readonly hosts: readonly HostSummary[];
}

/** The folder in which templates of a placement live. Fails with `FOLDER_NOT_FOUND`. */
export async function resolveFolder(vcenter: VCenter, placement: Placement, options: CallOptions): Promise<MoRef> {
  return find(vcenter, folderPath(placement), 'folder', 'FOLDER_NOT_FOUND', options);
}

/** The folder, and the datacenter whose machines may be linked to the folder's. */
export async function resolveScope(vcenter: VCenter, placement: Placement, options: CallOptions): Promise<Scope> {
  const folder = await resolveFolder(vcenter, placement, options);
  const path = datacenterPath(placement);
  return { folder, datacenter: await find(vcenter, path, 'datacenter', 'DATACENTER_NOT_FOUND', options) };
}

/** Absolute inventory path of a placement's folder. */
export function folderPath(placement: Placement): string {
  const root = `${datacenterPath(placement)}/vm`;
  return placement.folder === '' ? root : absolutePath(placement.folder, root);
}

/** Absolute inventory path of a placement's datacenter. */
export function datacenterPath({ datacenter }: Placement): string {
  return cleanInventoryPath(datacenter.startsWith('/') ? datacenter : `/${datacenter}`);
}

/** Ids of all tags that a template gets: the one that is found by name, then those given by id. Fails when the name is absent or ambiguous. */
export async function resolveTags(
  vcenter: VCenter,
  wish: TemplateWish,
  options: CallOptions,
): Promise<readonly string[]> {
  const { tagName } = wish;
  if (tagName === undefined) return [...new Set(wish.tagIds)];
  const prefix = 'failed to attach tag: unable to attach tag';
  const named = await vcenter.tags.named(tagName, options).catch((error: unknown) => {
    throw failure('TAG_FAILED', 'attach tag: unable to attach tag: look it up', tagName, error);
  });
  const tag = named.length === 1 ? named[0] : named.find(({ category }) => category === `openshift-${tagName}`);
  if (named.length === 0) {
    throw new TemplateError({
      code: 'TAG_NOT_FOUND',
      message: `${prefix}: there is no tag named ${tagName} on ${vcenter.server}`,
    });
  }
  if (tag === undefined) {
    const categories = named.map(({ category }) => category).join(', ');
    throw new TemplateError({
      code: 'TAG_AMBIGUOUS',
      message: `${prefix}: ${tagName} exists in the categories ${categories}`,
    });
  }
  return [...new Set([tag.id, ...wish.tagIds])];
}

/** The cheap checks, all before the first byte moves. Texts begin as upstream's do (BI-V141, BI-V142). */
export async function resolvePlace(vcenter: VCenter, placement: Placement, options: CallOptions): Promise<Place> {
  const root = datacenterPath(placement);
  const clusterPath = absolutePath(placement.computeCluster, `${root}/host`);
  const cluster = await find(vcenter, clusterPath, 'compute cluster', 'CLUSTER_NOT_FOUND', options);
  const poolPath =
    placement.resourcePool === ''
      ? `${clusterPath}/Resources`
      : absolutePath(placement.resourcePool, `${clusterPath}/Resources`);
  const resourcePool = await find(vcenter, poolPath, 'resource pool', 'POOL_NOT_FOUND', options);
  const [networkName] = placement.networks;
  if (networkName === undefined || networkName === '') {
    throw new TemplateError({
      code: 'NETWORK_NOT_FOUND',
      message: `failed to find network: failure domain ${placement.failureDomain} names none`,
    });
  }
  const network = await find(
    vcenter,
    absolutePath(networkName, `${root}/network`),
    'network',
    'NETWORK_NOT_FOUND',
    options,
  );
  const datastorePath = absolutePath(placement.datastore, `${root}/datastore`);
  const datastore = await find(vcenter, datastorePath, 'datastore', 'DATASTORE_NOT_FOUND', options);
  const { name, freeSpace, accessible } = await vcenter.datastore(datastore, options);
  if (!accessible)
    throw new TemplateError({
      code: 'DATASTORE_UNUSABLE',
      message: `datastore ${name} is not accessible`,
      retriable: true,
    });
  const hosts = usableHosts(await vcenter.hosts(cluster, options), clusterPath, datastore, network);
  return { resourcePool, network, datastore, datastoreName: name, freeSpace, hosts };
}

/** Hosts that are connected, powered on, not in maintenance, and have the datastore and the network (VS-T7). */
export function usableHosts(
  hosts: readonly HostSummary[],
  cluster: string,
  datastore: MoRef,
  network: MoRef,
): readonly HostSummary[] {
  if (hosts.length === 0) {
    throw new TemplateError({ code: 'HOSTS_UNAVAILABLE', message: `the vCenter cluster ${cluster} has no ESXi nodes` });
  }
  const judged = hosts.map((host) => ({ host, fault: hostFault(host, datastore, network) }));
  const usable = judged.filter(({ fault }) => fault === undefined).map(({ host }) => host);
  if (usable.length > 0) return usable;
  const faults = judged.map(({ host, fault }) => `${host.name} ${fault}`).join(', ');
  throw new TemplateError({
    code: 'HOSTS_UNAVAILABLE',
    message: `failed to find available host system: all hosts unavailable (${faults})`,
    retriable: true,
  });
}

/** Why a host cannot take an import: a clause; undefined where it can. */
export function hostFault(
  host: HostSummary,
  datastore: MoRef | undefined,
  network: MoRef | undefined,
): string | undefined {
  const has = (refs: readonly MoRef[], wanted: MoRef): boolean =>
    refs.some(({ type, value }) => type === wanted.type && value === wanted.value);
  if (host.connectionState !== 'connected') return `is ${host.connectionState}`;
  if (host.powerState !== 'poweredOn') return `is ${host.powerState}`;
  if (host.inMaintenanceMode) return 'is in maintenance mode';
  if (datastore !== undefined && !has(host.datastores, datastore)) return 'does not mount the datastore';
  // HostSystem.network has port groups of distributed switches and opaque networks as well, but not everybody may read it.
  if (network !== undefined && host.networks !== undefined && !has(host.networks, network))
    return 'does not have the network';
  return undefined;
}

async function find(
  vcenter: VCenter,
  path: string,
  what: What,
  code: TemplateErrorCode,
  options: CallOptions,
): Promise<MoRef> {
  const ref = await vcenter.findByPath(path, options).catch((error: unknown) => {
    throw readFailure(`find ${what}`, path, error);
  });
  if (ref === undefined) {
    const where = await elsewhere(vcenter, path, what, options);
    throw new TemplateError({
      code,
      message: `failed to find ${what}: ${path} does not exist on ${vcenter.server}${where}`,
    });
  }
  if (TYPES[what].includes(ref.type)) return ref;
  const mistake = MISTAKES.get(ref.type) ?? `a ${ref.type}`;
  throw new TemplateError({ code, message: `failed to find ${what}: ${path} on ${vcenter.server} is ${mistake}` });
}

type What = 'folder' | 'datacenter' | 'compute cluster' | 'resource pool' | 'network' | 'datastore';

const TYPES: Readonly<Record<What, readonly string[]>> = {
  folder: ['Folder'],
  datacenter: ['Datacenter'],
  'compute cluster': ['ClusterComputeResource', 'ComputeResource'],
  'resource pool': ['ResourcePool', 'VirtualApp'],
  network: ['Network', 'DistributedVirtualPortgroup', 'OpaqueNetwork'],
  datastore: ['Datastore'],
};

/** What people take for something else. */
const MISTAKES: ReadonlyMap<string, string> = new Map([
  ['StoragePod', 'a datastore cluster: name one of its datastores, such as <datastore cluster>/<datastore>'],
  ['DistributedVirtualSwitch', 'a distributed switch: name one of its port groups'],
  ['VmwareDistributedVirtualSwitch', 'a distributed switch: name one of its port groups'],
  ['HostSystem', 'a host: name the cluster that it belongs to'],
  ['Folder', 'a folder: name what is in it'],
]);

const KIND_OF = { datastore: 'datastore', network: 'network' } as const;

/** Datastores and networks are found by a name alone only directly below the datacenter; in folders and datastore clusters they need their path. */
async function elsewhere(vcenter: VCenter, path: string, what: What, options: CallOptions): Promise<string> {
  if (what !== 'datastore' && what !== 'network') return '';
  const [, datacenter = ''] = path.split('/');
  const leaf = path.slice(path.lastIndexOf('/') + 1);
  const places = await vcenter.places(options).catch(() => []);
  const same = places.filter(
    (place) =>
      place.kind === KIND_OF[what] && place.path.startsWith(`/${datacenter}/`) && place.path.endsWith(`/${leaf}`),
  );
  if (same.length === 0) return '';
  return `, but ${same.map((place) => place.path).join(' and ')} ${same.length === 1 ? 'does' : 'do'}: give the path`;
}
