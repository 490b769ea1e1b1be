import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { protocols } from '@drydock/durable/testing';
import { generator, seeds, withSeed } from '@drydock/model';
import { boot, emulated, type Kernel } from './qemu/machine.ts';
import { copyDisk, diskAt, machine, skip, stateIn, wantedOf } from './qemu/machine-disk.ts';
import { keptAndFree, type LoggedWrite, loggedSoFar, readWriteLog, replay } from './qemu/write-log.ts';

// A whole machine dies, with its kernel: emulated, so only in a soak. It needs no root.

const FILE = 'test/power/qemu.test.ts';
/** Boots once, and looks at the disk at every stop: place → what was told and found → how often. */
async function everyStop(dir: string, kernel: Kernel): Promise<ReadonlyMap<string, Readonly<Record<string, number>>>> {
  copyDisk(dir, 'fresh', 'disk');
  await using guest = boot(dir, kernel, 'writeback');
  const seen = new Map<string, Record<string, number>>();
  for (let stop = await guest.next(); stop !== 'END'; stop = await guest.next()) {
    const [place = '', told = ''] = stop.split(' ');
    const state = await stateIn(diskAt(dir, 'disk', place), wantedOf(place));
    const counts = seen.get(place) ?? {};
    seen.set(place, counts);
    const key = `${told} ${state}`;
    counts[key] = (counts[key] ?? 0) + 1;
    guest.go();
  }
  return seen;
}

test('power cut, whole machine: old or new after each call of every operation, and new once acknowledged', {
  skip,
  timeout: 1_800_000,
}, async (t) => {
  using world = await machine();
  const seen = await emulated(() => everyStop(world.dir, world.kernel));
  for (const [place, counts] of seen) {
    const { path } = wantedOf(place);
    t.diagnostic(`${place} ${path}: ${JSON.stringify(counts)}`);
    if (place.startsWith('unsynced')) continue;
    const wrong = Object.keys(counts).filter((key) => key.includes('corrupt') || key === 'acked old');
    assert.deepEqual(wrong, [], place);
  }
  assert.equal(seen.size, 2 * protocols('/').length + 2);
  // Old on a fast machine; on a slow one the kernel has written names in the background, and no content.
  assert.ok(
    Object.keys(seen.get('unsynced-quiet') ?? {}).some((key) => key === 'acked old' || key.startsWith('acked corrupt')),
    'negative control: unsynced, it must be lost',
  );
  assert.ok(
    Object.keys(seen.get('unsynced-others') ?? {}).some((key) => key.includes('corrupt')),
    'negative control: unsynced while others sync, it must be torn',
  );
});

for (const cache of ['writeback', 'none'] as const)
  test(`power cut, whole machine, killed with cache=${cache}: what was acknowledged is there, what was under way is old or new`, {
    skip,
    timeout: 3_600_000,
  }, async (t) => {
    using world = await machine();
    for (const seed of seeds(2, 10, 'cut machines'))
      await withSeed(seed, FILE, async () => {
        const said = await emulated(() => killedOnce(world.dir, world.kernel, cache, generator(seed)));
        t.diagnostic(`seed ${seed}: ${said}`);
      });
  });

/** Boots, kills the machine between two stops, and looks at the disk. */
async function killedOnce(
  dir: string,
  kernel: Kernel,
  cache: 'writeback' | 'none',
  random: () => number,
): Promise<string> {
  copyDisk(dir, 'fresh', 'disk');
  await using guest = boot(dir, kernel, cache);
  const acked: string[] = [];
  let at = '';
  for (let left = 1 + Math.floor(random() * 24 * protocols('/').length); left > 0; left -= 1) {
    const stop = await guest.next();
    if (stop === 'END') break;
    const [place = '', told = ''] = stop.split(' ');
    if (told === 'acked') acked.push(place);
    at = place;
    guest.go();
  }
  // It runs on for a moment, up to the next stop at most.
  await sleep(random() * 30);
  await guest.kill();
  const results: Record<string, number> = {};
  for (const place of new Set([...acked, at])) {
    if (place.startsWith('unsynced')) continue;
    const state = await stateIn(diskAt(dir, 'disk', place), wantedOf(place));
    if (acked.includes(place)) assert.equal(state, 'new', `${place} was acknowledged`);
    else assert.doesNotMatch(state, /corrupt/, place);
    results[state] = (results[state] ?? 0) + 1;
  }
  return `killed in ${at}, ${acked.length} acknowledged, ${JSON.stringify(results)}`;
}

/** A moment at which the guest stopped, and how many requests its disk had got by then. */
interface LoggedStop {
  readonly place: string;
  readonly told: string;
  readonly requests: number;
}

/** Boots once; what the disk was asked for is in `log`. */
async function loggedRun(dir: string, kernel: Kernel): Promise<readonly LoggedStop[]> {
  copyDisk(dir, 'fresh', 'disk');
  await using guest = boot(dir, kernel, 'logged');
  const stops: LoggedStop[] = [];
  for (let stop = await guest.next(); stop !== 'END'; stop = await guest.next()) {
    const [place = '', told = ''] = stop.split(' ');
    stops.push({ place, told, requests: loggedSoFar(join(dir, 'log')) });
    guest.go();
  }
  return stops;
}

/** The disk as the power leaves it that comes with `requests` in its cache: what was flushed, and some of the rest. */
async function cutWith(
  dir: string,
  { place, told }: LoggedStop,
  kept: readonly LoggedWrite[],
  free: readonly LoggedWrite[],
): Promise<string> {
  copyDisk(dir, 'fresh', 'disk');
  replay(
    join(dir, 'log'),
    [...kept, ...free].sort((a, b) => a.from - b.from),
    join(dir, 'disk'),
  );
  try {
    return `${told} ${await stateIn(diskAt(dir, 'disk', place), wantedOf(place))}`;
  } catch (error) {
    return `${told} corrupt: ${String(error)}`;
  }
}

test('power cut, whole machine, a disk that loses any part of its own cache: old or new at each call, and new once acknowledged', {
  skip,
  timeout: 7_200_000,
}, async (t) => {
  using world = await machine();
  const { dir, kernel } = world;
  const stops = await emulated(() => loggedRun(dir, kernel));
  const writes = readWriteLog(join(dir, 'log'));
  const seen: Record<string, number> = {};
  const wrong: string[] = [];
  let [cuts, lost] = [0, 0];
  for (const seed of seeds(1, 5, 'cut machines')) {
    const random = generator(seed);
    for (const stop of stops) {
      const { kept, free } = keptAndFree(writes, stop.requests);
      const lucky = free.filter(() => random() < 0.5);
      const state = await cutWith(dir, stop, kept, lucky);
      cuts += 1;
      lost += free.length - lucky.length;
      const bad = state.includes('corrupt') || state === 'acked old';
      const key = `${stop.place.startsWith('unsynced') ? stop.place : 'synced'}: ${bad && state.includes('corrupt') ? 'corrupt' : state}`;
      seen[key] = (seen[key] ?? 0) + 1;
      if (bad && key.startsWith('synced')) wrong.push(`seed ${seed}, ${stop.place}: ${state}`);
    }
  }
  t.diagnostic(`${writes.length} requests, ${cuts} cuts, ${lost} writes lost: ${JSON.stringify(seen)}`);
  assert.deepEqual(wrong, []);
  assert.ok(lost > cuts, 'the disk had nothing to lose');
  assert.ok(
    (seen['unsynced-quiet: acked old'] ?? seen['unsynced-quiet: corrupt'] ?? 0) > 0,
    'negative control: unsynced, it must be lost',
  );
  assert.ok(
    (seen['unsynced-others: corrupt'] ?? 0) > 0,
    'negative control: unsynced while others sync, it must be torn',
  );
  // Negative control of the rig itself: on a disk that does not do what a flush asks for, nobody can be safe.
  const random = generator(1);
  const lying: string[] = [];
  for (const stop of stops.filter(({ told }) => told === 'acked')) {
    const some = writes.slice(0, stop.requests).filter(() => random() < 0.9);
    lying.push(await cutWith(dir, stop, [], some));
  }
  assert.ok(
    lying.some((state) => state.includes('corrupt') || state === 'acked old'),
    'a disk that lies about flushes',
  );
});
