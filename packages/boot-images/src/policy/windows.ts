import type { BootImagePolicySpecWindow } from '@drydock/api';
import { parseSchedule, type Schedule } from './cron.ts';
import { durationMs } from './duration.ts';
import { type TimeZone, timeZone } from './time-zone.ts';

/** A maintenance window that can be followed. */
export interface Window {
  readonly schedule: Schedule;
  readonly durationMs: number;
  readonly zone: TimeZone;
}

/** Whether something may be begun; times in ms. */
export type WindowState =
  | { readonly open: true; readonly until: number }
  | { readonly open: false; readonly opens: number; readonly zone: string };

/** Why a window cannot be followed. */
export class WindowFault extends RangeError {
  readonly reason: 'WindowInvalid' | 'WindowNeverOpens';

  constructor(reason: WindowFault['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

const DAY_MS = 86_400_000;
/** The longest that a window may be open. */
const LONGEST_MS = 7 * DAY_MS;
/** How far a jump of the clock can move a time of the day, in minutes. */
const JUMP = 180;
/** Days after which the calendar and the weekdays have met in every way, over a year without a leap day. */
const CYCLE_DAYS = 40 * 366;

/** Throws {@link WindowFault} with a sentence that says what is wrong. */
export function windowOf(spec: BootImagePolicySpecWindow): Window {
  const { schedule, duration, timeZone: zone = 'UTC' } = spec;
  const length = durationMs(duration);
  if (length === undefined || length === 0 || length > LONGEST_MS)
    throw new WindowFault('WindowInvalid', `duration "${duration}" of window "${schedule}" is none from 1m to 168h`);
  const parsed = tried(() => parseSchedule(schedule), `schedule "${schedule}"`);
  const found = tried(() => timeZone(zone), `time zone "${zone}" of window "${schedule}"`);
  const window = { schedule: parsed, durationMs: length, zone: found };
  if (nextDay(parsed, 0) === undefined)
    throw new WindowFault('WindowNeverOpens', `window "${schedule}" never opens: no calendar has such a day`);
  return window;
}

function tried<T>(read: () => T, what: string): T {
  try {
    return read();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new WindowFault('WindowInvalid', `${what}: ${why}`);
  }
}

/** Whether one of them is open, until when, or which opens next. Always open without any. */
export function windowsAt(windows: readonly Window[], time: number): WindowState {
  if (windows.length === 0) return { open: true, until: Number.POSITIVE_INFINITY };
  const until = Math.max(
    ...windows.map((window) => (lastOpening(window, time) ?? Number.NEGATIVE_INFINITY) + window.durationMs),
  );
  if (until > time) return { open: true, until };
  const [first] = windows
    .map((window) => ({ open: false as const, opens: nextOpening(window, time), zone: window.zone.name }))
    .toSorted((a, b) => a.opens - b.opens);
  return first ?? { open: true, until };
}

/** The last time that it opened; undefined where that is longer ago than it stays open. */
function lastOpening({ schedule, durationMs: length, zone }: Window, time: number): number | undefined {
  const now = zone.wallAt(time);
  const days = Math.ceil(length / DAY_MS) + 1;
  for (let back = 0; back <= days; back += 1) {
    const day = now.day - back;
    if (!schedule.on(dateOf(day))) continue;
    const opened = schedule.minutes
      .filter((minute) => back > 0 || minute <= now.minute + JUMP)
      .toReversed()
      .map((minute) => () => zone.timeOf({ day, minute }));
    for (const at of opened) {
      const found = at();
      if (found <= time) return found;
    }
  }
  return undefined;
}

function nextOpening({ schedule, zone }: Window, time: number): number {
  const now = zone.wallAt(time);
  for (let from = now.day; ; ) {
    const day = nextDay(schedule, from);
    if (day === undefined) return Number.POSITIVE_INFINITY;
    let found: number | undefined;
    let beyond = Number.POSITIVE_INFINITY;
    for (const minute of schedule.minutes) {
      if (day === now.day && minute < now.minute - JUMP) continue;
      // A time that the clock jumps over comes after some that it does not.
      if (minute > beyond) break;
      const at = zone.timeOf({ day, minute });
      if (at <= time) continue;
      if (found === undefined) beyond = minute + JUMP;
      found = Math.min(found ?? at, at);
    }
    if (found !== undefined) return found;
    from = day + 1;
  }
}

/** The first day from this one on on which it opens. */
function nextDay(schedule: Schedule, from: number): number | undefined {
  for (let day = from; day < from + CYCLE_DAYS; day += 1) if (schedule.on(dateOf(day))) return day;
  return undefined;
}

function dateOf(day: number): Parameters<Schedule['on']>[0] {
  const date = new Date(day * DAY_MS);
  return { month: date.getUTCMonth() + 1, day: date.getUTCDate(), weekday: date.getUTCDay() };
}
