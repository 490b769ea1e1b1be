/** When something begins, as cron has it: minute, hour, day of the month, month, day of the week. */
export interface Schedule {
  /** Minutes of a day (0 to 1439) at which it begins, ascending. */
  readonly minutes: readonly number[];
  /** Whether it begins on this date. */
  readonly on: (date: Pick<Temporal.PlainDate, 'month' | 'day' | 'dayOfWeek'>) => boolean;
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
      const ofWeek = weekdays.has(date.dayOfWeek) || (date.dayOfWeek === 7 && weekdays.has(0));
      return either ? ofMonth || ofWeek : ofMonth && ofWeek;
    },
  };
}

/** `*`, a value, or a range of two, with a step or without one. */
const PART = /^(?:\*|(?<first>[a-z]{3}|\d{1,4})(?:-(?<last>[a-z]{3}|\d{1,4}))?)(?:\/(?<step>\d{1,4}))?$/i;

function valuesOf(text: string, field: Field): ReadonlySet<number> {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const { first, last, step } = PART.exec(part)?.groups ?? { step: '0' };
    // With a step the seventh day would be Sunday a second time.
    const all = field === WEEKDAY ? 6 : field.to;
    const from = first === undefined ? field.from : numberOf(first, field);
    const to =
      first === undefined ? all : last !== undefined ? numberOf(last, field) : step === undefined ? from : field.to;
    if (!(Number(step ?? 1) > 0 && from >= field.from && from <= to && to <= field.to))
      throw new RangeError(
        `${field.name}: "${part}" is none of *, a number from ${field.from} to ${field.to}, a range, or one with a step`,
      );
    for (let value = from; value <= to; value += Number(step ?? 1)) values.add(value);
  }
  return values;
}

/** NaN for a word that is none of the field's. */
function numberOf(text: string, { from, words = [] }: Field): number {
  const word = words.indexOf(text.toLowerCase());
  return word < 0 ? Number(text) : word + from;
}
