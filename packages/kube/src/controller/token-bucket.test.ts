import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenBucket } from './token-bucket.ts';

test('a burst is free, then turns come at the rate, and a quiet time fills the bucket again', () => {
  const bucket = tokenBucket({ perSecond: 10, burst: 3 });
  assert.deepEqual(
    [1, 2, 3, 4, 5].map(() => bucket.reserve(0)),
    [0, 0, 0, 100, 200],
  );
  assert.equal(bucket.reserve(400), 0);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => bucket.reserve(60_000)),
    [0, 0, 0, 100],
  );
});
