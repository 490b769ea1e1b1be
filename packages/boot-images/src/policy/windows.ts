import type { BootImagePolicySpecWindow } from '@drydock/api';
import { durationMs } from '@drydock/api/duration';
import { parseSchedule, type Schedule } from './cron.ts';

/** A maintenance window that can be followed. */
export interface Window {
  readonly schedule: Schedule;
  readonly durationMs: number;
  /** Name in the time zone database, or an offset such as +01:00. */
  readonly zone: string;
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
/** Days after which the calendar and the weekdays have met in every way, over a year without a leap day. */
const CYCLE_DAYS = 40 * 366;

/** Throws {@link WindowFault} with a sentence that says what is wrong. */
export function windowOf(spec: BootImagePolicySpecWindow): Window {
  const { schedule, duration, timeZone: zone = 'UTC' } = spec;
  const length = durationMs(duration);
  if (length === undefined || length === 0 || length > LONGEST_MS)
    throw new WindowFault('WindowInvalid', `duration "${duration}" of window "${schedule}" is none from 1m to 168h`);
  const parsed = tried(() => parseSchedule(schedule), `schedule "${schedule}"`);
  tried(() => checkZone(zone), `time zone "${zone}" of window "${schedule}"`);
  if (nextDay(parsed, new Temporal.PlainDate(1970, 1, 1)) === undefined)
    throw new WindowFault('WindowNeverOpens', `window "${schedule}" never opens: no calendar has such a day`);
  return { schedule: parsed, durationMs: length, zone };
}

/** Throws `RangeError` for what is no time zone: Temporal alone also takes whole timestamps with a zone in them. */
function checkZone(zone: string): void {
  new Date(0).toLocaleString('en-US', { timeZone: zone });
  dateAt(0, zone);
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
    .map((window) => ({ open: false as const, opens: nextOpening(window, time), zone: window.zone }))
    .toSorted((a, b) => a.opens - b.opens);
  return first ?? { open: true, until };
}

/** The last time that it opened; undefined where that is longer ago than it stays open. */
function lastOpening(window: Window, time: number): number | undefined {
  const today = dateAt(time, window.zone);
  const days = Math.ceil(window.durationMs / DAY_MS) + 1;
  for (let back = 0; back <= days; back += 1) {
    const opened = openingsOn(today.subtract({ days: back }), window).findLast((at) => at <= time);
    if (opened !== undefined) return opened;
  }
  return undefined;
}

function nextOpening(window: Window, time: number): number {
  const { schedule, zone } = window;
  let day = nextDay(schedule, dateAt(time, zone));
  while (day !== undefined) {
    // The least: a time that the clock jumps over comes after some that it does not.
    const opens = Math.min(...openingsOn(day, window).filter((at) => at > time));
    if (Number.isFinite(opens)) return opens;
    day = nextDay(schedule, day.add({ days: 1 }));
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * The times at which it opens on a day, by the clock of its zone. A time that the clock shows twice is the first of both; one that it jumps over is as long after midnight as the clock would have
 * been right without the jump.
 */
function openingsOn(day: Temporal.PlainDate, { schedule, zone }: Window): readonly number[] {
  if (!schedule.on(day)) return [];
  const clock = (minute: number): Temporal.PlainDateTime =>
    day.toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60 });
  return schedule.minutes.map((minute) => clock(minute).toZonedDateTime(zone).epochMilliseconds);
}

/** The first day from this one on on which it opens. */
function nextDay(schedule: Schedule, from: Temporal.PlainDate): Temporal.PlainDate | undefined {
  for (let ahead = 0; ahead < CYCLE_DAYS; ahead += 1) {
    const day = from.add({ days: ahead });
    if (schedule.on(day)) return day;
  }
  return undefined;
}

function dateAt(time: number, zone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(zone).toPlainDate();
}
