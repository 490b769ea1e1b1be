import { Lease, Namespace } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import { isForbidden, isNotFound, type KubeClient, leaderElection } from '@drydock/kube';
import { type Logger, pino } from 'pino';
import { UsageError } from './exit.ts';
import { processHolder } from './template/holder.ts';
import { sayError } from './terminal.ts';

/** As what a process leads that carries out a plan: a leader like an operator, so that the next one knows at once that it is dead. */
const LEADS = 'apply/';

/** How long (ms) the Lease of a dead process is waited for: as long as it lasts, and a little longer; but no less than that. */
const LEASE_WAIT_MS = 30_000;
const LONGER_MS = 5_000;

/** Whether a leader is a process of this machine that carried out a plan, and does not run any more. */
export function isDead(holder: string): boolean {
  return holder.startsWith(LEADS) && processHolder().isLive(`cli/${holder.slice(LEADS.length)}`) === false;
}

/** What somebody has who leads. */
export interface Led {
  readonly leader: ReturnType<typeof leaderElection>;
  readonly log: Logger;
  /** Ends with the caller's, and where the Lease is lost. */
  readonly signal: AbortSignal;
}

/** Takes the Lease of a role of the operator, works and gives it back. Undefined where it could not be had, or was lost; rejects with what `work` rejects with, with the signal's reason where nothing came of it, and with `UsageError` where its namespace is not there. */
export async function underLease<T>(
  work: (led: Led) => Promise<T>,
  options: {
    readonly client: KubeClient;
    readonly role: string;
    readonly namespace: string;
    readonly signal: AbortSignal;
  },
): Promise<T | undefined> {
  const { client, role, namespace, signal } = options;
  try {
    await client.get(Namespace, { name: namespace }, { signal });
  } catch (error) {
    if (isNotFound(error))
      throw new UsageError(
        `there is no namespace ${namespace} for the Lease drydock-${role}, and nothing was changed: name one with --lease-namespace`,
      );
    if (!isForbidden(error)) throw error;
  }
  const log = pino({ level: 'warn' }, { write: warning });
  const identity = processHolder().identity.replace('cli/', LEADS);
  const leader = leaderElection({ client, namespace, name: `drydock-${role}`, identity, log });
  const patience = new AbortController();
  const lasts = await client.get(Lease, { namespace, name: `drydock-${role}` }, { signal }).then(
    ({ spec }) => (spec?.leaseDurationSeconds ?? 0) * 1_000,
    () => 0,
  );
  const timer = setTimeout(() => patience.abort(), Math.max(LEASE_WAIT_MS, lasts + LONGER_MS));
  let outcome: T | undefined;
  try {
    const lead = async (held: AbortSignal): Promise<void> => {
      clearTimeout(timer);
      outcome = await work({ leader, log, signal: AbortSignal.any([signal, held]) });
    };
    await leader.run(lead, AbortSignal.any([signal, patience.signal]));
  } finally {
    clearTimeout(timer);
  }
  if (outcome === undefined) signal.throwIfAborted();
  return outcome;
}

/** What the log of the parts has to say to a person. */
function warning(entry: string): void {
  const { msg, err } = JSON.parse(entry) as { readonly msg?: string; readonly err?: { readonly message?: string } };
  sayError(oneLine(`warning: ${msg ?? 'something went wrong'}${err?.message === undefined ? '' : `: ${err.message}`}`));
}
