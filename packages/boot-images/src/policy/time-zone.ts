/** A clock on a wall, in minutes. */
export interface WallTime {
  /** Days since 1970-01-01, as the calendar there has it. */
  readonly day: number;
  /** Of that day, 0 to 1439. */
  readonly minute: number;
}

/** A place's clock. */
export interface TimeZone {
  readonly name: string;
  readonly wallAt: (time: number) => WallTime;
  /**
   * When a wall clock shows this, in ms. Of a time that it shows twice the first; of one that it jumps over, as long after midnight as the clock would have been
   * right without the jump.
   */
  readonly timeOf: (wall: WallTime) => number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The zone of this name in the time zone database, or an offset such as +01:00. Throws `RangeError` where there is none. */
export function timeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: name, hourCycle: 'h23', calendar: 'gregory', numberingSystem: 'latn' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  const wall = (time: number): number => {
    const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of format.formatToParts(time)) part[type] = Number(value);
    const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
  const offsetAt = (time: number): number => wall(time) - Math.floor(time / 1000) * 1000;
  return {
    name,
    wallAt: (time) => {
      const shown = wall(time);
      const day = Math.floor(shown / DAY_MS);
      return { day, minute: Math.floor((shown - day * DAY_MS) / MINUTE_MS) };
    },
    timeOf: ({ day, minute }) => {
      const shown = day * DAY_MS + minute * MINUTE_MS;
      // No zone is further from Greenwich than a day, and none changes twice within two.
      const [before, after] = [offsetAt(shown - DAY_MS), offsetAt(shown + DAY_MS)];
      const first = shown - Math.max(before, after);
      const last = shown - Math.min(before, after);
      return [first, last].find((time) => wall(time) === shown) ?? shown - before;
    },
  };
}
