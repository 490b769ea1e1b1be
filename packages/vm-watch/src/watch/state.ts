import { isVimError, type VimError, type VimErrorCode } from '@drydock/vsphere';

/**
 * Where a watch is.
 *
 * ```
 *  idle ─▶ connecting ─▶ syncing ─▶ live ◀─▶ resuming      same collector, same version
 *   ▲          ▲                     │
 *   └──────────┴── backoff ◀── rebuilding ◀┘               new session objects, a full pass
 * ```
 */
export type WatchStateName =
  | 'idle'
  | 'connecting'
  | 'syncing'
  | 'live'
  | 'resuming'
  | 'rebuilding'
  | 'backoff'
  | 'stopped';

/** A state, with why and since when. */
export interface WatchState {
  readonly name: WatchStateName;
  /** By the clock of the supervisor, in milliseconds. */
  readonly since: number;
  /** What went wrong, for a person; absent where nothing did. */
  readonly reason?: string;
  /** When the next attempt is due, by the same clock; only in `backoff`. */
  readonly until?: number;
}

/** What an error asks for. `resume`: the same question again. `rebuild`: what the session held is gone. `refused`: nothing helps but another credential or another trust. */
export type Remedy = 'resume' | 'rebuild' | 'refused';

const REFUSED: ReadonlySet<string> = new Set<VimErrorCode>([
  'VIM_LOGIN_REFUSED',
  'VIM_LOGIN_LIMIT',
  'VIM_LOGIN_WITHHELD',
  'VIM_TLS_UNTRUSTED',
  'VIM_NO_PERMISSION',
]);

/** Which remedy an error of a wait or of opening a watch asks for. An error that is not from vCenter is a defect, and ends what it met. */
export function remedyFor(error: unknown): Remedy {
  if (!isVimError(error)) return 'rebuild';
  if (REFUSED.has(error.code)) return 'refused';
  if (isLost(error)) return 'rebuild';
  return error.kind === 'fault' && !error.retriable ? 'rebuild' : 'resume';
}

/** The collector, its views or the session are gone. */
function isLost(error: VimError): boolean {
  if (error.code === 'VIM_NOT_AUTHENTICATED' || error.code === 'VIM_GONE') return true;
  return error.fault?.is('InvalidCollectorVersion') === true;
}

/** Milliseconds before the n-th repetition, n from 1: what was refused needs a person, everything else is cheap to ask again. */
export function delayBefore(remedy: Remedy, attempt: number, random: () => number): number {
  if (remedy === 'refused') return Math.min(5 * 60_000, 5_000 * 2 ** (attempt - 1));
  const most = Math.min(30_000, 200 * 2 ** (attempt - 1));
  return most / 2 + (random() * most) / 2;
}
