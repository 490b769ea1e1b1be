import { setTimeout as sleep } from 'node:timers/promises';
import { Payload } from '@drydock/api';
import type { KubeClient } from '@drydock/kube';
import type { ReleaseRoleOptions, RollbackPlan } from '@drydock/release';
import { pino } from 'pino';
import { type ReleaseFlags, releaseRoleParts } from '../release-role.ts';
import { statusKeeping } from '../status-keeping.ts';
import { processHolder } from '../template/holder.ts';
import { sayError } from '../terminal.ts';
import { VERSION } from '../version.ts';

/** How a way ended. */
export interface WayEnd {
  readonly result: 'done' | 'incomplete' | 'refused' | 'moved';
  readonly message: string;
}

/** ms between two looks at a Payload. */
const LOOK = 500;

/** Looks at a Payload until its way has ended, whoever goes it. Rejects with `ApiError`, and with the signal's reason. */
export async function wayEnd(
  client: Pick<KubeClient, 'get'>,
  { name, to, generation }: { readonly name: string; readonly to: string; readonly generation: number },
  { tell, signal }: { readonly tell: (text: string) => void; readonly signal: AbortSignal },
): Promise<WayEnd> {
  let told = '';
  for (;;) {
    const { status = {} } = await client.get(Payload, { name }, { signal });
    const of = (type: string) => status.conditions?.find((one) => one.type === type);
    const [head] = status.history ?? [];
    if ((status.observedGeneration ?? 0) >= generation) {
      const accepted = of('ReleaseAccepted');
      if (accepted?.status === 'False') return { result: 'refused', message: accepted.message ?? '' };
      const incomplete = of('RollbackIncomplete');
      if (head?.version === to && incomplete?.status === 'True')
        return { result: 'incomplete', message: incomplete.message ?? '' };
      const progressing = of('Progressing');
      if (head?.version === to && head.state === 'Completed' && progressing?.status === 'False')
        return { result: 'done', message: `Payload ${name} is back at ${to}.` };
      const failing = of('Failing');
      const says = failing?.status === 'True' ? failing.message : progressing?.message;
      if (says !== undefined && says !== told) {
        told = says;
        tell(says);
      }
    }
    await sleep(LOOK, undefined, { signal });
  }
}

/**
 * Does what an operator does, under its Lease, until `work` is over, or something else would be done than the plan says. Rejects where the Lease is lost, and with what `work` rejects with.
 */
export async function leadRelease(
  flags: ReleaseFlags,
  {
    client,
    plan,
    work,
    signal,
  }: {
    readonly client: KubeClient;
    readonly plan: RollbackPlan;
    readonly work: (signal: AbortSignal) => Promise<WayEnd>;
    readonly signal: AbortSignal;
  },
): Promise<WayEnd> {
  const { eventRecorder, kubeMetrics, leaderElection, run, statusChannel, systemClock } = await import('@drydock/kube');
  const log = pino({ level: 'warn' }, { write: warning });
  const metrics = kubeMetrics();
  const stop = new AbortController();
  await using closing = new AsyncDisposableStack();
  const events = closing.use(eventRecorder({ client, controller: 'drydock.dev/status', log }));
  const channel = statusChannel({ registry: metrics.registry, events });
  const namespace = flags.leaseNamespace;
  const statuses = statusKeeping('release', {
    ...{ client, namespace, channel, events, log, clock: systemClock, release: `drydock ${VERSION}` },
  });
  const kept = await keptApply(plan);
  const parts = await releaseRoleParts({ flags, client, metrics, log, apply: kept.apply });
  const part = await parts(statuses, closing);
  const identity = processHolder().identity.replace('cli/', 'rollback/');
  const leader = leaderElection({ client, namespace, name: 'drydock-release', identity, log });
  const running = closing.use(
    await run({ client, ...part, leader, metrics, log, signal: AbortSignal.any([signal, stop.signal]) }),
  );
  const lost = running.finished.then((): never => {
    throw new Error('the Lease drydock-release was lost: the same command goes on');
  });
  try {
    return await Promise.race([work(AbortSignal.any([signal, stop.signal])), kept.moved, lost]);
  } finally {
    stop.abort(new Error('it is over'));
    lost.catch(() => undefined);
  }
}

/** Applies the release of a plan by that plan alone, and anything else as it is; `moved` is told once where the plan does not say what would be done. */
async function keptApply({ owner, to, applied }: RollbackPlan): Promise<{
  readonly apply: ReleaseRoleOptions['apply'];
  readonly moved: Promise<WayEnd>;
}> {
  const { applyPayload, keptTo } = await import('@drydock/release');
  const agreed = keptTo(applied);
  const { promise, resolve } = Promise.withResolvers<WayEnd>();
  return {
    moved: promise,
    apply: (wish, ports) => {
      if (wish.owner.name !== owner || wish.payload.version !== to || wish.mode !== 'updating')
        return applyPayload(wish, ports);
      return applyPayload(wish, {
        ...ports,
        objection: (...step) => {
          const why = agreed(...step);
          if (why !== undefined)
            resolve({
              result: 'moved',
              message: `The world moved since the plan, and this has ended: ${why}. What is done stays, and ${owner} goes on asking for ${to}: an operator, or this command with a new plan, goes on.`,
            });
          return why;
        },
      });
    },
  };
}

function warning(entry: string): void {
  const { msg, err } = JSON.parse(entry) as { readonly msg?: string; readonly err?: { readonly message?: string } };
  sayError(`warning: ${msg ?? 'something went wrong'}${err?.message === undefined ? '' : `: ${err.message}`}`);
}
