import {
  BootImage,
  BootImagePolicy,
  ClusterOperator,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Lease,
  Machine,
  Payload,
  Secret,
  Zone,
} from '@drydock/api';
import { CLUSTER_API, isOwnCanary, isRotationCanary, machineApiNamespace } from '@drydock/boot-images';
import { type Client, isForbidden, isNotFound, type Key, type KubeObject, keyText, type Resource } from '@drydock/kube';
import { vmOperator, ZONE_FINALIZER } from '@drydock/vm-watch';
import { type Leadership, leadershipOf } from '../leadership.ts';
import { OWNERSHIP } from '../ownership-ledger.ts';
import { isPinned, type WrittenObject } from './written.ts';

/** An object that is ours, as it was seen. */
export interface OwnObject {
  readonly resource: Resource<KubeObject>;
  readonly key: Key;
  /** What is removed is what was seen, and not another of the same name. */
  readonly uid: string;
}

/** A Zone that our finalizer keeps. */
export interface GuardedZone {
  readonly key: Key;
  readonly resourceVersion: string;
  /** Those of others. */
  readonly rest: readonly string[];
}

/** What of Drydock is in a cluster. */
export interface Installation {
  readonly deployments: readonly OwnObject[];
  readonly leaders: readonly { readonly role: string; readonly leadership: Leadership }[];
  readonly zones: readonly GuardedZone[];
  /** Whose Zones they are instead of ours. */
  readonly zonesOf: string | undefined;
  /** Machines that try an image, or failed to and were kept: nobody else takes them away. */
  readonly canaries: readonly OwnObject[];
  /** What the release manager is told; it would stop upgrades for ever. */
  readonly verdicts: readonly OwnObject[];
  readonly bootImages: readonly OwnObject[];
  /** Objects of our definitions that people wrote: they go with the definitions, and are exported first. */
  readonly written: readonly WrittenObject[];
  readonly definitions: readonly OwnObject[];
  /** Leases, ledgers, notes on logins. */
  readonly records: readonly OwnObject[];
  /** Bindings before roles, roles before accounts. */
  readonly rights: readonly OwnObject[];
  readonly others: readonly OwnObject[];
  /** Keys that prove which templates are ours; never removed. */
  readonly markKeys: readonly Key[];
  /** ConfigMaps of the ownership ledger, by which the next installation recognizes its templates; never removed. */
  readonly ownership: readonly Key[];
  /** Definitions of other projects that came with Drydock, and hold objects of people; never removed. */
  readonly optional: readonly string[];
}

/** Where to look. */
export interface InstallationQuestion {
  readonly leaseNamespace: string;
  readonly signal: AbortSignal;
}

/** On everything that the folder `deploy` applies, and all of that is called `drydock` or `drydock-…`: another project of the name would have to share both. */
const PART_OF = 'app.kubernetes.io/part-of=drydock';
/** On everything that the operator makes. */
const MANAGED_BY = 'app.kubernetes.io/managed-by=drydock';
/** Namespace of the manifests. */
export const NAMESPACE = 'drydock';
const MARK_KEY = { namespace: NAMESPACE, name: 'drydock-mark-key' } as const;
const ROLES = ['boot-images', 'watch', 'release'] as const;

const RBAC = 'rbac.authorization.k8s.io';
const ADMISSION = 'admissionregistration.k8s.io';
const kind = (name: string, plural: string, group: string, scope: 'Cluster' | 'Namespaced'): Resource<KubeObject> => ({
  ...{ kind: name, plural, group, scope },
  version: 'v1',
});
const RIGHTS: readonly Resource<KubeObject>[] = [
  kind('ClusterRoleBinding', 'clusterrolebindings', RBAC, 'Cluster'),
  kind('RoleBinding', 'rolebindings', RBAC, 'Namespaced'),
  kind('ClusterRole', 'clusterroles', RBAC, 'Cluster'),
  kind('Role', 'roles', RBAC, 'Namespaced'),
  kind('ServiceAccount', 'serviceaccounts', '', 'Namespaced'),
];
const OTHERS: readonly Resource<KubeObject>[] = [
  kind('Service', 'services', '', 'Namespaced'),
  // Of deploy/node; what it keeps on the nodes stays.
  kind('DaemonSet', 'daemonsets', 'apps', 'Namespaced'),
  kind('NetworkPolicy', 'networkpolicies', 'networking.k8s.io', 'Namespaced'),
  kind('PodDisruptionBudget', 'poddisruptionbudgets', 'policy', 'Namespaced'),
  // The Secret that was made for it goes with it.
  kind('CredentialsRequest', 'credentialsrequests', 'cloudcredential.openshift.io', 'Namespaced'),
  kind('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', ADMISSION, 'Cluster'),
  kind('ValidatingAdmissionPolicy', 'validatingadmissionpolicies', ADMISSION, 'Cluster'),
  kind('ServiceMonitor', 'servicemonitors', 'monitoring.coreos.com', 'Namespaced'),
  // Of installations before.
  kind('PodMonitor', 'podmonitors', 'monitoring.coreos.com', 'Namespaced'),
  kind('PrometheusRule', 'prometheusrules', 'monitoring.coreos.com', 'Namespaced'),
  ConfigMap as Resource<KubeObject>,
];

/** Looks once. Rejects with the `ApiError` of what may not be read: whoever may not see it could not remove it. */
export async function installationIn(
  client: Pick<Client, 'list' | 'get'>,
  { leaseNamespace, signal }: InstallationQuestion,
): Promise<Installation> {
  const list = async <T extends KubeObject>(
    resource: Resource<T>,
    where: { readonly namespace?: string; readonly labels?: string; readonly fields?: string } = {},
  ): Promise<readonly T[]> => {
    try {
      return await Array.fromAsync(client.list(resource, where, { signal }));
    } catch (error) {
      // A kind that this cluster does not serve has no objects.
      if (isNotFound(error)) return [];
      throw error;
    }
  };
  const labelled = async (resource: Resource<KubeObject>): Promise<readonly OwnObject[]> =>
    (await list(resource, { labels: PART_OF }))
      .filter(({ metadata: { name } }) => name === NAMESPACE || name.startsWith(`${NAMESPACE}-`))
      .map((object) => own(resource, object));
  const each = async (resources: readonly Resource<KubeObject>[]): Promise<readonly OwnObject[]> =>
    (await Promise.all(resources.map(labelled))).flat();
  const leader = async (role: string): Promise<Installation['leaders'][number]> => ({
    role,
    leadership: await leadershipOf(client, { role, namespace: leaseNamespace }, { signal }),
  });
  const [deployments, leaders, machines, verdicts, bootImages, definitions, leases, notes, rights, others, markKeys] =
    await Promise.all([
      labelled(Deployment as Resource<KubeObject>),
      Promise.all(ROLES.map(leader)),
      canariesIn(list),
      list(ClusterOperator, { labels: MANAGED_BY }),
      list(BootImage),
      list(CustomResourceDefinition, { labels: PART_OF }),
      list(Lease, { namespace: leaseNamespace }),
      list(ConfigMap, { namespace: leaseNamespace, labels: MANAGED_BY }),
      each(RIGHTS),
      each(OTHERS),
      list(Secret, { namespace: MARK_KEY.namespace, fields: `metadata.name=${MARK_KEY.name}` }).catch(
        (error: unknown) => {
          // It is kept all the same.
          if (isForbidden(error)) return [];
          throw error;
        },
      ),
    ]);
  const [policies, payloads] = await Promise.all([list(BootImagePolicy), list(Payload)]);
  const isOwnership = ({ metadata: { name } }: KubeObject): boolean => name.startsWith(`${OWNERSHIP.name}-`);
  const ours = definitions.filter(({ metadata }) => metadata.name.endsWith(`.${BootImage.group}`));
  return {
    deployments,
    leaders,
    ...(await zonesIn(list)),
    // One that is being deleted is drained first, which takes as long as its pods do.
    canaries: machines.filter(({ going }) => !going).map(({ object }) => object),
    verdicts: verdicts.map((verdict) => own(ClusterOperator as Resource<KubeObject>, verdict)),
    written: [
      ...policies.map((object) => ({ resource: BootImagePolicy as Resource<KubeObject>, object })),
      ...payloads.map((object) => ({ resource: Payload as Resource<KubeObject>, object })),
      ...bootImages.filter(isPinned).map((object) => ({ resource: BootImage as Resource<KubeObject>, object })),
    ],
    bootImages: bootImages.map((image) => own(BootImage as Resource<KubeObject>, image)),
    definitions: ours.map((crd) => own(CustomResourceDefinition as Resource<KubeObject>, crd)),
    records: [
      ...leases
        .filter(({ metadata: { name } }) => ROLES.some((role) => name === `drydock-${role}`))
        .map((lease) => own(Lease as Resource<KubeObject>, lease)),
      ...notes.filter((note) => !isOwnership(note)).map((note) => own(ConfigMap as Resource<KubeObject>, note)),
    ],
    rights,
    others,
    markKeys: markKeys.map(({ metadata }) => keyOf(metadata)),
    ownership: notes.filter(isOwnership).map(({ metadata }) => keyOf(metadata)),
    optional: definitions.filter((crd) => !ours.includes(crd)).map(({ metadata }) => metadata.name),
  };
}

/** Of Machine API and of Cluster API, in the newest version of its contract that is there. */
async function canariesIn(list: List): Promise<readonly { readonly object: OwnObject; readonly going: boolean }[]> {
  const found = (await list(Machine, { namespace: machineApiNamespace, labels: MANAGED_BY }))
    .filter(isOwnCanary)
    .map((machine) => [Machine as Resource<KubeObject>, machine as KubeObject] as const);
  for (const version of ['v1beta2', 'v1beta1']) {
    const machines = kind('Machine', 'machines', CLUSTER_API, 'Namespaced');
    const resource = { ...machines, version };
    const there = (await list(resource, { labels: MANAGED_BY })).filter(isRotationCanary);
    if (there.length === 0) continue;
    found.push(...there.map((machine) => [resource, machine] as const));
    break;
  }
  return found.map(([resource, machine]) => ({
    object: own(resource, machine),
    going: machine.metadata.deletionTimestamp !== undefined,
  }));
}

type List = <T extends KubeObject>(
  resource: Resource<T>,
  where?: { readonly namespace?: string; readonly labels?: string; readonly fields?: string },
) => Promise<readonly T[]>;

/** The finalizer has upstream's name: where its controller is there, Zones are left to that one. */
async function zonesIn(list: List): Promise<Pick<Installation, 'zones' | 'zonesOf'>> {
  const { namespace, name } = vmOperator;
  const [there] = await list(Deployment, { namespace, fields: `metadata.name=${name}` });
  if (there !== undefined) return { zones: [], zonesOf: `Deployment ${keyText(vmOperator)}` };
  const guarded = (await list(Zone)).filter(({ metadata }) => metadata.finalizers?.includes(ZONE_FINALIZER) === true);
  return {
    zones: guarded.map(({ metadata }) => ({
      key: keyOf(metadata),
      resourceVersion: metadata.resourceVersion ?? '',
      rest: (metadata.finalizers ?? []).filter((one) => one !== ZONE_FINALIZER),
    })),
    zonesOf: undefined,
  };
}

function own(resource: Resource<KubeObject>, { metadata }: KubeObject): OwnObject {
  return { resource, key: keyOf(metadata), uid: metadata.uid ?? '' };
}

function keyOf({ namespace, name }: KubeObject['metadata']): Key {
  return namespace === undefined ? { name } : { namespace, name };
}
