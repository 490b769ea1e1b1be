import {
  type Admission,
  type JsonObject,
  listOf,
  metadataOf,
  objectOf,
  Refusal,
} from '@drydock/kube/testing/api-server';

// What the simulator of workloads cannot do is refused when it is asked for: an object that nobody acts on would look like a bug of its user.

/** Kinds whose controllers are not simulated. */
const KINDS: Readonly<Record<string, string>> = {
  // Its counts come from a controller; without one, the real server enforces no quota either.
  '/resourcequotas': 'ResourceQuotas',
  'apps/statefulsets': 'StatefulSets',
  'batch/cronjobs': 'CronJobs',
  '/replicationcontrollers': 'ReplicationControllers',
  'autoscaling/horizontalpodautoscalers': 'HorizontalPodAutoscalers',
};

/** Where a kind has the spec of its pods. */
const POD_SPECS: Readonly<Record<string, readonly string[]>> = {
  '/pods': ['spec'],
  'apps/deployments': ['spec', 'template', 'spec'],
  'apps/replicasets': ['spec', 'template', 'spec'],
  'apps/daemonsets': ['spec', 'template', 'spec'],
  'batch/jobs': ['spec', 'template', 'spec'],
};

const at = (object: JsonObject, path: readonly string[]): JsonObject =>
  path.reduce<JsonObject>((value, field) => objectOf(value[field]), object);

const has = (value: unknown): boolean => value !== undefined && value !== null;

/** Throws 501 with the name of what the simulator does not do with an object. */
export function refuseUnsimulated({ kind, object, operation, subresource }: Admission): void {
  if (object === undefined || subresource !== undefined || operation === 'DELETE') return;
  const id = `${kind.group}/${kind.plural}`;
  const feature = KINDS[id] ?? featureOf(id, object);
  if (feature === undefined) return;
  const message = `the simulator of workloads does not have ${feature}; use the real servers (SERVERS=real)`;
  throw new Refusal({ code: 501, reason: 'NotImplemented', message });
}

function featureOf(id: string, object: JsonObject): string | undefined {
  const path = POD_SPECS[id];
  if (path === undefined) return undefined;
  const spec = objectOf(object['spec']);
  if (id !== '/pods' && Number(spec['minReadySeconds'] ?? 0) > 0) return 'minReadySeconds';
  if (id === 'apps/daemonsets') {
    const { maxSurge = 0 } = objectOf(objectOf(spec['updateStrategy'])['rollingUpdate']);
    if (maxSurge !== 0 && maxSurge !== '0%') return 'maxSurge of DaemonSets';
  }
  if (id === 'batch/jobs') {
    if (spec['completionMode'] === 'Indexed') return 'Indexed Jobs';
    for (const field of [
      ...['podFailurePolicy', 'successPolicy', 'backoffLimitPerIndex', 'maxFailedIndexes', 'managedBy'],
      ...['activeDeadlineSeconds', 'ttlSecondsAfterFinished'],
    ])
      if (has(spec[field])) return `${field} of Jobs`;
  }
  return podFeature(at(object, path), id === '/pods' ? object : at(object, path.slice(0, -1)));
}

function podFeature(spec: JsonObject, pod: JsonObject): string | undefined {
  const annotations = objectOf(metadataOf(pod)['annotations']);
  if (has(annotations['sandbox.drydock.dev/after'])) return 'the annotation sandbox.drydock.dev/after';
  for (const [of, rules] of Object.entries(objectOf(spec['affinity'])))
    if (has(objectOf(rules)['requiredDuringSchedulingIgnoredDuringExecution'])) return `required ${of}`;
  const spread = listOf(spec['topologySpreadConstraints']).map(objectOf);
  if (spread.some((one) => one['whenUnsatisfiable'] === 'DoNotSchedule')) return 'topologySpreadConstraints';
  if (listOf(spec['schedulingGates']).length > 0) return 'schedulingGates';
  if (listOf(spec['resourceClaims']).length > 0) return 'resourceClaims';
  if (listOf(spec['readinessGates']).length > 0) return 'readinessGates';
  const volumes = listOf(spec['volumes']).map(objectOf);
  if (volumes.some((one) => has(one['persistentVolumeClaim']) || has(one['ephemeral'])))
    return 'volumes of PersistentVolumeClaims';
  return undefined;
}
