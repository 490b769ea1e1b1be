import { createVerdict } from '@drydock/boot-images';
import { type Client, type Clock, isForbidden, type Service } from '@drydock/kube';
import type { Logger } from 'pino';
import { leadershipOf } from './leadership.ts';
import { VERSION } from './version.ts';

/** What taking off an orphaned verdict needs. */
export interface OrphanedVerdictOptions {
  readonly client: Client;
  /** Name of the ClusterOperator. */
  readonly name: string;
  readonly leaseNamespace: string;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly clock: Clock;
}

const LOOK_AGAIN_MS = 600_000;

/**
 * Takes the ClusterOperator off when nobody leads the role that writes it: a role that was turned off would otherwise hold up
 * minor upgrades for ever. For processes that do not have that role.
 */
export function orphanedVerdict(options: OrphanedVerdictOptions): Service {
  const { client, name, leaseNamespace, log, clock } = options;
  const warn = (message: string): void => log.warn({}, message);
  const verdict = createVerdict({ client, own: { name, version: VERSION }, now: () => new Date(), warn });
  return {
    name: 'orphaned-verdict',
    run: async (signal) => {
      for (; !signal.aborted; await clock.sleep(LOOK_AGAIN_MS, { background: true, signal }).catch(() => undefined)) {
        try {
          const leader = await leadershipOf(
            client,
            { role: 'boot-images', namespace: leaseNamespace },
            { signal, hereAlone: true },
          );
          if (leader.state === 'led' || leader.state === 'unread') continue;
          await verdict.remove({ signal });
        } catch (error) {
          if (signal.aborted) return;
          const next = isForbidden(error) ? `: kubectl delete clusteroperator ${name} --ignore-not-found` : '';
          log.warn({ err: error }, `the verdict of a role that does not run cannot be taken off${next}`);
        }
      }
    },
  };
}
