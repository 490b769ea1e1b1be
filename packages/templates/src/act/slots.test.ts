import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { testRig } from '../testing/rig.ts';
import { createSlots } from './slots.ts';

test('no more than the limit at a time for each key, in order; who gives up waiting takes nothing', async () => {
  const slots = createSlots(2);
  const log: string[] = [];
  const work = async (name: string, key: string, signal?: AbortSignal): Promise<() => void> => {
    const slot = await slots.take(key, signal);
    log.push(name);
    return () => slot[Symbol.dispose]();
  };
  const [a, b] = await Promise.all([work('a', 'x'), work('b', 'x')]);
  const caller = new AbortController();
  const given = assert.rejects(work('c', 'x', caller.signal), (error) => error === caller.signal.reason);
  const d = work('d', 'x');
  const e = work('e', 'x');
  await work('other', 'y');
  assert.deepEqual(log, ['a', 'b', 'other']);
  caller.abort(new Error('given up'));
  await given;
  a();
  a();
  (await d)();
  await e;
  b();
  assert.deepEqual(log, ['a', 'b', 'other', 'd', 'e']);
});

test('ten failure domains at once: never more than four imports on a vCenter, every one is published', async () => {
  const made = testRig(virtualClock({ auto: true }));
  let now = 0;
  let most = 0;
  made.inventory.onCall = async (method, phase) => {
    if (method === 'startImport' && phase === 'before') now += 1;
    most = Math.max(most, now);
    if (method === 'lease.complete' && phase === 'after') now -= 1;
    // Everybody else goes first.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const names = Array.from({ length: 10 }, (_, index) => `fd${index}`);
  const published = await Promise.all(names.map((name) => made.swap(name, { base: name })));
  assert.deepEqual(
    published.map(({ name }) => name),
    names,
  );
  assert.equal(most, 4);
});
