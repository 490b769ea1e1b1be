import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { recover } from '@drydock/durable';
import { type Content, protocols } from '@drydock/durable/testing';
import { generator, seeds, soaking, withSeed } from '@drydock/model';
import { contentAt } from './crash-points.ts';
import { boot, emulated, findKernel, type Kernel, makeMachine, run } from './qemu/machine.ts';

// A whole machine dies, with its kernel: emulated, so only in a soak. It needs no root.

const FILE = 'test/power/qemu.test.ts';
const found = soaking ? findKernel() : 'a whole machine is cut only in a soak (DRYDOCK_SOAK=1)';
const skip = typeof found === 'string' ? found : false;

async function machine(): Promise<{ readonly dir: string; readonly kernel: Kernel } & Disposable> {
  if (typeof found === 'string') throw new Error(found);
  const dir = fs.mkdtempSync(join(tmpdir(), 'qemu-'));
  makeMachine(dir, found);
  fs.renameSync(join(dir, 'disk'), join(dir, 'fresh'));
  return { dir, kernel: found, [Symbol.dispose]: () => fs.rmSync(dir, { recursive: true }) };
}

/** Replays the journal of a disk and takes a directory out of it, without mounting it. */
function diskAt(dir: string, disk: string, place: string): string {
  const [copy, out] = [join(dir, 'copy'), join(dir, 'out')];
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out);
  run('cp', '--sparse=always', join(dir, disk), copy);
  // 1: it had something to do.
  run('sh', '-c', `e2fsck -fp '${copy}' > '${copy}.said' || [ $? = 1 ] || { cat '${copy}.said' >&2; exit 1; }`);
  run('debugfs', '-R', `rdump /${place} ${out}`, copy);
  return join(out, place);
}

interface Wanted {
  readonly path: string;
  readonly old: Content | undefined;
  readonly wanted: Content | undefined;
  readonly exchange: boolean;
}

function wantedOf(place: string): Wanted {
  const pair = (text: string): Content => ({ a: `${text} a`, b: `${text} b` });
  const unsynced = { path: '/t', old: pair('old'), wanted: pair('new'), exchange: true };
  const one = place.startsWith('unsynced') ? unsynced : protocols('/')[Number.parseInt(place, 10)];
  assert.ok(one !== undefined, place);
  return one;
}

async function stateIn(root: string, one: Wanted): Promise<string> {
  if (!one.exchange) await recover(root);
  const content = contentAt(join(root, one.path));
  if (isDeepStrictEqual(content, one.wanted)) return 'new';
  return isDeepStrictEqual(content, one.old) ? 'old' : `corrupt: ${JSON.stringify(content)}`;
}

/** Boots once, and looks at the disk at every stop: place → what was told and found → how often. */
async function everyStop(dir: string, kernel: Kernel): Promise<ReadonlyMap<string, Readonly<Record<string, number>>>> {
  run('cp', '--sparse=always', join(dir, 'fresh'), join(dir, 'disk'));
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
  assert.ok(seen.get('unsynced-quiet')?.['acked old'] === 1, 'negative control: unsynced, it must be lost');
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
    for (const seed of seeds(2, 10))
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
  run('cp', '--sparse=always', join(dir, 'fresh'), join(dir, 'disk'));
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
