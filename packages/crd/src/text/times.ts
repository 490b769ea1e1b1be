import { goDuration } from '@drydock/api/duration';

/** Units that strfmt takes besides, in any case; a word is known by its beginning. */
const LOOSE_UNITS: readonly (readonly [RegExp, bigint])[] = [
  [/^(?:ns$|nano)/, 1n],
  [/^(?:us$|µs$|micro)/, 1_000n],
  [/^(?:ms$|milli)/, 1_000_000n],
  [/^(?:s$|sec)/, 1_000_000_000n],
  [/^(?:m$|min)/, 60_000_000_000n],
  [/^(?:h$|hr$|hour)/, 3_600_000_000_000n],
  [/^(?:d$|day)/, 86_400_000_000_000n],
  [/^(?:w$|wk$|week)/, 604_800_000_000_000n],
];
const INT64 = 2n ** 63n - 1n;

/** The nanoseconds of a text of format `duration` (kube-openapi, strfmt.ParseDuration): Go's notation, or numbers with a unit behind them anywhere in the text, as in `about 3 days`. Undefined: it is none. */
export function durationOf(text: string): bigint | undefined {
  return goDuration(text) ?? looseDuration(text);
}

function looseDuration(text: string): bigint | undefined {
  let sum: bigint | undefined;
  let number = '';
  // Piece by piece: one expression for all of it would look at a long row of digits from each of them.
  for (const [piece] of text.matchAll(/\d+|[\t\n\f\r ]+|[A-Za-zµ]+|[^\d\t\n\f\r A-Za-zµ]+/g)) {
    if (/^\d/.test(piece)) number = piece;
    else if (/^[A-Za-zµ]/.test(piece) && number !== '') {
      const digits = number.replace(/^0+/, '');
      if (digits.length > 19 || BigInt(`0${digits}`) > INT64) return undefined;
      const unit = LOOSE_UNITS.find(([name]) => name.test(piece.toLowerCase()));
      if (unit !== undefined) sum = (sum ?? 0n) + BigInt(`0${digits}`) * unit[1];
      number = '';
    } else if (!/^[\t\n\f\r ]/.test(piece)) number = '';
  }
  return sum;
}

/** As nearly every time in a cluster is written, on a day that each month has: told by one look. */
const PLAIN = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** The moment that a text of format `date` or `date-time` stands for, as rules see it; undefined: it is none, or one that milliseconds do not tell exactly. */
export function momentOf(text: string): Date | undefined {
  if (PLAIN.test(text)) return new Date(text);
  const found = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,3})0*)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text);
  if (found === null) return undefined;
  const [, day = '', time = '00:00:00', fraction = '0', zone = 'Z'] = found;
  const moment = isDay(day) ? new Date(`${day}T${time}.${fraction.padEnd(3, '0')}${zone}`) : undefined;
  return moment === undefined || Number.isNaN(moment.getTime()) ? undefined : moment;
}

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8))];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const short = month === 4 || month === 6 || month === 9 || month === 11;
  const last = month === 2 ? (leap ? 29 : 28) : short ? 30 : 31;
  return month >= 1 && month <= 12 && day >= 1 && day <= last;
}

/** RFC 3339 as strfmt.IsDateTime reads it: any case, any character before the fraction, no leap second. */
export function isDateTime(text: string): boolean {
  if (PLAIN.test(text)) return true;
  const [day = '', time = ''] = text.toLowerCase().split('t');
  const found = isDay(day) ? /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time) : null;
  if (found === null) return false;
  const [, hour = '', minute = '', second = ''] = found;
  return hour <= '23' && minute <= '59' && second <= '59';
}
