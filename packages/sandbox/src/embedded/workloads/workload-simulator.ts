import { type Clock, type JsonObject, metadataOf, objectOf, systemClock } from '@drydock/kube/testing/api-server';
import type { PodRule } from '../../workloads.ts';
import type { ObjectServer } from '../apiserver/contract.ts';
import { clusterAs, isLeaving, type SimulatedCluster } from './simulated-cluster.ts';
import { reconcileDeployment, reconcileReplicaSet } from './simulated-deployments.ts';
import { RULES, runPod, SIMULATED_NODE, schedule } from './simulated-pods.ts';
import { reconcileBudget, reconcileDaemonSet, reconcileJob } from './simulated-sets.ts';

// Controllers, a scheduler and a kubelet that runs nothing, in the process of the embedded API server. Each round looks at all objects and takes at most one step
// for each; the rounds end when a round changes nothing. A round depends on the stored objects alone, so the same history gives the same objects.

/** What the simulator is started with. */
export interface SimulatorOptions {
  readonly nodes: number;
  readonly clock?: Clock;
}

/** A running simulator. */
export interface WorkloadSimulator extends Disposable {
  /** Resolves when nothing is left to do, but for deadlines. */
  settled(): Promise<void>;
}

/** What makes a round worth while. */
const WATCHED = new Set(
  ['apps/deployments', 'apps/replicasets', 'apps/daemonsets', 'batch/jobs', '/pods', '/nodes'].concat(
    'policy/poddisruptionbudgets',
    '/configmaps',
  ),
);

const PRESSURES = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'];

/** Starts the simulator with its nodes `node-0`, `node-1`, …. */
export function startWorkloadSimulator(
  objects: ObjectServer,
  { nodes, clock = systemClock }: SimulatorOptions,
): WorkloadSimulator {
  const stop = new AbortController();
  let due = true;
  let running: Promise<void> | undefined;
  const again = (ms: number): void => {
    clock
      .sleep(ms, { signal: stop.signal, background: true })
      .then(wake)
      .catch(() => undefined);
  };
  const as = (name: string): SimulatedCluster => clusterAs(name, objects, () => clock.date(), again);
  const deployments = as('deployment-controller');
  const replicaSets = as('replicaset-controller');
  const daemonSets = as('daemon-set-controller');
  const jobs = as('job-controller');
  const budgets = as('disruption-controller');
  const scheduler = as('kube-scheduler');
  const kubelet = as('kubelet');

  async function each(
    cluster: SimulatedCluster,
    group: string,
    plural: string,
    step: (cluster: SimulatedCluster, object: JsonObject) => Promise<void>,
  ): Promise<void> {
    for (const object of cluster.list(group, plural)) {
      if (stop.signal.aborted) return;
      await step(cluster, object);
    }
  }

  async function round(): Promise<void> {
    await each(deployments, 'apps', 'deployments', reconcileDeployment);
    await each(replicaSets, 'apps', 'replicasets', reconcileReplicaSet);
    await each(daemonSets, 'apps', 'daemonsets', reconcileDaemonSet);
    await each(jobs, 'batch', 'jobs', reconcileJob);
    const rules = rulesOf(objects);
    const own = new Set(
      kubelet
        .list('', 'nodes')
        .filter((node) => objectOf(metadataOf(node)['labels'])[SIMULATED_NODE] === 'true')
        .map((node) => metadataOf(node)['name']),
    );
    await each(kubelet, '', 'pods', async (_cluster, pod) => {
      const { nodeName } = objectOf(pod['spec']);
      if (nodeName === undefined || nodeName === '') {
        if (isLeaving(pod)) return;
        await schedule(scheduler, pod);
      } else if (own.has(nodeName)) await runPod(kubelet, pod, rules);
    });
    await each(budgets, 'policy', 'poddisruptionbudgets', reconcileBudget);
  }

  async function rounds(): Promise<void> {
    while (due && !stop.signal.aborted) {
      due = false;
      try {
        await round();
      } catch (error) {
        // A fault of the simulator: it must be seen, and it must not end the process.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
      // Let answers of requests and watches out between rounds.
      await new Promise((resolve) => setImmediate(resolve));
    }
    running = undefined;
  }

  function wake(): void {
    due = true;
    if (running === undefined && !stop.signal.aborted) running = rounds();
  }

  const subscription = objects.subscribe(({ group, plural }) => {
    if (WATCHED.has(`${group}/${plural}`)) wake();
  });
  running = startNodes(kubelet, nodes).then(rounds);
  return {
    settled: async () => {
      while (running !== undefined) await running;
    },
    [Symbol.dispose]: () => {
      stop.abort();
      subscription[Symbol.dispose]();
    },
  };
}

/** The rules of `workloads.rules`, as they are stored. */
function rulesOf(objects: ObjectServer): readonly PodRule[] {
  const { data } = objectOf(objects.peek('', 'configmaps', RULES));
  const { rules } = objectOf(data);
  return typeof rules === 'string' ? (JSON.parse(rules) as readonly PodRule[]) : [];
}

async function startNodes(cluster: SimulatedCluster, nodes: number): Promise<void> {
  const known = new Set(cluster.list('', 'nodes').map((node) => metadataOf(node)['name']));
  const now = cluster.now();
  for (let number = 0; number < nodes; number += 1) {
    const name = `node-${number}`;
    if (known.has(name)) continue;
    await cluster.create('/api/v1/nodes', {
      metadata: {
        name,
        labels: {
          ...{ 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
          ...{ 'node-role.kubernetes.io/worker': '', [SIMULATED_NODE]: 'true' },
        },
      },
    });
    const node = cluster.list('', 'nodes').find((one) => metadataOf(one)['name'] === name);
    if (node === undefined) continue;
    // The API server taints a new node until its controller knows it.
    await cluster.patch(`/api/v1/nodes/${name}`, node, { spec: { taints: null } });
    const room = { cpu: '64', memory: '256Gi', pods: '500' };
    await cluster.patch(`/api/v1/nodes/${name}/status`, node, {
      status: {
        ...{ capacity: room, allocatable: room, addresses: [{ type: 'Hostname', address: name }] },
        conditions: PRESSURES.map((type) => ({
          ...{ type, status: type === 'Ready' ? 'True' : 'False', reason: 'RunsNothing' },
          ...{ lastHeartbeatTime: now, lastTransitionTime: now },
        })),
      },
    });
  }
}
