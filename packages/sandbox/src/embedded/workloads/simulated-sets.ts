import { type JsonObject, listOf, metadataOf, nameOf, objectOf } from '@drydock/kube/testing/api-server';
import { type Draft, textOf } from '../apiserver/draft.ts';
import { selects } from '../apiserver/label-selectors.ts';
import {
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
import { createPod } from './simulated-deployments.ts';
import { toleratesAll } from './simulated-pods.ts';

// DaemonSets, Jobs and PodDisruptionBudgets.

const REVISION_HASH = 'controller-revision-hash';

/** What each pod of a DaemonSet tolerates. */
const DAEMON_TOLERATIONS = [
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/pid-pressure',
  'node.kubernetes.io/unschedulable',
].map((key, at) => ({ effect: at < 2 ? 'NoExecute' : 'NoSchedule', key, operator: 'Exists' }));

const nodeOf = (pod: JsonObject): string => textOf(objectOf(pod['spec'])['nodeName']);

/** One step of a DaemonSet: one pod on each node that takes it. */
export async function reconcileDaemonSet(cluster: SimulatedCluster, set: JsonObject): Promise<void> {
  const spec = objectOf(set['spec']);
  const { namespace, name, generation } = metadataOf(set);
  const template = objectOf(spec['template']);
  const hash = nameSuffix(template, 10);
  const tolerations = [...listOf(objectOf(template['spec'])['tolerations']), ...DAEMON_TOLERATIONS];
  const selector = objectOf(objectOf(template['spec'])['nodeSelector']);
  const nodes = cluster
    .list('', 'nodes')
    .filter((node) => toleratesAll({ tolerations }, node))
    .filter((node) =>
      Object.entries(selector).every(([key, value]) => objectOf(metadataOf(node)['labels'])[key] === value),
    )
    .map(nameOf);
  const all = (): readonly JsonObject[] => cluster.list('', 'pods').filter((pod) => isOwnedBy(pod, set));
  const isNew = (pod: JsonObject): boolean => objectOf(metadataOf(pod)['labels'])[REVISION_HASH] === hash;
  if (!isLeaving(set)) {
    const pods = all();
    for (const pod of pods)
      if (!isLeaving(pod) && (hasEnded(pod) || !nodes.includes(nodeOf(pod))))
        await cluster.remove(pod, pathOf('', 'pods', pod));
    const taken = new Set(cluster.list('', 'pods').map(nameOf));
    for (const node of nodes) {
      if (pods.some((pod) => nodeOf(pod) === node)) continue;
      let serial = 0;
      while (taken.has(`${String(name)}-${nameSuffix([name, node, serial], 5)}`)) serial += 1;
      const podName = `${String(name)}-${nameSuffix([name, node, serial], 5)}`;
      await createPod(cluster, String(namespace), podName, template, ownerReference('apps/v1', 'DaemonSet', set), {
        labels: { [REVISION_HASH]: hash, 'pod-template-generation': String(generation) },
        spec: { nodeName: node, tolerations },
      });
    }
    await replaceOld(cluster, spec, nodes.length, all(), isNew);
  }
  const pods = all().filter((pod) => !isLeaving(pod) && !hasEnded(pod));
  const here = pods.filter((pod) => nodes.includes(nodeOf(pod)));
  const ready = here.filter(isReady).length;
  const updated = here.filter(isNew).length;
  const unavailable = nodes.length - ready;
  await cluster.patch(`${pathOf('apps', 'daemonsets', set)}/status`, set, {
    status: {
      observedGeneration: generation,
      currentNumberScheduled: here.length,
      desiredNumberScheduled: nodes.length,
      numberMisscheduled: pods.length - here.length,
      numberReady: ready,
      numberAvailable: ready === 0 ? null : ready,
      numberUnavailable: unavailable === 0 ? null : unavailable,
      updatedNumberScheduled: updated === 0 ? null : updated,
    },
  });
}

/** Old pods end, at most `maxUnavailable` at once. */
async function replaceOld(
  cluster: SimulatedCluster,
  spec: JsonObject,
  nodes: number,
  pods: readonly JsonObject[],
  isNew: (pod: JsonObject) => boolean,
): Promise<void> {
  const { type, rollingUpdate } = objectOf(spec['updateStrategy']);
  if (type === 'OnDelete') return;
  const allowed = Math.max(1, countOf(objectOf(rollingUpdate)['maxUnavailable'] ?? 1, nodes, Math.ceil));
  let spare = allowed - (nodes - pods.filter((pod) => isReady(pod) && !isLeaving(pod)).length);
  for (const pod of pods) {
    if (isNew(pod) || isLeaving(pod)) continue;
    if (isReady(pod)) {
      if (spare <= 0) continue;
      spare -= 1;
    }
    await cluster.remove(pod, pathOf('', 'pods', pod));
  }
}

/** One step of a Job. A pod that failed is followed by the next one at once, without the pause that a real cluster makes. */
export async function reconcileJob(cluster: SimulatedCluster, job: JsonObject): Promise<void> {
  const spec = objectOf(job['spec']);
  const { namespace, name } = metadataOf(job);
  const before = objectOf(job['status']);
  let conditions = listOf(before['conditions']).map(objectOf);
  const over = conditions.some(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True');
  if (isLeaving(job) || over) return;
  const now = cluster.now();
  const mine = (): readonly JsonObject[] => cluster.list('', 'pods').filter((pod) => isOwnedBy(pod, job));
  const inPhase = (phase: string): number => mine().filter((pod) => objectOf(pod['status'])['phase'] === phase).length;
  const active = (): readonly JsonObject[] => mine().filter((pod) => !hasEnded(pod) && !isLeaving(pod));
  const succeeded = inPhase('Succeeded');
  const failed = inPhase('Failed');
  const parallelism = Number(spec['parallelism'] ?? 1);
  const completions = spec['completions'] === undefined ? undefined : Number(spec['completions']);
  const set = (type: string, reason: string, message: string, status = 'True'): void => {
    const known = conditions.find((one) => one['type'] === type);
    const lastProbeTime = known?.['status'] === status ? known['lastProbeTime'] : now;
    conditions = [...withCondition(conditions, { type, status, lastProbeTime, reason, message }, now)];
  };
  const suspended = spec['suspend'] === true;
  const tooMany = failed > Number(spec['backoffLimit'] ?? 6);
  const done = completions === undefined ? succeeded > 0 && active().length === 0 : succeeded >= completions;
  if (tooMany || suspended || done) for (const pod of active()) await cluster.remove(pod, pathOf('', 'pods', pod));
  if (tooMany) {
    const said = ['BackoffLimitExceeded', 'Job has reached the specified backoff limit'] as const;
    set('FailureTarget', ...said);
    set('Failed', ...said);
  } else if (done) {
    const said = ['CompletionsReached', 'Reached expected number of succeeded pods'] as const;
    set('SuccessCriteriaMet', ...said);
    set('Complete', ...said);
  } else if (suspended) set('Suspended', 'JobSuspended', 'Job suspended');
  else {
    if (conditions.some((one) => one['type'] === 'Suspended')) set('Suspended', 'JobResumed', 'Job resumed', 'False');
    const open = completions === undefined ? (succeeded > 0 ? 0 : parallelism) : completions - succeeded;
    const missing = Math.min(parallelism, open) - active().length;
    const taken = new Set(cluster.list('', 'pods').map(nameOf));
    for (let serial = 0, left = missing; left > 0; serial += 1) {
      const podName = `${String(name)}-${nameSuffix([name, serial], 5)}`;
      if (taken.has(podName)) continue;
      left -= 1;
      await createPod(
        cluster,
        String(namespace),
        podName,
        objectOf(spec['template']),
        ownerReference('batch/v1', 'Job', job),
      );
    }
  }
  const ended = tooMany || done;
  const ready = active().filter(isReady).length;
  await cluster.patch(`${pathOf('batch', 'jobs', job)}/status`, job, {
    status: {
      active: active().length === 0 ? null : active().length,
      succeeded: succeeded === 0 ? null : succeeded,
      failed: failed === 0 ? null : failed,
      ready,
      terminating: 0,
      uncountedTerminatedPods: {},
      ...(suspended ? {} : { startTime: before['startTime'] ?? now }),
      ...(done ? { completionTime: now } : {}),
      ...(conditions.length === 0 && !ended ? {} : { conditions }),
    },
  });
}

/** The owner that decides how many pods there should be, for budgets in percent or of `maxUnavailable`. */
function expectedPods(cluster: SimulatedCluster, pods: readonly JsonObject[]): number {
  const kinds: Readonly<Record<string, string>> = { ReplicaSet: 'replicasets', StatefulSet: 'statefulsets' };
  const seen = new Map<string, number>();
  let alone = 0;
  for (const pod of pods) {
    const owner = listOf(metadataOf(pod)['ownerReferences'])
      .map(objectOf)
      .find((one) => one['controller'] === true);
    const plural = kinds[String(owner?.['kind'])];
    const found =
      plural === undefined
        ? undefined
        : cluster.list('apps', plural).find((one) => metadataOf(one)['uid'] === owner?.['uid']);
    if (found === undefined) alone += 1;
    else seen.set(String(metadataOf(found)['uid']), Number(objectOf(found['spec'])['replicas'] ?? 0));
  }
  return [...seen.values()].reduce((sum, one) => sum + one, alone);
}

/** The status of a budget, from which evictions are decided. */
export async function reconcileBudget(cluster: SimulatedCluster, budget: JsonObject): Promise<void> {
  if (isLeaving(budget)) return;
  const { namespace, generation } = metadataOf(budget);
  const { selector, minAvailable, maxUnavailable } = objectOf(budget['spec']);
  const pods = cluster
    .list('', 'pods')
    .filter((pod) => metadataOf(pod)['namespace'] === namespace && !hasEnded(pod))
    .filter((pod) => selects(objectOf(selector) as Draft, objectOf(metadataOf(pod)['labels'])));
  const healthy = pods.filter((pod) => isReady(pod) && !isLeaving(pod)).length;
  const whole = expectedPods(cluster, pods);
  const expected = typeof minAvailable === 'number' ? pods.length : whole;
  const desired =
    maxUnavailable === undefined
      ? countOf(minAvailable ?? 0, whole, Math.ceil)
      : Math.max(0, whole - countOf(maxUnavailable, whole, Math.ceil));
  const allowed = expected === 0 ? 0 : Math.max(0, healthy - desired);
  const enough = allowed > 0;
  const next = {
    ...{ type: 'DisruptionAllowed', status: enough ? 'True' : 'False' },
    ...{ reason: enough ? 'SufficientPods' : 'InsufficientPods', message: '', observedGeneration: generation },
  };
  const conditions = withCondition(listOf(objectOf(budget['status'])['conditions']).map(objectOf), next, cluster.now());
  await cluster.patch(`${pathOf('policy', 'poddisruptionbudgets', budget)}/status`, budget, {
    status: {
      ...{ observedGeneration: generation, disruptionsAllowed: allowed, currentHealthy: healthy },
      ...{ desiredHealthy: desired, expectedPods: expected, conditions },
    },
  });
}
