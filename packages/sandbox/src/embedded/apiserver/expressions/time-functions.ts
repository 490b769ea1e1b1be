import { EvaluationError } from './expression-errors.ts';
import { type Duration, NANOS_PER_SECOND, type Timestamp } from './expression-times.ts';
import type { Functions } from './function-overloads.ts';

const GETTERS: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

const millis = ({ nanos }: Timestamp): number => Number(nanos / 1_000_000n);

/** Functions of timestamps and durations. */
export const TIME_FUNCTIONS: Functions = {
  ...Object.fromEntries(
    Object.entries(GETTERS).flatMap(([name, get]) => [
      [`timestamp.${name}():int`, (a: Timestamp) => BigInt(get(new Date(millis(a))))],
      [
        `timestamp.${name}(string):int`,
        (a: Timestamp, zone: string) => BigInt(get(new Date(millis(a) + zoneOffset(zone, millis(a))))),
      ],
    ]),
  ),
  'duration.getHours():int': (a: Duration) => a.nanos / (3600n * NANOS_PER_SECOND),
  'duration.getMinutes():int': (a: Duration) => a.nanos / (60n * NANOS_PER_SECOND),
  'duration.getSeconds():int': (a: Duration) => a.nanos / NANOS_PER_SECOND,
  'duration.getMilliseconds():int': (a: Duration) => a.nanos / 1_000_000n,
};

/** The offset (ms) of a time zone from UTC at a time (ms since 1970). */
function zoneOffset(zone: string, at: number): number {
  const [, sign, hours = '0', minutes = '0'] = /^([-+]?)(\d{2}):(\d{2})$/.exec(zone) ?? [];
  if (sign !== undefined) return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone, year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' },
    });
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
  } catch {
    throw new EvaluationError(`unknown time zone ${zone}`);
  }
}
