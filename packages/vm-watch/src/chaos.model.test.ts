import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { firstSeed, generator, seeds, virtualClock, withSeed } from '@drydock/model';
import type { KnownObject } from './delivery/resolve.ts';
import { createWatcher } from './delivery/watcher.ts';
import { lost, memoryFeed } from './testing/memory-feed.ts';

const FILE = 'packages/vm-watch/src/chaos.model.test.ts';
const SILENT = { info: () => undefined, warn: () => undefined };

/** What went wrong for a seed; '' for nothing. `hasty` forgets a change before it was delivered, which must be caught. */
async function play(seed: number, hasty = false): Promise<string> {
  const random = generator(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const clock = virtualClock();
  const feed = memoryFeed(clock);
  const folders = ['f1', 'f1/in', 'f3'];
  for (const folder of folders) feed.folders.add(folder);

  /** What each machine was when it was last reconciled. Values are never used twice, so equal means unchanged. */
  const reconciled = new Map<string, string>();
  const objects = new Map<string, KnownObject>();
  const baseline = new Map<string, number>();
  let count = 0;
  let faults = 0;
  let calm = false;
  feed.onCall = (call) => {
    if (calm || random() > 0.12) return;
    faults += 1;
    if (call !== 'login' && random() < 0.3) feed.endSession();
    throw lost(call);
  };
  const lookup = {
    named: (namespace: string, name: string) => objects.get(`${namespace}/${name}`),
    byUniqueId: (id: string) => [...objects.values()].filter(({ uniqueId }) => uniqueId === id),
  };
  const watcher = await createWatcher({
    feed,
    clock,
    log: SILENT,
    random,
    lookup,
    deliver: async ({ ref }) => {
      if (!calm && random() < 0.2) await tick();
      if (hasty && random() < 0.5) return;
      if (!calm && random() < 0.15) throw new Error('the queue is full');
      reconciled.set(ref.value, feed.describe(ref.value));
    },
    // Its object was looked at when the process started, or when the container was first wanted. Once.
    onResolved: ({ value }, resolution) => {
      if (resolution.kind !== 'drop' || resolution.reason !== 'baseline') return;
      baseline.set(value, (baseline.get(value) ?? 0) + 1);
      reconciled.set(value, feed.describe(value));
    },
  });

  const stop = new AbortController();
  const running = watcher.run(stop.signal);
  const settle = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) await tick();
  };
  const wanted = new Set<string>(['f1']);
  void watcher.supervisor.add(feed.container('f1'), 'zone');
  const live: string[] = [];
  for (let n = 0; n < 8; n += 1) {
    const vm = `vm-${n}`;
    feed.create(pick(folders), vm, { name: vm, 'config.keyId': 'key' });
    objects.set(`ns/${vm}`, { namespace: 'ns', name: vm, uniqueId: vm, deleting: false });
    live.push(vm);
  }
  for (let step = 0; step < 60; step += 1) {
    const vm = pick(live);
    const roll = random();
    if (roll < 0.5) {
      count += 1;
      // Unset at most once: what is again what it was cannot be told from what it always was.
      if (random() < 0.1) feed.set(vm, 'config.keyId', undefined);
      else feed.set(vm, pick(['name', 'config.annotation', 'snapshot']), `v${count}`);
    } else if (roll < 0.6) {
      const name = `vm-new-${step}`;
      feed.create(pick(folders), name, { name });
      if (random() < 0.7) objects.set(`ns/${name}`, { namespace: 'ns', name, uniqueId: name, deleting: false });
      live.push(name);
    } else if (roll < 0.65) {
      feed.move(vm, pick(folders));
    } else if (roll < 0.7) feed.endSession();
    else if (roll < 0.8) {
      const folder = pick(folders);
      if (wanted.delete(folder)) void watcher.supervisor.remove(feed.container(folder), 'zone');
      else {
        wanted.add(folder);
        void watcher.supervisor.add(feed.container(folder), 'zone');
      }
    } else if (roll < 0.83) watcher.supervisor.resync();
    else if (roll < 0.86) {
      // From here on the user may not see a folder, or may again.
      const folder = pick(folders);
      if (!feed.forbidden.delete(folder)) feed.forbidden.add(folder);
      feed.endSession();
    } else clock.advance(Math.floor(random() * 20_000));
    await settle(Math.floor(random() * 8));
  }
  // Late objects appear; all containers are watched; the world calms down.
  calm = true;
  feed.forbidden.clear();
  for (const vm of live) {
    if (objects.has(`ns/${vm}`)) continue;
    objects.set(`ns/${vm}`, { namespace: 'ns', name: vm, uniqueId: vm, deleting: false });
    watcher.courier.claimed({ uniqueId: vm, namespacedName: `ns/${vm}` });
  }
  for (const folder of folders) void watcher.supervisor.add(feed.container(folder), 'zone');
  for (let round = 0; round < 60; round += 1) {
    await settle(6);
    clock.advance(10_000);
  }
  const missed = live.filter((vm) => reconciled.get(vm) !== feed.describe(vm));
  const twice = [...baseline].filter(([, times]) => times > 1);
  const { state } = watcher.supervisor;
  stop.abort();
  await running;
  assert.ok(seed !== firstSeed() || faults > 0, 'nothing went wrong: this proves nothing');
  if (state.name !== 'live') return `the watch ends ${state.name} (${state.reason ?? ''})`;
  if (feed.open !== 0) return `${feed.open} watches are left on the server`;
  if (twice.length > 0) return `taken for known more than once: ${twice.join(' ')}`;
  return missed.length === 0 ? '' : `lost changes of ${missed.join()}`;
}

test(`no change is lost over histories of changes, broken connections, lost sessions, moved, dropped and forbidden containers, refused deliveries`, async () => {
  for (const seed of seeds(100, 100_000, 'histories'))
    await withSeed(seed, FILE, async () => assert.equal(await play(seed), ''));
});

test('negative control: a change that is forgotten before it was delivered is caught', async () => {
  const caught: string[] = [];
  for (let seed = 1; seed <= 20; seed += 1) caught.push(await play(seed, true));
  assert.ok(caught.filter((what) => what.includes('lost changes')).length > 5, caught.join('\n'));
});
