import { shortText, shownText } from '@drydock/api/text';
import { type Skip, skip } from '../decide/decide.ts';
import { kindOf, machineSets, setText } from '../observe/kept-set.ts';
import type { PlatformInput } from '../platform.ts';
import { rfc3339 } from '../status/conditions.ts';
import type { SetOutcome } from '../status/subject.ts';
import type { SetPolicy } from './set-policy.ts';
import { windowsAt } from './windows.ts';

/** A set that waits. */
export type Waiting = Extract<SetOutcome, { readonly kind: 'waiting' }>;

/** Longest reason that a table cell shows, in UTF-16 units. */
const CELL = 60;

/** Why nothing may be begun about a set now, although its image should be another one; undefined where something may. A person who pinned the set decided when, too. */
export function heldByPolicy(
  { input: { set, pin }, policy }: { readonly input: Pick<PlatformInput, 'set' | 'pin'>; readonly policy?: SetPolicy },
  now: Date,
): Skip | Waiting | undefined {
  if (policy === undefined || pin !== undefined) return undefined;
  const { name, spec, read } = policy;
  const { hold } = spec;
  if (hold !== undefined && (read.heldUntil === undefined || now.getTime() < read.heldUntil)) {
    const until = hold.until === undefined ? '' : ` until ${hold.until}`;
    const why = shownText(hold.reason);
    return skip(
      kindOf(set) === machineSets,
      'Held',
      shortText(`held${until}: ${why}`, CELL),
      `${setText(set)} is held${until} by bootimagepolicy ${name}: ${why}`,
      { nextStep: `to let it move, take spec.hold off: kubectl edit bootimagepolicy ${name}` },
    );
  }
  const state = windowsAt(read.windows, now.getTime());
  if (state.open) return undefined;
  const opens = rfc3339(new Date(state.opens));
  const zone = state.zone === 'UTC' ? '' : `, ${localTime(state.opens, state.zone)} in ${state.zone}`;
  return {
    kind: 'waiting',
    phase: 'Pending',
    reason: 'WaitsForWindow',
    brief: `window opens ${opens}`,
    message: `${setText(set)} waits for the next window of bootimagepolicy ${name}, which opens at ${opens}${zone}`,
    nextStep: `to have it moved before, change spec.windows: kubectl edit bootimagepolicy ${name}`,
  };
}

function localTime(time: number, timeZone: string): string {
  return new Date(time).toLocaleString('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
}

/** The ms after which one of these policies may decide otherwise because of the time alone; undefined where none does. */
export function nextTurn(policies: Iterable<SetPolicy>, now: Date): number | undefined {
  const time = now.getTime();
  const times: number[] = [];
  for (const { read } of policies) {
    if (read.heldUntil !== undefined && read.heldUntil > time) times.push(read.heldUntil);
    const state = windowsAt(read.windows, time);
    if (!state.open) times.push(state.opens);
  }
  const next = Math.min(...times);
  return Number.isFinite(next) ? Math.max(1, next - time) : undefined;
}
