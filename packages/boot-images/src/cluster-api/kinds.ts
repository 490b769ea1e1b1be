import type { KubeClient, KubeObject, Resource } from '@drydock/kube';
import { type JsonObject, list, nonEmpty, object } from '../observe/json.ts';

/** An object of Cluster API or of one of its providers: what is read of it is looked for where its version has it. */
export interface ClusterApiObject extends KubeObject {
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
}

/** The group of Cluster API's own kinds. */
export const CORE = 'cluster.x-k8s.io';
/** The group of control planes that kubeadm makes. */
export const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io';
/** The group of what providers make machines of. */
export const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io';

/** The versions of Cluster API's contract that are spoken, the one that is preferred first. */
const CONTRACTS: readonly string[] = ['v1beta2', 'v1beta1'];

/** What an API server serves of Cluster API and its providers, each kind in one version. */
export interface ServedKinds {
  readonly of: (group: string, kind: string) => Resource<ClusterApiObject> | undefined;
  /** OpenShift's machines are served, too. */
  readonly openshift: boolean;
  /** Another one when anything that a rotation is about is served otherwise. */
  readonly fingerprint: string;
}

/**
 * Asks what is served. `of` knows nothing where Cluster API is not there, or only in versions that are not spoken. Of Cluster API's own groups the newest spoken version
 * counts, of providers the one that the server prefers.
 */
export async function servedKinds(
  client: Pick<KubeClient, 'raw'>,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<ServedKinds> {
  const { groups } = object(await client.raw({ path: '/apis' }, options));
  const kinds = new Map<string, Resource<ClusterApiObject>>();
  const names = new Set<string>();
  for (const group of list(groups).map(object)) {
    const name = nonEmpty(group['name']) ?? '';
    names.add(name);
    if (name !== CORE && !name.endsWith(`.${CORE}`)) continue;
    for (const version of versionsOf(name, group)) {
      const { resources } = object(await client.raw({ path: `/apis/${name}/${version}` }, options));
      for (const { name: plural, kind, namespaced } of list(resources).map(object)) {
        if (typeof plural !== 'string' || typeof kind !== 'string' || plural.includes('/')) continue;
        const id = `${kind}.${name}`;
        if (kinds.has(id)) continue;
        const scope = namespaced === true ? 'Namespaced' : 'Cluster';
        kinds.set(id, { group: name, version, kind, plural, scope });
      }
    }
  }
  const openshift = names.has('machine.openshift.io') && names.has('config.openshift.io');
  const of: ServedKinds['of'] = (group, kind) => kinds.get(`${kind}.${group}`);
  const known = [...kinds.values()]
    .filter(({ group }) => group === CORE || group === CONTROL_PLANE || group === INFRASTRUCTURE)
    .map(({ group, version, plural }) => `${plural}.${version}.${group}`);
  return { of, openshift, fingerprint: [String(openshift), ...known.toSorted()].join(' ') };
}

function versionsOf(name: string, group: JsonObject): readonly string[] {
  const served = list(group['versions']).flatMap((version) => nonEmpty(object(version)['version']) ?? []);
  if (name === CORE || name === CONTROL_PLANE) return CONTRACTS.filter((version) => served.includes(version));
  const preferred = nonEmpty(object(group['preferredVersion'])['version']);
  return [...new Set([...(preferred === undefined ? [] : [preferred]), ...served])];
}
