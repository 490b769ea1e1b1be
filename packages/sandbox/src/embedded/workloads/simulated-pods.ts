import { type JsonObject, listOf, metadataOf, nameOf, objectOf } from '@drydock/kube/testing/api-server';
import type { PodBehaviour, PodRule } from '../../workloads.ts';
import { textOf } from '../apiserver/draft.ts';
import { conditionOf, hasEnded, isLeaving, pathOf, type SimulatedCluster, withCondition } from './simulated-cluster.ts';

// The scheduler, and a kubelet that runs nothing: a pod is bound to the node with the fewest pods, and gets on as its rule or annotation says.

/** The label of the nodes that the simulator keeps; pods on other nodes are not its business. */
export const SIMULATED_NODE = 'sandbox.drydock.dev/runs-nothing';
const BEHAVIOUR = 'sandbox.drydock.dev/pod';

/** Where the rules of pods are kept, so that a restart of the server keeps them. */
export const RULES = { namespace: 'kube-system', name: 'sandbox-pod-rules' } as const;

/** Whether a pod may run on a node. */
export function fits(pod: JsonObject, node: JsonObject): boolean {
  const spec = objectOf(pod['spec']);
  const labels = objectOf(metadataOf(node)['labels']);
  if (objectOf(node['spec'])['unschedulable'] === true || conditionOf(node, 'Ready')?.['status'] !== 'True')
    return false;
  if (Object.entries(objectOf(spec['nodeSelector'])).some(([key, value]) => labels[key] !== value)) return false;
  return toleratesAll(spec, node);
}

/** Whether the tolerations of a pod are enough for the taints of a node. */
export function toleratesAll(spec: JsonObject, node: JsonObject): boolean {
  return listOf(objectOf(node['spec'])['taints'])
    .map(objectOf)
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .every((taint) =>
      listOf(spec['tolerations'])
        .map(objectOf)
        .some(
          ({ key, operator, value = '', effect }) =>
            (effect === undefined || effect === taint['effect']) &&
            (key === undefined || key === taint['key']) &&
            (operator === 'Exists' || value === (taint['value'] ?? '')),
        ),
    );
}

/** Binds a pod that no node has yet. */
export async function schedule(cluster: SimulatedCluster, pod: JsonObject): Promise<void> {
  if (isLeaving(pod) || hasEnded(pod)) return;
  const pods = cluster.list('', 'pods');
  const load = (node: JsonObject): number =>
    pods.filter((one) => objectOf(one['spec'])['nodeName'] === nameOf(node) && !hasEnded(one)).length;
  const nodes = cluster.list('', 'nodes').filter((node) => fits(pod, node));
  const [best] = nodes
    .map((node) => ({ name: nameOf(node), load: load(node) }))
    .toSorted((a, b) => a.load - b.load || (a.name < b.name ? -1 : 1));
  const path = pathOf('', 'pods', pod);
  if (best !== undefined) {
    await cluster.create(`${path}/binding`, {
      ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name: nameOf(pod) } },
      target: { apiVersion: 'v1', kind: 'Node', name: best.name },
    });
    return;
  }
  const message = `0/${cluster.list('', 'nodes').length} nodes are available.`;
  const next = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
  const conditions = listOf(objectOf(pod['status'])['conditions']).map(objectOf);
  await cluster.patch(`${path}/status`, pod, {
    status: { conditions: withCondition(conditions, next, cluster.now()) },
  });
}

function behaviourOf(pod: JsonObject, rules: readonly PodRule[]): PodBehaviour {
  const { namespace, labels, annotations } = metadataOf(pod);
  const images = listOf(objectOf(pod['spec'])['containers']).map((one) => String(objectOf(one)['image']));
  const rule = rules.find(
    (one) =>
      (one.namespace === undefined || one.namespace === namespace) &&
      (one.image === undefined || images.some((image) => image.includes(one.image ?? ''))) &&
      Object.entries(one.labels ?? {}).every(([key, value]) => objectOf(labels)[key] === value),
  );
  return rule?.pod ?? (textOf(objectOf(annotations)[BEHAVIOUR]) as PodBehaviour);
}

/** One step of a pod that is bound to a simulated node. */
export async function runPod(cluster: SimulatedCluster, pod: JsonObject, rules: readonly PodRule[]): Promise<void> {
  const behaviour = behaviourOf(pod, rules);
  if (isLeaving(pod)) {
    if (behaviour !== 'hang') await cluster.remove(pod, pathOf('', 'pods', pod), 0);
    return;
  }
  if (hasEnded(pod)) return;
  const ofJob = listOf(metadataOf(pod)['ownerReferences']).some((one) => objectOf(one)['kind'] === 'Job');
  const next = stateOf(behaviour, ofJob);
  const now = cluster.now();
  const before = objectOf(pod['status']);
  const spec = objectOf(pod['spec']);
  const ended = next.phase === 'Succeeded' || next.phase === 'Failed';
  const reason = ended ? (next.phase === 'Failed' ? 'PodFailed' : 'PodCompleted') : 'ContainersNotReady';
  let conditions = listOf(before['conditions']).map(objectOf);
  for (const [type, good] of [
    ['PodReadyToStartContainers', !ended],
    ['Initialized', true],
    ['Ready', next.ready],
    ['ContainersReady', next.ready],
    ['PodScheduled', true],
  ] as const) {
    const why = good ? {} : { reason };
    conditions = [...withCondition(conditions, { type, status: good ? 'True' : 'False', ...why }, now)];
  }
  const statuses = listOf(spec['containers']).map((one, at) => {
    const { name, image } = objectOf(one);
    const known = objectOf(listOf(before['containerStatuses'])[at]);
    return {
      ...{ name, image, imageID: next.state === 'waiting' ? '' : `simulated/${String(image)}`, ready: next.ready },
      started: next.state === 'running',
      restartCount: next.restarts,
      state: containerState(next, objectOf(known['state']), now),
    };
  });
  const ip = objectOf(before)['podIP'] ?? address(cluster, pod);
  await cluster.patch(`${pathOf('', 'pods', pod)}/status`, pod, {
    status: {
      ...{ phase: next.phase, conditions, containerStatuses: statuses, hostIP: '192.0.2.1' },
      hostIPs: [{ ip: '192.0.2.1' }],
      ...{ podIP: ip, podIPs: [{ ip }], startTime: before['startTime'] ?? now },
      observedGeneration: metadataOf(pod)['generation'] ?? 1,
    },
  });
}

interface PodState {
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly ready: boolean;
  readonly state: 'running' | 'waiting' | 'terminated';
  readonly reason?: string;
  readonly code?: number;
  readonly restarts: number;
}

/** What becomes of a pod. */
function stateOf(behaviour: PodBehaviour, ofJob: boolean): PodState {
  const succeeded = { phase: 'Succeeded', ready: false, state: 'terminated', reason: 'Completed', code: 0 } as const;
  switch (behaviour) {
    case 'never-ready':
      return { phase: 'Running', ready: false, state: 'running', restarts: 0 };
    case 'crash-loop':
      return { phase: 'Running', ready: false, state: 'waiting', reason: 'CrashLoopBackOff', restarts: 1 };
    case 'image-pull':
      return { phase: 'Pending', ready: false, state: 'waiting', reason: 'ImagePullBackOff', restarts: 0 };
    case 'fail':
      return { phase: 'Failed', ready: false, state: 'terminated', reason: 'Error', code: 1, restarts: 0 };
    case 'complete':
      return { ...succeeded, restarts: 0 };
    case 'hang':
      return { phase: 'Running', ready: true, state: 'running', restarts: 0 };
    default:
      return ofJob ? { ...succeeded, restarts: 0 } : { phase: 'Running', ready: true, state: 'running', restarts: 0 };
  }
}

function containerState({ state, reason, code }: PodState, before: JsonObject, now: string): JsonObject {
  const none = { running: null, waiting: null, terminated: null };
  const known = objectOf(before[state]);
  if (state === 'running') return prune({ ...none, running: { startedAt: known['startedAt'] ?? now } });
  if (state === 'waiting') return prune({ ...none, waiting: { reason } });
  const times = { startedAt: known['startedAt'] ?? now, finishedAt: known['finishedAt'] ?? now };
  return prune({ ...none, terminated: { exitCode: code, reason, ...times } });
}

/** Lists of a merge patch are replaced whole, so nothing in them has to be removed. */
function prune(state: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null));
}

/** The first address of the pods' network that no pod has. */
function address(cluster: SimulatedCluster, pod: JsonObject): string {
  const taken = new Set(
    cluster
      .list('', 'pods')
      .filter((one) => one !== pod)
      .map((one) => objectOf(one['status'])['podIP']),
  );
  for (let at = 1; ; at += 1) {
    const ip = `10.244.${at >> 8}.${at & 255}`;
    if (!taken.has(ip)) return ip;
  }
}
