import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { generator, seeds, virtualClock, withSeed } from '@drydock/model';
import { lost, memoryFeed } from '../testing/memory-feed.ts';
import type { KnownObject } from './resolve.ts';
import { createWatcher } from './watcher.ts';

const FILE = 'packages/vm-watch/src/delivery/looks.model.test.ts';
const SILENT = { info: () => undefined, warn: () => undefined };
const VMS = ['vm-1', 'vm-2'] as const;

/**
 * Two machines whose values come back to what they were, and somebody who looks at them when he is told, some time later, and of his own accord, while sessions end, logins fail, answers get
 * lost and waits go deaf. '' when what was seen last of each machine is what it is. `mum`: he does not say that he looks of his own accord, which must be caught.
 */
async function play(seed: number, mum = false): Promise<string> {
  const random = generator(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const clock = virtualClock();
  const feed = memoryFeed(clock);
  const folders = ['f1', 'f2'];
  for (const folder of folders) feed.folders.add(folder);
  const objects = new Map<string, KnownObject>();
  const seen = new Map<string, string>();
  let calm = false;
  let away = false;
  const look = (vm: string): void => void seen.set(vm, feed.describe(vm));
  const lookSoon = (vm: string): void => {
    const roll = random();
    if (roll < 0.4) look(vm);
    else void clock.sleep(roll * 55_000).then(() => look(vm));
  };
  for (const vm of VMS) {
    feed.create('f1', vm, { name: 'v0' });
    objects.set(vm, { namespace: 'ns', name: vm, uniqueId: vm, deleting: false });
  }
  feed.onCall = (call) => {
    if (away && call === 'login') throw lost(call);
    if (!calm && random() < 0.05) throw lost(call);
  };
  const ownLook = (vm: string): void => {
    if (!mum) watcher.courier.looked(vm);
    lookSoon(vm);
  };
  const watcher = await createWatcher({
    feed,
    clock,
    log: SILENT,
    random,
    selfCheckMs: 0,
    lookup: {
      named: () => undefined,
      byUniqueId: (id) => [objects.get(id)].filter((one) => one !== undefined),
    },
    deliver: async ({ ref }) => {
      const [early, slow] = [random() < 0.3, random() < 0.3];
      if (early) look(ref.value);
      if (slow) await clock.sleep(random() * 40_000);
      if (!calm && random() < 0.1) throw new Error('the queue is full');
      if (!early) lookSoon(ref.value);
    },
    onResolved: ({ value }, resolution) => {
      if (resolution.kind === 'drop' && resolution.reason === 'baseline') ownLook(value);
    },
  });
  const stop = new AbortController();
  const running = watcher.run(stop.signal);
  const settle = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) await tick();
  };
  for (const folder of folders) void watcher.supervisor.add(feed.container(folder), 'zone');
  await settle(20);
  const pause = async (): Promise<void> => {
    if (random() < 0.3) clock.advance(Math.floor(random() * 50_000));
    await settle(Math.floor(random() * 8));
  };
  const missed: string[] = [];
  for (let round = 0; round < 8; round += 1) {
    calm = false;
    for (let step = 0; step < 12; step += 1) {
      const vm = pick(VMS);
      const roll = random();
      if (roll < 0.1) feed.set(vm, 'name', pick(['v0', 'v1']));
      else if (roll < 0.15) feed.move(vm, pick(folders));
      else if (roll < 0.35) {
        feed.set(vm, 'name', 'in between');
        await pause();
        ownLook(vm);
        await pause();
        feed.set(vm, 'name', 'v0');
      } else if (roll < 0.5) ownLook(vm);
      else if (roll < 0.55) {
        if (!objects.delete(vm)) {
          objects.set(vm, { namespace: 'ns', name: vm, uniqueId: vm, deleting: false });
          watcher.courier.claimed({ uniqueId: vm, namespacedName: `ns/${vm}` });
          lookSoon(vm);
        }
      } else if (roll < 0.62) feed.endSession();
      else if (roll < 0.68) away = !away;
      else if (roll < 0.75) feed.mute = !feed.mute;
      else if (roll < 0.77) watcher.supervisor.resync();
      await pause();
    }
    calm = true;
    away = false;
    feed.mute = false;
    if (random() < 0.5) feed.endSession();
    for (let turn = 0; turn < 35; turn += 1) {
      await settle(6);
      clock.advance(10_000);
    }
    await settle(30);
    missed.push(...[...objects.keys()].filter((vm) => seen.get(vm) !== feed.describe(vm)));
  }
  const { state } = watcher.supervisor;
  stop.abort();
  await running;
  if (state.name !== 'live') return `the watch ends ${state.name} (${state.reason ?? ''})`;
  return missed.length === 0 ? '' : `lost changes of ${missed.join()}`;
}

test('nobody keeps what he saw and what is over, over histories of values that come back and of a watch that is away, known or unknown', async () => {
  for (const seed of seeds(60, 100_000, 'histories'))
    await withSeed(seed, FILE, async () => assert.equal(await play(seed), ''));
});

test('negative control: whoever looks of his own accord and does not say so keeps what is over', async () => {
  const caught: string[] = [];
  for (let seed = 1; seed <= 60; seed += 1) caught.push(await play(seed, true));
  assert.ok(caught.filter((what) => what.includes('lost changes')).length > 2, caught.join('\n'));
});
