import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseSchedule } from './cron.ts';
import { WindowFault, windowOf, windowsAt } from './windows.ts';

const at = (text: string): number => Date.parse(text);
const window = (schedule: string, duration = '4h', zone?: string) =>
  windowOf({ schedule, duration, ...(zone === undefined ? {} : { timeZone: zone }) });
const state = (time: string, ...windows: ReturnType<typeof windowOf>[]): string => {
  const found = windowsAt(windows, at(time));
  const stamp = (ms: number): string => new Date(ms).toISOString().slice(0, 16);
  return found.open ? `open until ${stamp(found.until)}` : `opens ${stamp(found.opens)}`;
};

test('a window opens by the clock of its zone, in summer and in winter', () => {
  const saturday = window('0 2 * * 6', '4h', 'Europe/Berlin');
  assert.equal(state('2026-07-10T12:00:00Z', saturday), 'opens 2026-07-11T00:00');
  assert.equal(state('2026-07-11T00:00:00Z', saturday), 'open until 2026-07-11T04:00');
  assert.equal(state('2026-07-11T03:59:59Z', saturday), 'open until 2026-07-11T04:00');
  assert.equal(state('2026-07-11T04:00:00Z', saturday), 'opens 2026-07-18T00:00');
  assert.equal(state('2026-01-09T12:00:00Z', saturday), 'opens 2026-01-10T01:00');
  assert.equal(state('2026-01-09T12:00:00Z', saturday, window('0 20 9 1 *', '1h')), 'opens 2026-01-09T20:00');
});

test('a time that the clock jumps over opens the window as long after midnight; one that it shows twice opens it once', () => {
  const nightly = window('30 2 * * *', '1h', 'Europe/Berlin');
  // 2026-03-29: 02:00 CET is followed by 03:00 CEST.
  assert.equal(state('2026-03-29T00:00:00Z', nightly), 'opens 2026-03-29T01:30');
  assert.equal(state('2026-03-29T01:45:00Z', nightly), 'open until 2026-03-29T02:30');
  // 2026-10-25: 03:00 CEST is followed by 02:00 CET.
  assert.equal(state('2026-10-24T23:00:00Z', nightly), 'opens 2026-10-25T00:30');
  assert.equal(state('2026-10-25T01:30:00Z', nightly), 'opens 2026-10-26T01:30');
});

test('a window may be open for days, and over the end of a year', () => {
  const long = window('0 22 31 12 *', '72h', 'America/New_York');
  assert.equal(state('2027-01-03T12:00:00Z', long), 'open until 2027-01-04T03:00');
  assert.equal(state('2027-01-04T03:00:00Z', long), 'opens 2028-01-01T03:00');
  assert.equal(state('2026-08-02T00:00:30Z', window('* * * * *', '1m')), 'open until 2026-08-02T00:01');
  assert.equal(state('2097-01-01T00:00:00Z', window('0 0 29 2 *', '1h')), 'opens 2104-02-29T00:00');
});

test('what never opens, or cannot be read, is refused with the field that says so', () => {
  const faults: readonly (readonly [schedule: string, duration: string, zone: string, says: RegExp])[] = [
    ['0 2 30 2 *', '1h', 'UTC', /^WindowNeverOpens .*never opens/],
    ['0 2 31 4,6,9,11 *', '1h', 'UTC', /^WindowNeverOpens /],
    ['0 25 * * *', '1h', 'UTC', /^WindowInvalid .*hour: "25"/],
    ['0 2 * * 6-1', '1h', 'UTC', /^WindowInvalid .*day of the week: "6-1"/],
    ['*/0 2 * * *', '1h', 'UTC', /^WindowInvalid .*minute: "\*\/0"/],
    ['0 2 * *', '1h', 'UTC', /^WindowInvalid .*five fields/],
    ['@daily', '1h', 'UTC', /^WindowInvalid .*five fields/],
    ['0 2 * foo *', '1h', 'UTC', /^WindowInvalid .*month: "foo"/],
    [`0 2 * * ${'1,'.repeat(200)}1`, '1h', 'UTC', /^WindowInvalid /],
    ['0 2 * * *', '0h', 'UTC', /^WindowInvalid .*duration "0h"/],
    ['0 2 * * *', '169h', 'UTC', /^WindowInvalid .*from 1m to 168h/],
    ['0 2 * * *', 'often', 'UTC', /^WindowInvalid .*duration "often"/],
    ['0 2 * * *', '1h', 'Europe/Atlantis', /^WindowInvalid .*Europe\/Atlantis/],
    ['0 2 * * *', '1h', '2026-01-01T00:00[Europe/Berlin]', /^WindowInvalid .*time zone/],
    ['0 2 * * lun', '1h', 'UTC', /^WindowInvalid .*day of the week: "lun"/],
    ['1/2/3 2 * * *', '1h', 'UTC', /^WindowInvalid .*minute: "1\/2\/3"/],
  ];
  for (const [schedule, duration, zone, says] of faults) {
    assert.throws(
      () => window(schedule, duration, zone),
      (error) => error instanceof WindowFault && says.test(`${error.reason} ${error.message}`),
      `${schedule} ${duration} ${zone}`,
    );
  }
});

test('fields of cron: lists, ranges, steps, names, and the two days of which either is enough', () => {
  const on = (text: string, date: string): boolean => parseSchedule(text).on(Temporal.PlainDate.from(date));
  assert.deepEqual(parseSchedule('*/20,50 1-2 * * *').minutes, [60, 80, 100, 110, 120, 140, 160, 170]);
  assert.deepEqual(parseSchedule('5/25 0 * * *').minutes, [5, 30, 55]);
  assert.ok(on('0 0 * * 7', '2026-08-02') && on('0 0 * * SUN', '2026-08-02') && !on('0 0 * * 1-6', '2026-08-02'));
  assert.ok(on('0 0 * jan-mar *', '2026-02-01') && !on('0 0 * jan-mar *', '2026-04-01'));
  assert.ok(on('0 0 13 * 5', '2026-08-13') && on('0 0 13 * 5', '2026-08-14') && !on('0 0 13 * 5', '2026-08-15'));
  // A step over all days is no restriction: both must be so.
  assert.ok(on('0 0 */2 * 1', '2026-08-03') && !on('0 0 */2 * 1', '2026-08-10') && !on('0 0 */2 * 1', '2026-08-05'));
});

test('a window at what the clock of a zone shows is open then, around every jump of a decade', () => {
  const names = [
    'UTC',
    'Europe/Berlin',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'Pacific/Apia',
    '+05:30',
  ];
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.integer({ min: at('2020-01-01'), max: at('2030-01-01') }), (zone, ms) => {
      const time = ms - (ms % 60_000);
      const shown = new Date(time).toLocaleString('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
      const [, month, day, hour, minute] = shown.split(/[- :]/).map(Number);
      const then = [window(`${minute} ${hour} ${day} ${month} *`, '1m', zone)];
      // At that time, or at the first of two that the clock shows alike.
      const opened = [0, 30, 60].some((before) => windowsAt(then, time - before * 60_000).open);
      assert.ok(opened, `${zone} ${new Date(time).toISOString()}`);
    }),
    { numRuns: 300 },
  );
});
