import { setTimeout as sleep } from 'node:timers/promises';
import { Lease } from '@drydock/api';
import { type Client, isForbidden, isNotFound } from '@drydock/kube';
import { age } from './table.ts';

/** Who leads a role of the operator, as its Lease says. */
export type Leadership =
  | { readonly state: 'led'; readonly holder: string; readonly since: string | undefined }
  /** It was led until then, by `holder` where it was not given back. */
  | { readonly state: 'vacant'; readonly holder: string; readonly since: string | undefined }
  | { readonly state: 'never' }
  /** Whoever asks may not read the Lease. */
  | { readonly state: 'unread'; readonly why: string };

/** Which Lease. */
export interface LedRole {
  readonly role: string;
  readonly namespace: string;
}

/** A holder renews every two seconds; this long after a first look, one that is there has done so. */
const SECOND_LOOK_MS = 2500;
/** Clocks are not further apart than this. */
const APART_MS = 3_600_000;

/**
 * Reads the Lease. One that looks as if it had run out is looked at twice, because the clock of this machine may not be that of its holder. Rejects with the signal's reason.
 */
export async function leadershipOf(
  client: Pick<Client, 'get'>,
  { role, namespace }: LedRole,
  options: { readonly signal?: AbortSignal; readonly now?: () => number; readonly pause?: typeof wait } = {},
): Promise<Leadership> {
  const { signal, now = Date.now, pause = wait } = options;
  const read = async (): Promise<Lease['spec']> => {
    const call = signal === undefined ? {} : { signal };
    return (await client.get(Lease, { namespace, name: `drydock-${role}` }, call)).spec ?? {};
  };
  try {
    const first = await read();
    const { holderIdentity: holder = '', acquireTime, renewTime, leaseDurationSeconds = 0 } = first ?? {};
    if (holder === '') return { state: 'vacant', holder: '', since: renewTime };
    const old = renewTime === undefined ? Number.POSITIVE_INFINITY : now() - Date.parse(renewTime);
    const current = Math.abs(old) <= leaseDurationSeconds * 1000;
    if (current) return { state: 'led', holder, since: acquireTime };
    if (Math.abs(old) < APART_MS) {
      await pause(SECOND_LOOK_MS, signal);
      const second = await read();
      const next = second?.holderIdentity ?? '';
      if (next !== '' && second?.renewTime !== renewTime)
        return { state: 'led', holder: next, since: second?.acquireTime };
    }
    return { state: 'vacant', holder, since: renewTime };
  } catch (error) {
    if (isNotFound(error)) return { state: 'never' };
    if (isForbidden(error)) return { state: 'unread', why: (error as Error).message };
    throw error;
  }
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal === undefined ? {} : { signal });
}

/** One sentence without its full stop: who leads what, and since when; or that nobody does. */
export function leadershipText(leadership: Leadership, what: string, now: number): string {
  switch (leadership.state) {
    case 'led':
      return `${leadership.holder} leads ${what}${since(leadership.since, now)}`;
    case 'vacant': {
      const { holder } = leadership;
      const before = holder === '' ? 'it was given back' : `${holder} led, and was not followed`;
      return `nobody leads ${what}${since(leadership.since, now)}: ${before}`;
    }
    case 'never':
      return `nobody has led ${what} yet`;
    case 'unread':
      return `who leads ${what} cannot be read: ${leadership.why}`;
  }
}

function since(time: string | undefined, now: number): string {
  const old = age(time, now);
  return old === '' ? '' : ` since ${old}`;
}
