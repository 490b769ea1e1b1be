import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration, integer, list, numbers } from './flags.ts';

test('durations are written as Go writes them', () => {
  assert.deepEqual(['120s', '1m30s', '500ms', '1.5h', '0'].map(duration), [120_000, 90_000, 500, 5_400_000, 0]);
  assert.deepEqual(['100us', '.5s'].map(duration), [0.1, 500]);
  for (const text of ['', '12', '1d', 's', '1m30', '-1s'])
    assert.throws(() => duration(text), /expected a duration/, text);
});

test('lists may be repeated and hold commas', () => {
  assert.deepEqual(list(' c,,d ', list('a,b')), ['a', 'b', 'c', 'd']);
  assert.deepEqual(numbers('3', numbers('1,2')), [1, 2, 3]);
  assert.throws(() => numbers('1,x'), /whole number/);
  assert.throws(() => integer('1.5'), /whole number/);
});
