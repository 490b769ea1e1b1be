import assert from 'node:assert/strict';
import { test } from 'node:test';
import { follow, type Moments, percentile } from './follow.ts';

const of = (...moments: readonly (readonly [machine: string, at: number])[]): Moments => ({
  machines: moments.map(([machine]) => machine),
  at: moments.map(([, at]) => at),
});

test('each change is followed by the first request after it', () => {
  const followed = follow(of(['a', 0], ['b', 1_000], ['a', 10_000]), of(['b', 1_500], ['a', 2_000], ['a', 13_000]));
  assert.deepEqual(followed, { latencyMs: [0.5, 2, 3], lost: 0, surplus: 0 });
});

test('a request that came before the last change does not count for it, and one without a change is too many', () => {
  assert.deepEqual(follow(of(['a', 5_000]), of(['a', 4_000])), { latencyMs: [], lost: 1, surplus: 1 });
  assert.deepEqual(follow(of(['a', 0], ['a', 1_000]), of(['a', 2_000])), { latencyMs: [1], lost: 1, surplus: 0 });
});

test('percentiles are values that occurred', () => {
  const values = Array.from({ length: 100 }, (_, index) => index);
  assert.deepEqual([percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1)], [50, 99, 99]);
  assert.ok(Number.isNaN(percentile([], 0.5)));
});
