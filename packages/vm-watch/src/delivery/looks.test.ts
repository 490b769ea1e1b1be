import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { type VirtualClock, virtualClock } from '@drydock/model';
import { type MemoryFeed, memoryFeed } from '../testing/memory-feed.ts';
import type { KnownObject } from './resolve.ts';
import { createWatcher, type Watcher } from './watcher.ts';

/** A live watch on machine vm-1 in folder f1, and somebody who looks at it when he likes. */
interface Rig extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly feed: MemoryFeed;
  readonly watcher: Watcher;
  /** ns/vm-1; undefined: there is none. */
  object: KnownObject | undefined;
  /** What a delivery waits for before it is through. */
  slow: Promise<void> | undefined;
  readonly told: string[];
  /** What was seen at the last look. */
  seen: string;
  look(): void;
  settled(): Promise<void>;
  /** Lets so much time go by, second by second. */
  pass(seconds: number): Promise<void>;
}

const OBJECT: KnownObject = { namespace: 'ns', name: 'vm-1', uniqueId: 'vm-1', deleting: false };

async function live(): Promise<Rig> {
  const clock = virtualClock();
  const feed = memoryFeed(clock);
  feed.create('f1', 'vm-1', { name: 'as it was' });
  const watcher = await createWatcher({
    feed,
    clock,
    log: { info: () => undefined, warn: () => undefined },
    random: () => 0,
    selfCheckMs: 0,
    lookup: {
      named: () => undefined,
      byUniqueId: () => (rig.object === undefined ? [] : [rig.object]),
    },
    deliver: async ({ ref, kind }) => {
      rig.look();
      await rig.slow;
      rig.told.push(`${ref.value} ${kind}`);
    },
  });
  const stop = new AbortController();
  const running = watcher.run(stop.signal);
  const rig: Rig = {
    ...{ clock, feed, watcher, object: OBJECT, slow: undefined, told: [], seen: '' },
    look: () => {
      rig.seen = feed.describe('vm-1');
    },
    settled: async () => {
      for (let turn = 0; turn < 50; turn += 1) await tick();
    },
    pass: async (seconds) => {
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1_000);
        for (let turn = 0; turn < 10; turn += 1) await tick();
      }
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
  void watcher.supervisor.add(feed.container('f1'), 'test');
  await rig.settled();
  assert.equal(watcher.supervisor.state.name, 'live');
  rig.look();
  return rig;
}

/** From here on no login succeeds; back: they do again. */
function away(feed: MemoryFeed): () => void {
  feed.onCall = (call) => {
    if (call === 'login') throw new Error('the vCenter is away');
  };
  feed.endSession();
  return () => {
    feed.onCall = undefined;
  };
}

async function isToldWhatItIs(rig: Rig): Promise<void> {
  assert.notEqual(rig.seen, rig.feed.describe('vm-1'), 'negative control: what was seen last is over');
  await rig.pass(180);
  assert.equal(rig.watcher.supervisor.state.name, 'live');
  assert.equal(rig.seen, rig.feed.describe('vm-1'), `told: ${rig.told.join()}`);
  const { length } = rig.told;
  await rig.pass(600);
  assert.equal(rig.told.length, length, 'and then there is peace');
}

test('an object that comes while the watch is away, and whose machine is moved there and back, is told that it is back', async () => {
  await using rig = await live();
  rig.object = undefined;
  const back = away(rig.feed);
  rig.feed.move('vm-1', 'f2');
  await rig.pass(40);
  rig.object = OBJECT;
  rig.look();
  rig.watcher.courier.claimed({ uniqueId: 'vm-1', namespacedName: 'ns/vm-1' });
  await rig.pass(40);
  rig.feed.move('vm-1', 'f1');
  back();
  await isToldWhatItIs(rig);
});

test('whoever looked of his own accord while nobody knew that the watch hears nothing is told when what he saw is over', async () => {
  await using rig = await live();
  rig.feed.mute = true;
  rig.feed.set('vm-1', 'name', 'in between');
  rig.watcher.courier.looked('vm-1');
  rig.look();
  await rig.pass(100);
  rig.feed.set('vm-1', 'name', 'as it was');
  rig.feed.mute = false;
  rig.feed.endSession();
  await isToldWhatItIs(rig);
});

test('what was told just before the watch went away is told again when it comes back, however long that took', async () => {
  await using rig = await live();
  rig.feed.set('vm-1', 'name', 'told');
  await rig.settled();
  assert.deepEqual(rig.told, ['vm-1 changed']);
  const back = away(rig.feed);
  rig.feed.set('vm-1', 'name', 'in between');
  await rig.pass(30);
  rig.look();
  rig.feed.set('vm-1', 'name', 'told');
  await rig.pass(300);
  back();
  await isToldWhatItIs(rig);
});

test('what is on its way while the watch goes and comes back is told again: it may have been looked at before', async () => {
  await using rig = await live();
  const stuck = Promise.withResolvers<void>();
  rig.slow = stuck.promise;
  rig.watcher.ledger.again('vm-1');
  await rig.pass(200);
  const back = away(rig.feed);
  rig.feed.set('vm-1', 'name', 'in between');
  rig.look();
  await rig.settled();
  rig.feed.set('vm-1', 'name', 'as it was');
  back();
  await rig.pass(60);
  assert.equal(rig.watcher.supervisor.state.name, 'live');
  stuck.resolve();
  await isToldWhatItIs(rig);
});

test('a value that went and came back between two answers is told, if somebody may have looked in between', async () => {
  await using rig = await live();
  rig.feed.set('vm-1', 'name', 'told');
  await rig.settled();
  rig.feed.set('vm-1', 'name', 'in between');
  rig.look();
  rig.feed.set('vm-1', 'name', 'told');
  await isToldWhatItIs(rig);
  assert.equal(rig.told.length, 2);
});

test('a value that went and came back while its change was on its way is told', async () => {
  await using rig = await live();
  const stuck = Promise.withResolvers<void>();
  rig.feed.set('vm-1', 'name', 'told');
  rig.slow = stuck.promise;
  await rig.settled();
  rig.feed.set('vm-1', 'name', 'in between');
  rig.look();
  rig.feed.set('vm-1', 'name', 'told');
  await rig.pass(70);
  stuck.resolve();
  await isToldWhatItIs(rig);
});

test('a machine of which the same is said again and again is told once a minute at most, and not at all if nobody looked', async () => {
  await using rig = await live();
  const say = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      rig.feed.set('vm-1', 'name', 'as it was');
      await rig.pass(1);
    }
  };
  await say(120);
  assert.deepEqual(rig.told, []);
  rig.feed.set('vm-1', 'snapshot', 's');
  await say(600);
  assert.ok(rig.told.length > 1 && rig.told.length <= 11, `${rig.told.length} times`);
});
