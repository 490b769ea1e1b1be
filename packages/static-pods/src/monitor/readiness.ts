import type { KubeClient } from '@drydock/kube';
import { textOf } from '../revision/environment.ts';
import { Pod } from '../revision/pod.ts';
import type { Readiness } from './monitor-step.ts';

/** Whom to ask. */
export interface ReadinessSpec {
  readonly client: KubeClient;
  readonly target: string;
  readonly nodeName: string;
  readonly revision: number;
  /** Where the static pod's mirror pod lies; without it only the server's own answer counts. */
  readonly namespace?: string;
}

/** How long (ms) one question may take. */
const ASK_MS = 5_000;

/**
 * Whether a static API server is ready: `/readyz` answers, and the mirror pod `<target>-<node>` is of the revision and Ready. A server that does not answer is
 * not ready; that is no failure of the question.
 */
export function askServer(spec: ReadinessSpec): (signal?: AbortSignal) => Promise<Readiness> {
  const { client, target, nodeName, revision, namespace } = spec;
  return async (outer) => {
    const late = AbortSignal.timeout(ASK_MS);
    const signal = outer === undefined ? late : AbortSignal.any([outer, late]);
    try {
      await client.raw({ path: '/readyz' }, { signal });
    } catch (error) {
      outer?.throwIfAborted();
      return { ready: false, reason: 'NotReady', message: `/readyz: ${textOf(error)}` };
    }
    if (namespace === undefined) return { ready: true, reason: 'Ready', message: '' };
    const name = `${target}-${nodeName}`;
    try {
      const pod = await client.get(Pod, { namespace, name }, { signal });
      const found = pod.metadata.labels?.['revision'];
      if (found !== String(revision))
        return {
          ready: false,
          reason: 'UnexpectedRevision',
          message: `pod ${name} is of revision ${found}, expected ${revision}`,
        };
      const ready = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
      return ready
        ? { ready, reason: 'Ready', message: '' }
        : { ready, reason: 'PodNotReady', message: `pod ${name} has no condition Ready` };
    } catch (error) {
      outer?.throwIfAborted();
      return { ready: false, reason: 'PodNotFound', message: `pod ${name}: ${textOf(error)}` };
    }
  };
}
