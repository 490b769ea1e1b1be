import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failures } from './failures.ts';

const half = (): number => 0.5;

test('a vCenter that was away for long and then refuses a login has refused one', () => {
  const failures = new Failures();
  for (let n = 0; n < 10; n += 1) failures.next('resume', n * 30_000, half);
  assert.ok(failures.next('resume', 300_000, half) > 20_000);
  assert.deepEqual(
    [1, 2, 3].map(() => failures.next('refused', 300_000, half)),
    [5_000, 10_000, 20_000],
  );
  failures.next('resume', 300_000, half);
  assert.equal(failures.next('refused', 300_000, half), 40_000, 'no hiccup makes a wrong password better');
  failures.live(400_000);
  assert.equal(failures.next('refused', 500_000, half), 5_000);
});

test('what a session held is made anew at once, but not again and again', () => {
  const failures = new Failures();
  const waits: number[] = [];
  let now = 0;
  for (let n = 0; n < 5; n += 1) {
    failures.live(now);
    now += 1_000;
    waits.push(failures.next('rebuild', now, half));
  }
  assert.deepEqual(waits, [0, 150, 300, 600, 1_200]);
  failures.live(now);
  assert.equal(failures.next('rebuild', now + 60_000, half), 0);
});
