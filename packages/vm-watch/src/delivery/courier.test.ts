import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { type VirtualClock, virtualClock } from '@drydock/model';
import type { MoRef } from '@drydock/vsphere';
import { memoryFeed } from '../testing/memory-feed.ts';
import type { KnownObject } from './resolve.ts';
import { createWatcher, type Watcher } from './watcher.ts';

/** A live watch on folder f1 with some machines, each of which has its object. */
interface Rig extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly feed: ReturnType<typeof memoryFeed>;
  readonly watcher: Watcher;
  readonly told: string[];
  /** Machines whose changes are refused. */
  readonly refused: Set<string>;
  readonly warnings: string[];
  settled(): Promise<void>;
}

async function live(...machines: readonly string[]): Promise<Rig> {
  const clock = virtualClock();
  const feed = memoryFeed(clock);
  for (const vm of machines) feed.create('f1', vm, { name: vm });
  const object = (name: string): KnownObject => ({ namespace: 'ns', name, uniqueId: name, deleting: false });
  const [told, warnings, refused]: [string[], string[], Set<string>] = [[], [], new Set()];
  const watcher = await createWatcher({
    feed,
    clock,
    log: { info: () => undefined, warn: (_, text) => warnings.push(text) },
    random: () => 0,
    selfCheckMs: 0,
    lookup: { named: () => undefined, byUniqueId: (id) => [object(id)] },
    deliver: ({ ref, kind }) => {
      if (refused.has(ref.value)) throw new Error('not now');
      told.push(`${ref.value} ${kind}`);
    },
  });
  const stop = new AbortController();
  const running = watcher.run(stop.signal);
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn += 1) await tick();
  };
  void watcher.supervisor.add(feed.container('f1'), 'test');
  await settled();
  assert.equal(watcher.supervisor.state.name, 'live');
  return {
    ...{ clock, feed, watcher, told, refused, warnings, settled },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

test('a machine whose change is refused again and again rests, and no other waits for it', async () => {
  await using rig = await live('vm-1', 'vm-2');
  rig.refused.add('vm-1');
  rig.feed.set('vm-1', 'name', 'a');
  await rig.settled();
  for (let minute = 0; minute < 10; minute += 1) {
    rig.clock.advance(30_000);
    await rig.settled();
  }
  assert.ok(rig.warnings.length >= 8, `${rig.warnings.length} attempts`);
  rig.feed.set('vm-2', 'name', 'b');
  await rig.settled();
  assert.deepEqual(rig.told, ['vm-2 changed']);
  assert.equal(rig.watcher.courier.pending, 1);
  rig.refused.clear();
  rig.clock.advance(30_000);
  await rig.settled();
  assert.deepEqual(rig.told, ['vm-2 changed', 'vm-1 changed']);
});

test('a machine that left is told once, although nobody can say for a while whether it is gone for good; then it is forgotten', async () => {
  await using rig = await live('vm-1', 'vm-2');
  const asked: MoRef[][] = [];
  let away = true;
  const existing = rig.feed.existing.bind(rig.feed);
  rig.feed.existing = async (refs, options) => {
    // Containers are looked for, too, now and then.
    if (refs.some(({ type }) => type !== 'VirtualMachine')) return existing(refs, options);
    asked.push([...refs]);
    if (away) throw new Error('nobody answers');
    return existing(refs, options);
  };
  rig.feed.destroy('vm-1');
  rig.feed.move('vm-2', 'f2');
  await rig.settled();
  assert.deepEqual(rig.told, ['vm-1 left', 'vm-2 left']);
  assert.deepEqual(
    asked[0]?.map(({ value }) => value),
    ['vm-1', 'vm-2'],
    'asked once for all',
  );
  rig.clock.advance(5 * 60_000);
  await rig.settled();
  away = false;
  rig.clock.advance(5 * 60_000);
  await rig.settled();
  const { length } = asked;
  rig.clock.advance(5 * 60_000);
  await rig.settled();
  assert.deepEqual([rig.told.length, asked.length], [2, length]);
  // What is known of it shows which of its properties changed while it was away.
  rig.feed.set('vm-2', 'name', 'elsewhere');
  rig.feed.move('vm-2', 'f1');
  await rig.settled();
  assert.equal(rig.told.at(-1), 'vm-2 changed');
});

test('TRUTH-9 many changes of one machine within 150 ms of the first make two signals, the first at once; no other machine waits', async () => {
  await using rig = await live('vm-1', 'vm-2');
  for (let n = 0; n < 20; n += 1) {
    rig.feed.set('vm-1', 'name', `v${n}`);
    await rig.settled();
    if (n === 0) assert.deepEqual(rig.told, ['vm-1 changed'], 'nobody waits for the first one');
    rig.clock.advance(2);
  }
  rig.feed.set('vm-2', 'name', 'b');
  await rig.settled();
  assert.deepEqual(rig.told, ['vm-1 changed', 'vm-2 changed']);
  assert.equal(rig.watcher.courier.pending, 1);
  rig.clock.advance(110);
  await rig.settled();
  assert.deepEqual(rig.told, ['vm-1 changed', 'vm-2 changed', 'vm-1 changed']);
  rig.clock.advance(60_000);
  await rig.settled();
  assert.equal(rig.told.length, 3);
});

test('FIND-15: 50 changes of one machine in 100 ms make two signals, the first at once and the last within 150 ms', async () => {
  await using rig = await live('vm-1');
  rig.told.length = 0;
  for (let change = 0; change < 50; change += 1) {
    rig.feed.set('vm-1', 'name', `name ${change}`);
    await rig.settled();
    if (change === 0) assert.equal(rig.told.length, 1);
    rig.clock.advance(2);
    await rig.settled();
  }
  assert.equal(rig.told.length, 1);
  rig.clock.advance(50);
  await rig.settled();
  assert.equal(rig.told.length, 2);
  rig.clock.advance(1000);
  await rig.settled();
  assert.equal(rig.told.length, 2);
});
