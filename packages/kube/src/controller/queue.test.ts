import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { settle, virtualClock } from '../testing/clock.ts';
import { LOW_PRIORITY, type QueueOptions, type WorkQueue, workQueue } from './queue.ts';

const never = new AbortController().signal;

function queueOf(options: Partial<QueueOptions<string>> = {}): WorkQueue<string> {
  return workQueue<string>({ id: (key) => key, ...options });
}

/** What is ready right now, in order; each is given back at once. */
async function drain(queue: WorkQueue<string>): Promise<string[]> {
  const taken: string[] = [];
  while (queue.depth > 0) {
    const key = await queue.take(never);
    assert.ok(key !== undefined);
    taken.push(key);
    queue.done(key);
  }
  return taken;
}

test('a key that is ready is in the queue once', async () => {
  using queue = queueOf();
  for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
  assert.deepEqual(await drain(queue), ['a', 'b']);
});

test('a key that is added while a worker has it comes again after done, not before', async () => {
  using queue = queueOf();
  queue.add('a');
  assert.equal(await queue.take(never), 'a');
  queue.add('a');
  queue.add('a');
  assert.equal(queue.depth, 0);
  queue.done('a');
  assert.deepEqual(await drain(queue), ['a']);
});

test('a delayed key waits for its time; an earlier add takes its place', async () => {
  const clock = virtualClock();
  using queue = queueOf({ clock });
  queue.add('late', { after: 1_000 });
  queue.add('early', { after: 10 });
  queue.add('late', { after: 5_000 });
  await clock.advance(9);
  assert.equal(queue.depth, 0);
  await clock.advance(1);
  assert.deepEqual(await drain(queue), ['early']);
  await clock.advance(989);
  assert.equal(queue.depth, 0);
  await clock.advance(1);
  assert.deepEqual(await drain(queue), ['late']);
  queue.add('late', { after: 1_000 });
  queue.add('late');
  assert.deepEqual(await drain(queue), ['late']);
  await clock.advance(10_000);
  assert.equal(queue.depth, 0, 'the run that was due now served the delayed one');
});

test('back-off doubles per key up to the cap, and forget ends it', async () => {
  const clock = virtualClock();
  using queue = queueOf({ clock, baseDelay: 10, maxDelay: 35 });
  const waits: number[] = [];
  for (let n = 0; n < 5; n++) {
    const start = clock.now();
    queue.retry('a');
    while (queue.depth === 0) await clock.advance(1);
    waits.push(clock.now() - start);
    await drain(queue);
  }
  assert.deepEqual(waits, [10, 20, 35, 35, 35]);
  assert.equal(queue.failures('a'), 5);
  queue.forget('a');
  queue.retry('a');
  await clock.advance(10);
  assert.equal(queue.depth, 1);
  assert.equal(queue.failures('b'), 0);
});

test('higher priorities go first, a second add can raise one, and nothing starves', async () => {
  using queue = queueOf({ fairness: 4 });
  queue.add('low', { priority: LOW_PRIORITY });
  queue.add('raised', { priority: LOW_PRIORITY });
  queue.add('normal');
  queue.add('high', { priority: 5 });
  queue.add('raised', { priority: 10 });
  assert.deepEqual(await drain(queue), ['raised', 'high', 'normal', 'low']);

  queue.add('low', { priority: LOW_PRIORITY });
  let takes = 0;
  for (let key: string | undefined; key !== 'low'; takes++) {
    queue.add(`normal-${takes}`);
    queue.add(`other-${takes}`);
    key = await queue.take(never);
    assert.ok(key !== undefined);
    queue.done(key);
    assert.ok(takes < 10, 'the low key starved');
  }
  assert.equal(takes, 4);
});

test('property: the highest priority goes first, the longest waiting of them before others, and in its turn the longest waiting of all', async () => {
  const step = fc.oneof(
    fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), priority: fc.integer({ min: -2, max: 2 }) }),
    fc.constant('take' as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 8 }), async (steps, fairness) => {
      using queue = queueOf({ fairness });
      // In the order in which they came to their priority.
      let ready: { readonly key: string; readonly priority: number }[] = [];
      let passedOver = 0;
      for (const one of steps) {
        if (one !== 'take') {
          queue.add(one.key, one);
          const known = ready.find(({ key }) => key === one.key);
          if (known === undefined || known.priority < one.priority)
            ready = [...ready.filter((other) => other !== known), one];
        } else if (ready.length > 0) {
          const priorities = ready.map(({ priority }) => priority);
          passedOver = new Set(priorities).size === 1 ? 0 : passedOver + 1;
          const fair = passedOver >= fairness;
          if (fair) passedOver = 0;
          const next = ready.find(({ priority }) => fair || priority === Math.max(...priorities));
          const key = await queue.take(never);
          assert.equal(key, next?.key);
          if (key !== undefined) queue.done(key);
          ready = ready.filter((other) => other !== next);
        }
        assert.equal(queue.depth, ready.length);
      }
    }),
    { numRuns: 1000 },
  );
});

test('take ends with its signal and with the queue, and a wake-up is never lost to an ended taker', {
  timeout: 20_000,
}, async () => {
  const queue = queueOf();
  const stop = new AbortController();
  const first = queue.take(stop.signal);
  const second = queue.take(never);
  queue.add('a');
  stop.abort();
  assert.deepEqual([await first, await second], [undefined, 'a']);
  const end = new AbortController();
  const ended = [queue.take(end.signal), queue.take(end.signal)];
  end.abort();
  assert.deepEqual(await Promise.all(ended), [undefined, undefined]);
  const third = queue.take(never);
  queue[Symbol.dispose]();
  assert.equal(await third, undefined);
});

test('disposing ends the timer of delayed keys', async () => {
  const clock = virtualClock();
  const queue = queueOf({ clock });
  queue.add('a', { after: 1_000 });
  queue[Symbol.dispose]();
  await settle();
  assert.equal(clock.sleeping, 0);
});

test('property: delayed keys become ready in the order of their times, whatever the order of the adds', async () => {
  const delays = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 100 })), {
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(delays, async (adds) => {
      const clock = virtualClock();
      using queue = queueOf({ clock });
      const due = new Map<string, number>();
      for (const [key, after] of adds) {
        queue.add(`${key}`, { after });
        due.set(`${key}`, Math.min(after, due.get(`${key}`) ?? after));
      }
      assert.equal(queue.waiting, due.size);
      const stop = new AbortController();
      const times: [string, number][] = [];
      const worker = (async () => {
        for (let key = await queue.take(stop.signal); key !== undefined; key = await queue.take(stop.signal)) {
          times.push([key, clock.now()]);
          queue.done(key);
        }
      })();
      await clock.advance(100);
      stop.abort();
      await worker;
      assert.deepEqual(new Map(times), due);
      assert.equal(times.length, due.size);
    }),
    { numRuns: 50 },
  );
});

test('property: one worker per key, and every add is followed by a run that starts after it', async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      key: fc.constantFrom('a', 'b', 'c'),
      priority: fc.integer({ min: -2, max: 2 }),
    }),
    fc.record({
      kind: fc.constant('delay' as const),
      key: fc.constantFrom('a', 'b', 'c'),
      after: fc.integer({ min: 1, max: 50 }),
    }),
    fc.record({ kind: fc.constant('take' as const) }),
    fc.record({ kind: fc.constant('done' as const), pick: fc.nat(9) }),
    fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 30 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = virtualClock();
      using queue = queueOf({ clock });
      const busy = new Set<string>();
      const owed = new Set<string>();
      const take = async (): Promise<void> => {
        const key = await queue.take(never);
        assert.ok(key !== undefined && !busy.has(key), 'two workers have one key');
        busy.add(key);
        owed.delete(key);
      };
      const done = (key: string): void => {
        busy.delete(key);
        queue.done(key);
      };
      for (const one of steps) {
        if (one.kind === 'add') queue.add(one.key, { priority: one.priority });
        if (one.kind === 'delay') queue.add(one.key, { after: one.after });
        if (one.kind === 'add' || one.kind === 'delay') owed.add(one.key);
        if (one.kind === 'take' && queue.depth > 0) await take();
        if (one.kind === 'advance') await clock.advance(one.ms);
        const busyKey = one.kind === 'done' ? [...busy][one.pick % Math.max(1, busy.size)] : undefined;
        if (busyKey !== undefined) done(busyKey);
      }
      for (const key of [...busy]) done(key);
      await clock.advance(50);
      while (queue.depth > 0) {
        await take();
        for (const key of [...busy]) done(key);
      }
      assert.deepEqual([...owed], [], 'an add was forgotten');
    }),
    { numRuns: 150 },
  );
});

test('retries of many keys come at the rate of the whole queue after a burst; adds do not wait for them', async () => {
  const clock = virtualClock();
  using queue = queueOf({ clock, baseDelay: 1, retryRate: { perSecond: 10, burst: 20 } });
  for (let n = 0; n < 60; n++) queue.retry(`failed-${n}`);
  await clock.advance(1);
  assert.equal((await drain(queue)).length, 20);
  queue.add('changed');
  assert.deepEqual(await drain(queue), ['changed']);
  await clock.advance(1_000);
  assert.equal((await drain(queue)).length, 10);
  await clock.advance(3_000);
  assert.equal((await drain(queue)).length, 30);
});
