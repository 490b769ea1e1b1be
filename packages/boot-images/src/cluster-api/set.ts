import type { MachineSetShortKind } from '@drydock/api';
import type { OwnerReference } from '@drydock/kube';
import { at, count, type JsonPath, list, nonEmpty, object } from '../observe/json.ts';
import { type ClusterApiObject, CONTROL_PLANE, CORE } from './kinds.ts';

/** Kinds whose machines are made from an infrastructure template. */
export type RotatedKind = 'MachineDeployment' | 'MachineSet' | 'MachinePool' | 'KubeadmControlPlane';

/** All of them, each with the group that it is in and its name in a BootImage. */
export const ROTATED_KINDS: readonly {
  readonly group: string;
  readonly kind: RotatedKind;
  readonly short: MachineSetShortKind;
}[] = [
  { group: CORE, kind: 'MachineDeployment', short: 'capi-md' },
  { group: CORE, kind: 'MachineSet', short: 'capi-ms' },
  { group: CORE, kind: 'MachinePool', short: 'capi-mp' },
  { group: CONTROL_PLANE, kind: 'KubeadmControlPlane', short: 'capi-kcp' },
];

/** The group of a kind. */
export function groupOf(kind: RotatedKind): string {
  return ROTATED_KINDS.find((one) => one.kind === kind)?.group ?? CORE;
}

/** An object by what a reference says of it; its namespace is the one of who refers. */
export interface Reference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

/** A set of machines of Cluster API, whichever kind and version it has. */
export interface RotatedSet {
  readonly kind: RotatedKind;
  readonly group: string;
  readonly namespace: string;
  readonly name: string;
  /** `capi-md/worker-a`: unique in its namespace. */
  readonly id: string;
  readonly object: ClusterApiObject;
  readonly clusterName: string | undefined;
  /** What its machines are made from; undefined where it names nothing. */
  readonly reference: Reference | undefined;
  /** Where the reference stands in the object. */
  readonly referencePath: JsonPath;
  /** The Kubernetes version of its machines. */
  readonly version: string | undefined;
  /** Where its machines are made; none: where the template or the cluster says. */
  readonly failureDomains: readonly string[];
  /** Machines that a changed template would replace. */
  readonly replicas: number;
  /** What a changed template does to the machines that are there. */
  readonly rolls: 'never' | 'as they are deleted' | 'at once';
  readonly paused: boolean;
  /** What goes on with its machines now, as a clause; undefined where nothing does. */
  readonly busy: string | undefined;
  /** A ClusterClass decides what it says. */
  readonly byClass: boolean;
  /** The controller that made it. */
  readonly owner: OwnerReference | undefined;
}

const PAUSED = `${CORE}/paused`;
/** On what the topology controller makes. */
const BY_CLASS = 'topology.cluster.x-k8s.io/owned';
/** Names a set for what its cluster's topology calls it. */
export const TOPOLOGY_NAMES: readonly string[] = [
  'topology.cluster.x-k8s.io/deployment-name',
  'topology.cluster.x-k8s.io/pool-name',
];
/** Names the cluster of an object. */
export const CLUSTER_NAME: string = `${CORE}/cluster-name`;

const views = new WeakMap<ClusterApiObject, RotatedSet>();

/** The view of one object, made once. Both versions of the contract are read by where they have a thing. */
export function rotatedSet(kind: RotatedKind, live: ClusterApiObject): RotatedSet {
  const known = views.get(live);
  if (known?.kind === kind) return known;
  const view = viewOf(kind, live);
  views.set(live, view);
  return view;
}

function viewOf(kind: RotatedKind, live: ClusterApiObject): RotatedSet {
  const { metadata } = live;
  const spec = object(live.spec);
  const { group, short } = ROTATED_KINDS.find((one) => one.kind === kind) ?? { group: CORE, short: 'capi-ms' };
  const machine = object(object(spec['template'])['spec']);
  const plane = object(spec['machineTemplate']);
  const referencePath = [
    'spec',
    ...(kind === 'KubeadmControlPlane'
      ? ['machineTemplate', ...('infrastructureRef' in plane ? [] : ['spec'])]
      : ['template', 'spec']),
    'infrastructureRef',
  ];
  const domain = nonEmpty(machine['failureDomain']);
  const existing = count(object(live.status)['replicas']) ?? 0;
  return {
    kind,
    group,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    id: `${short}/${metadata.name}`,
    object: live,
    clusterName: nonEmpty(spec['clusterName']) ?? nonEmpty(metadata.labels?.[CLUSTER_NAME]),
    reference: referenceOf(at(live, referencePath)),
    referencePath,
    version: nonEmpty(kind === 'KubeadmControlPlane' ? spec['version'] : machine['version']),
    failureDomains: [
      ...list(spec['failureDomains']).flatMap((name) => nonEmpty(name) ?? []),
      ...(domain === undefined ? [] : [domain]),
    ],
    replicas: Math.max(count(spec['replicas']) ?? 1, existing),
    rolls: rolling(kind, live),
    paused: spec['paused'] === true || metadata.annotations?.[PAUSED] !== undefined,
    busy: busyWith(kind, live),
    byClass: metadata.labels?.[BY_CLASS] !== undefined,
    owner: metadata.ownerReferences?.find(({ controller }) => controller === true),
  };
}

/** A reference of either version; undefined where it is incomplete. */
export function referenceOf(value: unknown): Reference | undefined {
  const { apiVersion, apiGroup, kind, name } = object(value);
  const group = nonEmpty(apiGroup) ?? nonEmpty(apiVersion)?.split('/')[0];
  return group === undefined || nonEmpty(kind) === undefined || nonEmpty(name) === undefined
    ? undefined
    : { group, kind: String(kind), name: String(name) };
}

/** A set by its name and its namespace: `team-a/capi-md/worker`. */
export function idOfRotated({ namespace, id }: Pick<RotatedSet, 'namespace' | 'id'>): string {
  return `${namespace}/${id}`;
}

/** Whether that is the id of a set of Cluster API. */
export function isRotatedId(id: string): boolean {
  return /^[^/]+\/capi-(?:md|ms|mp|kcp)\/[^/]+$/.test(id);
}

/** A set for people and for kubectl, with its namespace. */
export function setText({ kind, namespace, name }: Pick<RotatedSet, 'kind' | 'namespace' | 'name'>): string {
  return `${kind.toLowerCase()} ${namespace}/${name}`;
}

/** A MachineSet that belongs to a MachineDeployment is one of its revisions, and no set of its own. */
export function isRevision({ kind, owner }: Pick<RotatedSet, 'kind' | 'owner'>): boolean {
  return kind === 'MachineSet' && owner !== undefined;
}

/** Whether a cluster is paused. */
export function isPaused(cluster: ClusterApiObject | undefined): boolean {
  return object(cluster?.spec)['paused'] === true || cluster?.metadata.annotations?.[PAUSED] !== undefined;
}

function strategyOf(live: ClusterApiObject): string | undefined {
  const spec = object(live.spec);
  return nonEmpty(at(spec, ['rollout', 'strategy', 'type'])) ?? nonEmpty(at(spec, ['strategy', 'type']));
}

function rolling(kind: RotatedKind, live: ClusterApiObject): RotatedSet['rolls'] {
  if (kind === 'MachineSet') return 'never';
  // One that says nothing rolls: that is Cluster API's default, and a surprise to whoever did not know.
  return kind === 'MachineDeployment' && strategyOf(live) === 'OnDelete' ? 'as they are deleted' : 'at once';
}

function busyWith(kind: RotatedKind, live: ClusterApiObject): string | undefined {
  const status = object(live.status);
  const { generation } = live.metadata;
  const observed = count(status['observedGeneration']);
  if (observed !== undefined && generation !== undefined && observed < generation)
    return 'its controller has not yet looked at what it says now';
  if (isTrue(status, 'Remediating')) return 'machines of it are being remediated';
  if (rolling(kind, live) !== 'at once') return undefined;
  if (isTrue(status, 'RollingOut')) return 'a rollout is running';
  const replicas = count(status['replicas']) ?? 0;
  const updated = count(status['upToDateReplicas']) ?? count(status['updatedReplicas']) ?? replicas;
  return updated < replicas ? `a rollout is running: ${updated} of ${replicas} machines are up to date` : undefined;
}

function isTrue(status: unknown, type: string): boolean {
  const conditions = [...list(object(status)['conditions']), ...list(at(status, ['v1beta2', 'conditions']))];
  return conditions.map(object).some((one) => one['type'] === type && one['status'] === 'True');
}

/** Whether somebody is about to replace this Machine, because it is unhealthy. */
export function isRemediated(machine: ClusterApiObject): boolean {
  const conditions = [
    ...list(object(machine.status)['conditions']),
    ...list(at(machine.status, ['v1beta2', 'conditions'])),
  ];
  return conditions
    .map(object)
    .some(({ type, status }) => (type === 'OwnerRemediated' || type === 'HealthCheckSucceeded') && status === 'False');
}
