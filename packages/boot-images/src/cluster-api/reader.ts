import { type Cache, type Client, ifFound, type Key } from '@drydock/kube';
import { type ClusterApiObject, CORE, type ServedKinds } from './kinds.ts';
import type { RotationReader } from './observe.ts';
import { type OpenShift, otherAuthority } from './openshift.ts';
import { ROTATED_KINDS, type RotatedKind, rotatedSet } from './set.ts';

/** The label by which machines say of which set they are. */
const LABELS: Readonly<Record<RotatedKind, string>> = {
  MachineDeployment: 'deployment-name',
  MachineSet: 'set-name',
  MachinePool: 'pool-name',
  KubeadmControlPlane: 'control-plane-name',
};

/** What {@link readerOf} needs. */
export interface ReaderOptions {
  readonly client: Pick<Client, 'get'>;
  readonly served: Pick<ServedKinds, 'of'>;
  readonly cacheOf: (group: string, kind: string) => Cache<ClusterApiObject> | undefined;
  /** See `ClusterApiRoleOptions.openshift`. */
  readonly openshift: OpenShift | undefined;
}

const BY_SET = 'set';
const BY_TOPOLOGY = 'topology';

/** The index that caches of sets have for {@link readerOf}. */
export function topologyIndex(
  kind: RotatedKind,
): Readonly<Record<string, (live: ClusterApiObject) => readonly string[]>> {
  return {
    [BY_TOPOLOGY]: (live) => {
      const { byClass, namespace, clusterName } = rotatedSet(kind, live);
      return byClass && clusterName !== undefined ? [`${namespace}/${clusterName}`] : [];
    },
  };
}

/** The index that the cache of Machines has for {@link readerOf}. */
export const machineIndex: Readonly<Record<string, (machine: ClusterApiObject) => readonly string[]>> = {
  [BY_SET]: (machine) =>
    ROTATED_KINDS.flatMap(({ kind }) =>
      setsOf(machine, kind).map(({ namespace, name }) => `${kind} ${namespace}/${name}`),
    ),
};

/** The set of this kind that a machine says it is of. */
export function setsOf(
  { metadata: { namespace = '', labels = {} } }: ClusterApiObject,
  kind: RotatedKind,
): readonly Key[] {
  const name = labels[`${CORE}/${LABELS[kind]}`];
  return name === undefined ? [] : [{ namespace, name }];
}

/** Reads the cluster: what must be so now from the server, the rest from what was seen last. */
export function readerOf({ client, served, cacheOf, openshift }: ReaderOptions): RotationReader {
  return {
    get: async ({ group, kind, namespace, name }, call) => {
      const resource = served.of(group, kind);
      if (resource === undefined) return undefined;
      const key = { ...(resource.scope === 'Cluster' || namespace === undefined ? {} : { namespace }), name };
      return await ifFound(client.get(resource, key, call));
    },
    seen: ({ group, kind, namespace, name }) =>
      cacheOf(group, kind)?.get({ ...(namespace === undefined ? {} : { namespace }), name }),
    ofTopology: (namespace, cluster) =>
      ROTATED_KINDS.flatMap(({ group, kind }) =>
        (cacheOf(group, kind)?.by(BY_TOPOLOGY, `${namespace}/${cluster}`) ?? []).map((one) => rotatedSet(kind, one)),
      ),
    machines: ({ kind, namespace, name }) => cacheOf(CORE, 'Machine')?.by(BY_SET, `${kind} ${namespace}/${name}`) ?? [],
    otherAuthority: (set) => (openshift === undefined ? undefined : otherAuthority(set, openshift.world)),
  };
}
