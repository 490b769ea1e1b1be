import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachOf } from './pool.ts';

test('after a failure nothing more is begun, and what was under way has ended when it is told', async () => {
  const slow = Promise.withResolvers<void>();
  const begun: number[] = [];
  let ended = false;
  const all = eachOf([1, 2, 3, 4], 2, async (item) => {
    begun.push(item);
    if (item === 1) throw new Error('the first');
    await slow.promise;
    ended = true;
  });
  // A chance for what must not happen: that it is told too early, or that a third one begins.
  await new Promise(setImmediate);
  assert.equal(ended, false);
  slow.resolve();
  await assert.rejects(all, /the first/);
  assert.deepEqual([begun, ended], [[1, 2], true]);
});
