import { type Clock, isNotFound, type KubeClient, systemClock } from '@drydock/kube';
import { textOf } from '../revision/environment.ts';
import { Pod } from '../revision/pod.ts';
import type { MonitorEnvironment, WatchedPod } from './monitor.ts';
import type { Readiness } from './monitor-step.ts';

/** Whom to ask. */
export interface ReadinessSpec {
  readonly client: Pick<KubeClient, 'get' | 'raw'>;
  readonly nodeName: string;
  /** Where the mirror pod lies, where it is not where the manifest says. */
  readonly namespace?: string;
  /** Time between two of the three answers of `/readyz`; default 5 s. */
  readonly intervalMs?: number;
  readonly clock?: Clock;
}

/** How long (ms) one question may take. */
const ASK_MS = 4_000;

/** As often in a row `/readyz` must answer with success: a server that is about to end still answers once. */
const ANSWERS = 3;

/**
 * Checks of a server that wait for servers which run on this one: it counts as ready without them (cluster-kube-apiserver-operator, readiness of its
 * startup monitor).
 */
const EXCLUDED = [
  'api-openshift-apiserver-available',
  'api-openshift-oauth-apiserver-available',
  'poststarthook/openshift.io-openshift-apiserver-reachable',
  'poststarthook/openshift.io-oauth-apiserver-reachable',
]
  .map((check) => `&exclude=${encodeURIComponent(check)}`)
  .join('');

/**
 * Whether a revision of a static API server is ready, by what the kube-apiserver's operator asks, in its order: no other revision is the mirror pod
 * `<pod>-<node>`; `/healthz/etcd` and `/healthz` answer; `/readyz` answers three times; the mirror pod is of the revision and Ready. A server that
 * does not answer is not ready; that is no failure of the question.
 */
export function askServer(spec: ReadinessSpec): MonitorEnvironment['ready'] {
  const { client, intervalMs = 5_000, clock = systemClock } = spec;
  return async (pod, outer) => {
    const within = (): AbortSignal => {
      const late = AbortSignal.timeout(ASK_MS);
      return outer === undefined ? late : AbortSignal.any([outer, late]);
    };
    const answers = async (path: string, reason: string): Promise<Readiness | undefined> => {
      try {
        await client.raw({ path }, { signal: within() });
        return undefined;
      } catch (error) {
        outer?.throwIfAborted();
        return { ready: false, reason, message: `${path.split('?')[0]}: ${textOf(error)}` };
      }
    };
    const before = await mirrorPod(spec, pod, within());
    outer?.throwIfAborted();
    // Where the server does not answer, what follows says so.
    if (before.kind === 'other' || before.kind === 'missing') return before.readiness;
    const sick =
      (await answers('/healthz/etcd', 'EtcdUnhealthy')) ??
      (await answers(`/healthz?verbose=true${EXCLUDED}`, 'Unhealthy'));
    if (sick !== undefined) return sick;
    for (let count = 1; count <= ANSWERS; count += 1) {
      const notReady = await answers(`/readyz?verbose=true${EXCLUDED}`, 'NotReady');
      if (notReady !== undefined) return notReady;
      if (count < ANSWERS) await clock.sleep(intervalMs, outer === undefined ? {} : { signal: outer });
    }
    const after = await mirrorPod(spec, pod, within());
    outer?.throwIfAborted();
    return after.readiness;
  };
}

interface Mirror {
  /** `other`: of another revision. */
  readonly kind: 'ours' | 'other' | 'missing' | 'unknown';
  readonly readiness: Readiness;
}

async function mirrorPod(
  { client, nodeName, namespace: told }: ReadinessSpec,
  { namespace, name: podName, revision }: WatchedPod,
  signal: AbortSignal,
): Promise<Mirror> {
  const name = `${podName}-${nodeName}`;
  const not = (kind: Mirror['kind'], reason: string, message: string): Mirror => ({
    kind,
    readiness: { ready: false, reason, message: `pod ${name}${message}` },
  });
  try {
    const pod = await client.get(Pod, { namespace: told ?? namespace, name }, { signal });
    const found = pod.metadata.labels?.['revision'];
    if (found !== String(revision))
      return not('other', 'UnexpectedRevision', ` is of revision ${found}, expected ${revision}`);
    const ready = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    if (!ready) return not('ours', 'PodNotReady', ' has no condition Ready');
    return { kind: 'ours', readiness: { ready, reason: 'Ready', message: '' } };
  } catch (error) {
    return not(isNotFound(error) ? 'missing' : 'unknown', 'PodNotFound', `: ${textOf(error)}`);
  }
}
