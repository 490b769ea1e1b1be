import { setTimeout as sleep } from 'node:timers/promises';
import { Lease } from '@drydock/api';
import { type Client, isForbidden, isNotFound } from '@drydock/kube';
import { type Pause, pauseOf, pauseText } from './pause/pause.ts';
import { age } from './table.ts';

/** Namespaces in which a Lease of that role has a holder who renewed it within the hour: an operator there is not to be taken for none. Absent where there is none, or whoever asks may not look. */
interface LedElsewhere {
  readonly elsewhere?: readonly string[];
}

/** Who leads a role of the operator, as its Lease says. Paused: whoever leads ends what is under way, and nobody begins anything. */
export type Leadership =
  | { readonly state: 'led'; readonly holder: string; readonly since: string | undefined; readonly paused?: Pause }
  /** It was led until then, by `holder` where it was not given back. */
  | ({
      readonly state: 'vacant';
      readonly holder: string;
      readonly since: string | undefined;
      readonly paused?: Pause;
    } & LedElsewhere)
  | ({ readonly state: 'never' } & LedElsewhere)
  /** Whoever asks may not read the Lease. */
  | { readonly state: 'unread'; readonly why: string };

/** Which Lease. */
export interface LedRole {
  readonly role: string;
  readonly namespace: string;
}

/** A holder of the shortest usual Lease renews every two seconds; this long after a look, one that is there has done so. */
const LOOK_AGAIN_MS = 2500;
/** A holder renews at least that often within the duration of its Lease: see `RENEWAL_SHARE` of kube's leader. */
const RENEWALS = 8;
/** Clocks are not further apart than this. */
const APART_MS = 3_600_000;

/**
 * Reads the Lease. One that looks as if it had run out is looked at again for as long as its holder may take to renew it, because the clock of this machine may not be that of its holder. Rejects with the signal's reason.
 */
export async function leadershipOf(
  client: Pick<Client, 'get' | 'list'>,
  { role, namespace }: LedRole,
  options: {
    readonly signal?: AbortSignal | undefined;
    readonly now?: () => number;
    readonly pause?: typeof wait;
    /** Looks in this namespace alone, for accounts that may list no Leases. */
    readonly hereAlone?: boolean;
  } = {},
): Promise<Leadership> {
  const { signal, now = Date.now, pause = wait, hereAlone = false } = options;
  const read = async (): Promise<Lease> => {
    return client.get(Lease, { namespace, name: `drydock-${role}` }, { signal });
  };
  const pauseIn = (lease: Lease): { readonly paused?: Pause } => {
    const paused = pauseOf(lease, now());
    return paused === undefined ? {} : { paused };
  };
  try {
    const lease = await read();
    const first = lease.spec;
    const { holderIdentity: holder = '', acquireTime, renewTime, leaseDurationSeconds = 0 } = first ?? {};
    const paused = pauseIn(lease);
    if (holder === '')
      return {
        state: 'vacant',
        holder: '',
        since: renewTime,
        ...paused,
        ...(await ledElsewhere(client, { role, namespace }, { signal, now, hereAlone })),
      };
    const old = renewTime === undefined ? Number.POSITIVE_INFINITY : now() - Date.parse(renewTime);
    const current = Math.abs(old) <= leaseDurationSeconds * 1000;
    if (current) return { state: 'led', holder, since: acquireTime, ...paused };
    if (Math.abs(old) < APART_MS) {
      for (let waited = 0; waited <= (leaseDurationSeconds * 1000) / RENEWALS; waited += LOOK_AGAIN_MS) {
        await pause(LOOK_AGAIN_MS, signal);
        const again = await read();
        const second = again.spec;
        const next = second?.holderIdentity ?? '';
        if (next !== '' && second?.renewTime !== renewTime)
          return { state: 'led', holder: next, since: second?.acquireTime, ...pauseIn(again) };
      }
    }
    const others = await ledElsewhere(client, { role, namespace }, { signal, now, hereAlone });
    return { state: 'vacant', holder, since: renewTime, ...paused, ...others };
  } catch (error) {
    if (isNotFound(error))
      return { state: 'never', ...(await ledElsewhere(client, { role, namespace }, { signal, now, hereAlone })) };
    if (isForbidden(error)) return { state: 'unread', why: (error as Error).message };
    throw error;
  }
}

async function ledElsewhere(
  client: Pick<Client, 'list'>,
  { role, namespace: here }: LedRole,
  {
    signal,
    now,
    hereAlone,
  }: { readonly signal: AbortSignal | undefined; readonly now: () => number; readonly hereAlone: boolean },
): Promise<LedElsewhere> {
  if (hereAlone) return {};
  const name = `drydock-${role}`;
  const found: string[] = [];
  try {
    const leases = client.list(Lease, { fields: `metadata.name=${name}` }, signal === undefined ? {} : { signal });
    for await (const { metadata, spec } of leases) {
      const { namespace = here } = metadata;
      const { holderIdentity = '', renewTime = '' } = spec ?? {};
      const isLed = holderIdentity !== '' && Math.abs(now() - Date.parse(renewTime)) < APART_MS;
      if (metadata.name === name && namespace !== here && isLed) found.push(namespace);
    }
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
  return found.length === 0 ? {} : { elsewhere: found.toSorted() };
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal === undefined ? {} : { signal });
}

/** The namespace in which that role is led, where it is not the one that was asked about. */
export function elsewhereOf(leadership: Leadership): string | undefined {
  return leadership.state === 'never' || leadership.state === 'vacant' ? leadership.elsewhere?.[0] : undefined;
}

/** The pause that is asked for, where one is. */
export function pausedOf(leadership: Leadership): Pause | undefined {
  return leadership.state === 'led' || leadership.state === 'vacant' ? leadership.paused : undefined;
}

/** One sentence without its full stop: who leads what, and since when (without `now` as a time); or that nobody does, or is to. */
export function leadershipText(leadership: Leadership, what: string, now?: number): string {
  switch (leadership.state) {
    case 'led': {
      const { holder, paused } = leadership;
      const ends = paused === undefined ? '' : `, which ${is(what)} ${pauseText(paused, now)}`;
      return `${holder} leads ${what}${since(leadership.since, now)}${ends}`;
    }
    case 'vacant': {
      const { holder, paused } = leadership;
      if (paused !== undefined) return `nobody leads ${what}, which ${is(what)} ${pauseText(paused, now)}`;
      const elsewhere = elsewhereText(leadership, what);
      if (elsewhere !== undefined) return elsewhere;
      const before = holder === '' ? 'it was given back' : `${holder} led, and was not followed`;
      return `nobody leads ${what}${since(leadership.since, now)}: ${before}`;
    }
    case 'never':
      return elsewhereText(leadership, what) ?? `nobody has led ${what} yet`;
    case 'unread':
      return `who leads ${what} cannot be read: ${leadership.why}`;
  }
}

function elsewhereText({ elsewhere = [] }: LedElsewhere, what: string): string | undefined {
  const [first] = elsewhere;
  if (first === undefined) return undefined;
  return `nobody leads ${what} here: their Lease is in namespace ${elsewhere.join(' and ')} (--lease-namespace ${first})`;
}

function since(time: string | undefined, now: number | undefined): string {
  const old = age(time, now);
  return old === '' ? '' : ` since ${old}`;
}

function is(what: string): string {
  return what.endsWith('s') ? 'are' : 'is';
}
