import type { KubeClient, KubeObject, Resource } from '@drydock/kube';
import { isConflict, isNotFound } from '@drydock/kube';
import type { Pace } from './pace.ts';

/** Who decides which operators may roll out. */
export interface RollOuts extends AsyncDisposable {
  /** From now on pods of these images do not become ready; all others do. */
  hold(images: ReadonlySet<string>): Promise<void>;
}

interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly image?: string }[] } };
  };
  readonly status?: WorkloadStatus;
}
interface WorkloadStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly availableReplicas?: number;
}

const workload = (kind: string, plural: string): Resource<Workload> => ({
  ...{ group: 'apps', version: 'v1', kind, plural, scope: 'Namespaced' },
});
const DEPLOYMENT = workload('Deployment', 'deployments');
const STATEFUL_SET = workload('StatefulSet', 'statefulsets');
const DAEMON_SET = workload('DaemonSet', 'daemonsets');

/** Which image of an operator runs: undefined while it is being changed, and where there is none. */
export async function runningImages(
  client: Pick<KubeClient, 'list'>,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const running = new Map<string, string>();
  for await (const one of client.list(DEPLOYMENT, { namespace }, { signal })) {
    const image = imagesOf(one)[0];
    if (image !== undefined && isRolledOut(one)) running.set(one.metadata.name, image);
  }
  return running;
}

function isRolledOut({ metadata, spec, status }: Workload): boolean {
  const replicas = spec?.replicas ?? 1;
  return (
    metadata.deletionTimestamp === undefined &&
    status?.observedGeneration === metadata.generation &&
    status?.replicas === replicas &&
    status.updatedReplicas === replicas &&
    status.availableReplicas === replicas
  );
}

function imagesOf({ spec }: Workload): readonly string[] {
  return (spec?.template?.spec?.containers ?? []).flatMap(({ image }) => image ?? []);
}

/**
 * Writes the statuses of workloads as their controllers would, for clusters that have none: what is not held is rolled out at the next look. There are no pods.
 */
export function playedPods(client: KubeClient, pace: Pace): RollOuts {
  const stop = new AbortController();
  let held: ReadonlySet<string> = new Set();
  const look = async (): Promise<void> => {
    for (const resource of [DEPLOYMENT, STATEFUL_SET, DAEMON_SET])
      for await (const one of client.list(resource, {}, { signal: stop.signal })) {
        const next = statusOf(
          resource,
          one,
          imagesOf(one).some((image) => held.has(image)),
        );
        if (next === undefined) continue;
        try {
          await client.replaceStatus(resource, { ...one, status: next }, { signal: stop.signal });
        } catch (error) {
          // The next look sees what it is now.
          if (!isConflict(error) && !isNotFound(error)) throw error;
        }
      }
  };
  const running = pace.repeat('workloads', look, stop.signal);
  return {
    hold: async (images) => {
      held = images;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

/** What its controller would say; undefined where that is said. */
function statusOf(
  resource: Resource<Workload>,
  { metadata, spec, status }: Workload,
  held: boolean,
): object | undefined {
  // A controller that has seen nothing yet, and pods of before that run on.
  if (held || status?.observedGeneration === metadata.generation) return undefined;
  const observedGeneration = metadata.generation;
  if (resource === DAEMON_SET) {
    const none = { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 };
    return { observedGeneration, ...none };
  }
  const replicas = spec?.replicas ?? 1;
  const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
  if (resource === STATEFUL_SET) return { observedGeneration, ...counts };
  const condition = (type: string, reason: string) => ({ type, status: 'True', reason, message: 'played' });
  const conditions = [
    condition('Available', 'MinimumReplicasAvailable'),
    condition('Progressing', 'NewReplicaSetAvailable'),
  ];
  return { observedGeneration, ...counts, conditions };
}
