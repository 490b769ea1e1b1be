import { execFile } from 'node:child_process';
import http from 'node:http';
import https from 'node:https';
import { getCACertificates } from 'node:tls';
import { promisify } from 'node:util';
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

/** Of what a command prints (bytes); one that prints more is not ready. */
const MOST_OUTPUT = 64 * 1024;

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
  return besidePod(spec, async (outer) => {
    const answers = async (path: string, reason: string): Promise<Readiness | undefined> =>
      asked(reason, path.split('?')[0] ?? '', outer, (signal) => client.raw({ path }, { signal }));
    const sick =
      (await answers('/healthz/etcd', 'EtcdUnhealthy')) ??
      (await answers(`/healthz?verbose=true${EXCLUDED}`, 'Unhealthy'));
    if (sick !== undefined) return sick;
    for (let count = 1; count <= ANSWERS; count += 1) {
      const notReady = await answers(`/readyz?verbose=true${EXCLUDED}`, 'NotReady');
      if (notReady !== undefined) return notReady;
      if (count < ANSWERS) await clock.sleep(intervalMs, outer === undefined ? {} : { signal: outer });
    }
    return undefined;
  });
}

/** Whether the mirror pod is of the revision and Ready, which is what kubelet's own probes say. */
export function askPod(spec: ReadinessSpec): MonitorEnvironment['ready'] {
  return besidePod(spec, async () => undefined);
}

/** The same, and an address answers with 200 to 399, as kubelet's probes want it. `ca`: PEM by which an https address is verified besides the system's. */
export function askAddress(spec: ReadinessSpec, address: URL, ca?: string): MonitorEnvironment['ready'] {
  return besidePod(spec, (outer) =>
    asked('ProbeFailed', address.href, outer, async (signal) => {
      const trust = ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] };
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const get = address.protocol === 'https:' ? https.get : http.get;
      get(address, { ...trust, signal, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      }).on('error', reject);
      const status = await promise;
      if (status < 200 || status >= 400) throw new Error(`it answers ${status}`);
    }),
  );
}

/** The same, and a command on this node ends with 0. */
export function askCommand(spec: ReadinessSpec, [file = '', ...args]: readonly string[]): MonitorEnvironment['ready'] {
  return besidePod(spec, (outer) =>
    asked('ProbeFailed', file, outer, (signal) =>
      promisify(execFile)(file, args, { signal, killSignal: 'SIGKILL', maxBuffer: MOST_OUTPUT }),
    ),
  );
}

/** Asks between two looks at the mirror pod: what answers before it is of the revision is the one before. */
function besidePod(
  spec: ReadinessSpec,
  probe: (outer: AbortSignal | undefined) => Promise<Readiness | undefined>,
): MonitorEnvironment['ready'] {
  return async (pod, outer) => {
    const before = await mirrorPod(spec, pod, within(outer));
    outer?.throwIfAborted();
    // Where the server does not answer, what follows says so.
    if (before.kind === 'other' || before.kind === 'missing') return before.readiness;
    const not = await probe(outer);
    if (not !== undefined) return not;
    const after = await mirrorPod(spec, pod, within(outer));
    outer?.throwIfAborted();
    return after.readiness;
  };
}

function within(outer: AbortSignal | undefined): AbortSignal {
  const late = AbortSignal.timeout(ASK_MS);
  return outer === undefined ? late : AbortSignal.any([outer, late]);
}

async function asked(
  reason: string,
  what: string,
  outer: AbortSignal | undefined,
  ask: (signal: AbortSignal) => Promise<unknown>,
): Promise<Readiness | undefined> {
  try {
    await ask(within(outer));
    return undefined;
  } catch (error) {
    outer?.throwIfAborted();
    return { ready: false, reason, message: `${what}: ${textOf(error)}` };
  }
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
