import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageOf, humanDuration } from './human-duration.ts';

test('ages read as kubectl prints them', () => {
  const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
  const cases: readonly (readonly [number, string])[] = [
    [-5000, '<invalid>'],
    [-500, '0s'],
    [0, '0s'],
    [119_999, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 5000, '9m5s'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 12 * minute, '7h12m'],
    [47 * hour, '47h'],
    [3 * day + 4 * hour, '3d4h'],
    [500 * day, '500d'],
    [3 * 365 * day + 10 * day, '3y10d'],
    [9 * 365 * day, '9y'],
  ];
  for (const [ms, text] of cases) assert.equal(humanDuration(ms), text);
  assert.deepEqual([ageOf(undefined, 0), ageOf('never', 0)], ['<unknown>', '<invalid>']);
});
