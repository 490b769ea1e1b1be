/** When something begins, as cron has it: minute, hour, day of the month, month, day of the week. */
export interface Schedule {
  /** Minutes of a day (0 to 1439) at which it begins, ascending. */
  readonly minutes: readonly number[];
  /** Whether it begins on this date; `month` counts from 1, `weekday` from Sunday, which is 0. */
  readonly on: (date: { readonly month: number; readonly day: number; readonly weekday: number }) => boolean;
}

interface Field {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly words?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MINUTE: Field = { name: 'minute', from: 0, to: 59 };
const HOUR: Field = { name: 'hour', from: 0, to: 23 };
const DAY: Field = { name: 'day of the month', from: 1, to: 31 };
const MONTH: Field = { name: 'month', from: 1, to: 12, words: MONTHS };
const WEEKDAY: Field = { name: 'day of the week', from: 0, to: 7, words: WEEKDAYS };

/** Longest schedule that is read, in UTF-16 units. */
const LONGEST = 256;

/**
 * Reads five fields with lists, ranges, steps and English names of months and weekdays (crontab(5)). Where both days are restricted, either is enough. Throws `RangeError` with a clause that
 * names the field.
 */
export function parseSchedule(text: string): Schedule {
  const [minute, hour, day, month, weekday, ...more] = text.length > LONGEST ? [] : text.trim().split(/\s+/);
  if (
    minute === undefined ||
    hour === undefined ||
    day === undefined ||
    month === undefined ||
    weekday === undefined ||
    more.length > 0
  )
    throw new RangeError('five fields are expected: minute, hour, day of the month, month, day of the week');
  const [minutes, hours, days] = [valuesOf(minute, MINUTE), valuesOf(hour, HOUR), valuesOf(day, DAY)];
  const [months, weekdays] = [valuesOf(month, MONTH), valuesOf(weekday, WEEKDAY)];
  const either = !day.startsWith('*') && !weekday.startsWith('*');
  return {
    minutes: [...hours].flatMap((h) => Array.from(minutes, (m) => h * 60 + m)).toSorted((a, b) => a - b),
    on: (date) => {
      if (!months.has(date.month)) return false;
      const ofMonth = days.has(date.day);
      const ofWeek = weekdays.has(date.weekday) || (date.weekday === 0 && weekdays.has(7));
      return either ? ofMonth || ofWeek : ofMonth && ofWeek;
    },
  };
}

function valuesOf(text: string, field: Field): ReadonlySet<number> {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [range = '', stepText, more] = part.split('/');
    const step = stepText === undefined ? 1 : whole(stepText);
    const [first, last] = rangeOf(range, stepText !== undefined, field);
    if (
      more !== undefined ||
      step === undefined ||
      step < 1 ||
      first === undefined ||
      last === undefined ||
      first > last
    )
      throw new RangeError(
        `${field.name}: "${part}" is none of *, a number from ${field.from} to ${field.to}, a range, or one with a step`,
      );
    for (let value = first; value <= last; value += step) values.add(value);
  }
  return values;
}

function rangeOf(
  text: string,
  stepped: boolean,
  field: Field,
): readonly [first: number | undefined, last: number | undefined] {
  // With a step the seventh day would be Sunday a second time.
  if (text === '*') return [field.from, field === WEEKDAY ? 6 : field.to];
  const [first = '', last, more] = text.split('-');
  if (more !== undefined) return [undefined, undefined];
  const from = numberOf(first, field);
  if (last !== undefined) return [from, numberOf(last, field)];
  return [from, stepped ? field.to : from];
}

function numberOf(text: string, { from, to, words = [] }: Field): number | undefined {
  const word = words.indexOf(text.toLowerCase());
  const value = word < 0 ? whole(text) : word + from;
  return value === undefined || value < from || value > to ? undefined : value;
}

function whole(text: string): number | undefined {
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
}
