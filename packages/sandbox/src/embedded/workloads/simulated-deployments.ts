import { canonical, type JsonObject, listOf, metadataOf, nameOf, objectOf } from '@drydock/kube/testing/api-server';
import {
  collectionPath,
  conditionOf,
  countOf,
  hasEnded,
  isLeaving,
  isOwnedBy,
  isReady,
  nameSuffix,
  ownerReference,
  pathOf,
  type SimulatedCluster,
  withCondition,
} from './simulated-cluster.ts';

// Deployments and ReplicaSets. A Deployment moves from one ReplicaSet to the next, and keeps between `replicas - maxUnavailable` and `replicas + maxSurge` pods:
//
//   new template ──► new ReplicaSet ──► new up, old down, step by step ──► old at 0 ──► Progressing: NewReplicaSetAvailable
//                                          └─ no step within progressDeadlineSeconds ──► Progressing: ProgressDeadlineExceeded

const HASH = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';

const replicasOf = (object: JsonObject): number => Number(objectOf(object['spec'])['replicas'] ?? 0);
const statusCount = (object: JsonObject, field: string): number => Number(objectOf(object['status'])[field] ?? 0);
const total = (list: readonly JsonObject[], of: (one: JsonObject) => number): number =>
  list.reduce((sum, one) => sum + of(one), 0);
const revisionOf = (object: JsonObject): number => Number(objectOf(metadataOf(object)['annotations'])[REVISION] ?? 0);

function templateOf(set: JsonObject): JsonObject {
  const template = objectOf(objectOf(set['spec'])['template']);
  const { [HASH]: _hash, ...labels } = objectOf(metadataOf(template)['labels']);
  return { ...template, metadata: { ...metadataOf(template), labels } };
}

/** One step of a Deployment. */
export async function reconcileDeployment(cluster: SimulatedCluster, deployment: JsonObject): Promise<void> {
  if (isLeaving(deployment)) return;
  const spec = objectOf(deployment['spec']);
  const { namespace } = metadataOf(deployment);
  const owned = cluster
    .list('apps', 'replicasets')
    .filter((one) => isOwnedBy(one, deployment) && !isLeaving(one))
    .toSorted((a, b) => revisionOf(a) - revisionOf(b));
  const wanted = canonical(templateOf({ spec: { template: spec['template'] } }));
  const current = owned.find((one) => canonical(templateOf(one)) === wanted);
  const paused = spec['paused'] === true;
  if (current === undefined && !paused) {
    await createReplicaSet(cluster, deployment, owned);
    return;
  }
  const newest = current ?? owned.at(-1);
  const old = owned.filter((one) => one !== current);
  const last = Math.max(0, ...old.map(revisionOf));
  if (current !== undefined && revisionOf(current) <= last && old.length > 0)
    await annotate(cluster, 'replicasets', current, { [REVISION]: String(last + 1) });
  const revision = current === undefined ? undefined : Math.max(revisionOf(current), old.length > 0 ? last + 1 : 1);
  if (revision !== undefined && revisionOf(deployment) !== revision)
    await annotate(cluster, 'deployments', deployment, { [REVISION]: String(revision) });
  if (paused) {
    if (newest !== undefined)
      await scale(
        cluster,
        newest,
        Math.max(
          0,
          replicasOf(deployment) -
            total(
              owned.filter((one) => one !== newest),
              replicasOf,
            ),
        ),
      );
  } else if (current !== undefined) await roll(cluster, deployment, current, old);
  const now = cluster.list('apps', 'replicasets').filter((one) => isOwnedBy(one, deployment) && !isLeaving(one));
  const after = now.find((one) => canonical(templateOf(one)) === wanted);
  await writeStatus(cluster, deployment, now, after);
  const limit = Number(spec['revisionHistoryLimit'] ?? 10);
  const spent = old.filter((one) => replicasOf(one) === 0 && statusCount(one, 'replicas') === 0);
  const complete = after !== undefined && statusCount(after, 'availableReplicas') === replicasOf(deployment);
  if (complete && spent.length > limit)
    for (const one of spent.slice(0, spent.length - limit))
      await cluster.remove(one, `${collectionPath('apps', 'replicasets', String(namespace))}/${nameOf(one)}`);
}

async function createReplicaSet(
  cluster: SimulatedCluster,
  deployment: JsonObject,
  owned: readonly JsonObject[],
): Promise<void> {
  const { namespace, name } = metadataOf(deployment);
  const { template, selector, minReadySeconds } = objectOf(deployment['spec']);
  const hash = nameSuffix(template, 10);
  const labels = { ...objectOf(metadataOf(objectOf(template))['labels']), [HASH]: hash };
  const revision = Math.max(0, ...owned.map(revisionOf)) + 1;
  await cluster.create(collectionPath('apps', 'replicasets', String(namespace)), {
    metadata: {
      name: `${String(name)}-${hash}`,
      labels,
      annotations: { [REVISION]: String(revision) },
      ownerReferences: [ownerReference('apps/v1', 'Deployment', deployment)],
    },
    spec: {
      replicas: 0,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: {
        ...objectOf(selector),
        matchLabels: { ...objectOf(objectOf(selector)['matchLabels']), [HASH]: hash },
      },
      template: { ...objectOf(template), metadata: { ...metadataOf(objectOf(template)), labels } },
    },
  });
}

async function annotate(
  cluster: SimulatedCluster,
  plural: string,
  object: JsonObject,
  annotations: JsonObject,
): Promise<void> {
  await cluster.patch(pathOf('apps', plural, object), object, { metadata: { annotations } });
}

async function scale(cluster: SimulatedCluster, set: JsonObject, replicas: number): Promise<void> {
  await cluster.patch(pathOf('apps', 'replicasets', set), set, { spec: { replicas } });
}

async function roll(
  cluster: SimulatedCluster,
  deployment: JsonObject,
  current: JsonObject,
  old: readonly JsonObject[],
): Promise<void> {
  const desired = replicasOf(deployment);
  const { type, rollingUpdate } = objectOf(objectOf(deployment['spec'])['strategy']);
  if (type === 'Recreate') {
    for (const one of old) await scale(cluster, one, 0);
    const pods = cluster.list('', 'pods').filter((pod) => old.some((one) => isOwnedBy(pod, one)) && !hasEnded(pod));
    if (pods.length === 0) await scale(cluster, current, desired);
    return;
  }
  const { maxSurge = '25%', maxUnavailable = '25%' } = objectOf(rollingUpdate);
  const surge = countOf(maxSurge, desired, Math.ceil);
  const missing = countOf(maxUnavailable, desired, Math.floor);
  const unavailable = surge === 0 && missing === 0 ? 1 : missing;
  const running = total([...old, current], replicasOf);
  if (replicasOf(current) > desired) {
    await scale(cluster, current, desired);
    return;
  }
  if (replicasOf(current) < desired) {
    const more = Math.min(desired - replicasOf(current), Math.max(0, desired + surge - running));
    if (more > 0) {
      await scale(cluster, current, replicasOf(current) + more);
      return;
    }
  }
  const newUnavailable = replicasOf(current) - statusCount(current, 'availableReplicas');
  let spare = running - (desired - unavailable) - newUnavailable;
  // Pods that are not available are removed first: that costs nothing.
  for (const pass of ['broken', 'working'] as const) {
    for (const one of old) {
      const broken = Math.max(0, replicasOf(one) - statusCount(one, 'availableReplicas'));
      const less = Math.min(spare, pass === 'broken' ? broken : replicasOf(one));
      if (less <= 0) continue;
      spare -= less;
      await scale(cluster, one, replicasOf(one) - less);
      return;
    }
  }
}

async function writeStatus(
  cluster: SimulatedCluster,
  deployment: JsonObject,
  sets: readonly JsonObject[],
  current: JsonObject | undefined,
): Promise<void> {
  const spec = objectOf(deployment['spec']);
  const desired = replicasOf(deployment);
  const available = total(sets, (one) => statusCount(one, 'availableReplicas'));
  const replicas = total(sets, (one) => statusCount(one, 'replicas'));
  const updated = current === undefined ? 0 : statusCount(current, 'replicas');
  const unavailable = Math.max(0, total(sets, replicasOf) - available);
  const now = cluster.now();
  const missing = countOf(
    objectOf(objectOf(spec['strategy'])['rollingUpdate'])['maxUnavailable'] ?? '25%',
    desired,
    Math.floor,
  );
  const enough = available >= desired - (objectOf(spec['strategy'])['type'] === 'Recreate' ? 0 : missing);
  let conditions = listOf(objectOf(deployment['status'])['conditions']).map(objectOf);
  const set = (type: string, status: string, reason: string, message: string): void => {
    const before = conditions.find((one) => one['type'] === type);
    const same = before?.['reason'] === reason && before['message'] === message && before['status'] === status;
    const lastUpdateTime = same ? before['lastUpdateTime'] : now;
    conditions = [...withCondition(conditions, { type, status, reason, message, lastUpdateTime }, now)];
  };
  if (enough) set('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.');
  else set('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.');
  const before = conditionOf(deployment, 'Progressing');
  const name = current === undefined ? '' : nameOf(current);
  const complete = updated === desired && replicas === desired && available === desired;
  const counts = ['replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas'] as const;
  const known = {
    replicas,
    updatedReplicas: updated,
    readyReplicas: total(sets, (one) => statusCount(one, 'readyReplicas')),
    availableReplicas: available,
  };
  const moved =
    counts.some((field) => known[field] !== statusCount(deployment, field)) ||
    statusCount(deployment, 'observedGeneration') !== Number(metadataOf(deployment)['generation']);
  if (spec['paused'] === true) set('Progressing', 'Unknown', 'DeploymentPaused', 'Deployment is paused');
  else if (complete)
    set('Progressing', 'True', 'NewReplicaSetAvailable', `ReplicaSet "${name}" has successfully progressed.`);
  else if (moved || before === undefined || before['reason'] === 'DeploymentPaused') {
    set('Progressing', 'True', 'ReplicaSetUpdated', `ReplicaSet "${name}" is progressing.`);
    const at = conditions.findIndex((one) => one['type'] === 'Progressing');
    conditions = conditions.with(at, { ...conditions[at], lastUpdateTime: now });
    cluster.again(Number(spec['progressDeadlineSeconds'] ?? 600) * 1000 + 1000);
  } else if (before['reason'] === 'ReplicaSetUpdated') {
    const deadline = Number(spec['progressDeadlineSeconds'] ?? 600) * 1000;
    const left = Date.parse(String(before['lastUpdateTime'])) + deadline - Date.parse(now);
    if (left < 0)
      set('Progressing', 'False', 'ProgressDeadlineExceeded', `ReplicaSet "${name}" has timed out progressing.`);
    else cluster.again(left + 1000);
  }
  await cluster.patch(`${pathOf('apps', 'deployments', deployment)}/status`, deployment, {
    status: {
      observedGeneration: metadataOf(deployment)['generation'],
      ...Object.fromEntries(
        Object.entries({ ...known, unavailableReplicas: unavailable }).map(([field, count]) => [
          field,
          count === 0 ? null : count,
        ]),
      ),
      conditions,
    },
  });
}

/** One step of a ReplicaSet: as many pods as it wants. */
export async function reconcileReplicaSet(cluster: SimulatedCluster, set: JsonObject): Promise<void> {
  const path = pathOf('apps', 'replicasets', set);
  const { namespace, name } = metadataOf(set);
  const mine = (): readonly JsonObject[] =>
    cluster.list('', 'pods').filter((pod) => isOwnedBy(pod, set) && !isLeaving(pod) && !hasEnded(pod));
  let pods = mine();
  const desired = replicasOf(set);
  if (!isLeaving(set)) {
    const { template } = objectOf(set['spec']);
    const taken = new Set(cluster.list('', 'pods').map(nameOf));
    for (let serial = 0, left = desired - pods.length; left > 0; serial += 1) {
      const podName = `${String(name)}-${nameSuffix([name, serial], 5)}`;
      if (taken.has(podName)) continue;
      left -= 1;
      await createPod(
        cluster,
        String(namespace),
        podName,
        objectOf(template),
        ownerReference('apps/v1', 'ReplicaSet', set),
      );
    }
    // The least useful first: not bound, not ready, youngest.
    const order = pods.toSorted(
      (a, b) =>
        Number(objectOf(a['spec'])['nodeName'] !== undefined) - Number(objectOf(b['spec'])['nodeName'] !== undefined) ||
        Number(isReady(a)) - Number(isReady(b)) ||
        Number(metadataOf(b)['resourceVersion']) - Number(metadataOf(a)['resourceVersion']),
    );
    for (const pod of order.slice(0, Math.max(0, pods.length - desired)))
      await cluster.remove(pod, pathOf('', 'pods', pod));
    pods = mine();
  }
  const ready = pods.filter(isReady).length;
  const { labels } = metadataOf(objectOf(objectOf(set['spec'])['template']));
  const labelled = pods.filter((pod) =>
    Object.entries(objectOf(labels)).every(([key, value]) => objectOf(metadataOf(pod)['labels'])[key] === value),
  ).length;
  const some = (count: number): number | null => (count === 0 ? null : count);
  await cluster.patch(`${path}/status`, set, {
    status: {
      observedGeneration: metadataOf(set)['generation'],
      replicas: pods.length,
      fullyLabeledReplicas: some(labelled),
      readyReplicas: some(ready),
      availableReplicas: some(ready),
    },
  });
}

/** Makes a pod of a template. A pod that the API server refuses is tried again after the next change. */
export async function createPod(
  cluster: SimulatedCluster,
  namespace: string,
  name: string,
  template: JsonObject,
  owner: JsonObject,
  more: { readonly labels?: JsonObject; readonly spec?: JsonObject } = {},
): Promise<void> {
  const { labels, annotations } = metadataOf(template);
  await cluster.create(collectionPath('', 'pods', namespace), {
    metadata: {
      name,
      labels: { ...objectOf(labels), ...more.labels },
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [owner],
    },
    spec: { ...objectOf(template['spec']), ...more.spec },
  });
}
