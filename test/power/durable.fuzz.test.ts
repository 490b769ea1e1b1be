import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { type FsOps, nodeOps, recover, syncDir, tapOps } from '@drydock/durable';
import { generator } from '@drydock/model';
import { contentAt } from './crash-points.ts';
import { cannotRun, type Kind, type PowerRig, powerRig } from './power-rig.ts';

// Directories are replaced in a loop while others sync, and the power goes at a random moment, with syncs and swaps under way.

const CUTS = process.env['DRYDOCK_SOAK'] === undefined ? 100 : 10_000;
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const fsync = promisify(fs.fsync);
const kinds: readonly Kind[] = ['ext4', 'xfs'];

const generation = (number: number): Map<string, { content: string }> =>
  new Map(NAMES.map((name) => [name, { content: `${name} ${number}` }]));

interface Cut {
  /** The last generation whose promise resolved. */
  readonly acked: number;
  /** The generation found after the restart; undefined where the directory holds parts of several, or none. */
  readonly found: number | undefined;
}

/** One life and death. `weaken` may leave syncs out. */
async function cutOnce(rig: PowerRig, random: () => number, weaken: (ops: FsOps) => FsOps): Promise<Cut> {
  using disk = rig.boot();
  const target = join(disk.root, 'r', 't');
  const open = new Set<number>();
  let left = 40 + Math.floor(random() * 600);
  let off = false;
  const machine: FsOps = {
    ...nodeOps,
    open: async (path, how, mode) => {
      const file = await nodeOps.open(path, how, mode);
      open.add(file.fd);
      return file;
    },
    close: async (file) => {
      if (off) return;
      open.delete(file.fd);
      await nodeOps.close(file);
    },
  };
  const ops = tapOps(machine, async (_, run) => {
    left -= 1;
    if (left === 0) {
      off = true;
      disk.shutdown();
    }
    return run();
  });
  const noise = [0, 1].map(async (lane) => {
    const fd = fs.openSync(join(disk.root, `noise-${lane}`), 'w');
    try {
      while (!off) {
        fs.writeSync(fd, 'x', 0);
        await fsync(fd);
      }
    } catch (error) {
      if (!off) throw error;
    } finally {
      fs.closeSync(fd);
    }
  });
  let acked = 0;
  try {
    while (!off) {
      await syncDir({ target, files: generation(acked + 1), ops: weaken(ops) });
      // A process without power acknowledges nothing: XFS calls a sync done whose log it has just thrown away.
      if (!off) acked += 1;
    }
  } catch (error) {
    if (!off) throw error;
  }
  await Promise.all(noise);
  disk.restart(open);
  await recover(join(disk.root, 'r'));
  const content = contentAt(target);
  const numbers = new Set(
    Object.values(typeof content === 'object' ? content : {}).map((text) => JSON.stringify(text).slice(3, -1)),
  );
  const [only = ''] = numbers;
  const whole = typeof content === 'object' && Object.keys(content).join() === NAMES.join() && numbers.size === 1;
  return { acked, found: whole && only !== '' ? Number(only) : undefined };
}

async function cutMany(
  kind: Kind,
  count: number,
  seed: number,
  weaken: (ops: FsOps) => FsOps,
): Promise<readonly Cut[]> {
  using rig = await powerRig(kind, (root) => {
    fs.mkdirSync(join(root, 'r'));
    return syncDir({ target: join(root, 'r', 't'), files: generation(0) });
  });
  const random = generator(seed);
  const cuts: Cut[] = [];
  for (let turn = 0; turn < count; turn += 1) cuts.push(await cutOnce(rig, random, weaken));
  return cuts;
}

const bad = ({ acked, found }: Cut): boolean => found === undefined || found < acked || found > acked + 1;

for (const kind of kinds) {
  const skip = cannotRun(kind);
  // 10,000 cuts take the better part of an hour.
  test(`power cut, ${kind}, at random: whole, and never older than what was acknowledged`, {
    skip,
    timeout: 7_200_000,
  }, async (t) => {
    const seed = Date.now() % 1_000_000;
    const cuts = await cutMany(kind, CUTS, seed, (ops) => ops);
    const acked = cuts.reduce((sum, cut) => sum + cut.acked, 0);
    t.diagnostic(
      `seed ${seed}: ${cuts.length} cuts, ${acked} acknowledged generations, ${cuts.filter(bad).length} bad`,
    );
    assert.deepEqual(cuts.filter(bad), [], `seed ${seed}`);
    assert.ok(acked > cuts.length, 'the power went before anything was written');
  });

  test(`power cut, ${kind}, at random, negative control: without syncs it comes out red`, { skip }, async (t) => {
    const unsynced = (ops: FsOps): FsOps => ({ ...ops, fsync: async () => undefined });
    const cuts = await cutMany(kind, 5, 1, unsynced);
    t.diagnostic(`${cuts.filter(bad).length} of ${cuts.length} bad`);
    assert.ok(cuts.some(bad));
  });
}
