import fs from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type FsOps, tapOps } from '@drydock/durable';
import { generator, seeds } from '@drydock/model';
import { noting } from './crash-points.ts';
import { type Kind, type PowerRig, powerRig } from './power-rig.ts';

/** Something that writes until the power goes, and knows what was acknowledged. */
export interface Life {
  /** Works while `on`; what it is told counts only if it is still on afterwards. May fail once it is not. */
  live(ops: FsOps, root: string, on: () => boolean): Promise<void>;
  /** Looks at the disk after the restart, brings it back to work, and says what is wrong. */
  judge(root: string): Promise<string | undefined>;
  /** For the figures: what was going on when the power went. */
  readonly cutIn: () => string;
  readonly acknowledged: () => number;
}

/** A kind of life. */
export interface Lives {
  prepare(root: string): Promise<unknown>;
  begin(random: () => number): Life;
  /** Calls to the file system that a life lasts at most. */
  readonly longest: number;
}

/** What many cuts came to. */
export interface FuzzReport {
  readonly cuts: number;
  readonly acknowledged: number;
  /** What was going on, and how often. */
  readonly cutIn: Readonly<Record<string, number>>;
  /** By seed. */
  readonly wrong: ReadonlyMap<number, string>;
}

const fsync = promisify(fs.fsync);

/**
 * Cuts one life for each seed (100, or 10,000 in a soak) while others sync without rest. A seed gives the same life and the same cut; how the calls
 * interleave is the machine's. `weaken` may leave syncs out.
 */
export async function fuzz(
  kind: Kind,
  lives: Lives,
  count: Iterable<number> = seeds(100, 10_000, 'cuts'),
  weaken: (ops: FsOps) => FsOps = (ops) => ops,
): Promise<FuzzReport> {
  using rig = await powerRig(kind, (at) => {
    fs.mkdirSync(join(at, 'r'));
    return lives.prepare(join(at, 'r'));
  });
  const wrong = new Map<number, string>();
  const cutIn: Record<string, number> = {};
  let cuts = 0;
  let acknowledged = 0;
  for (const seed of count) {
    const life = await cutOnce(rig, lives, seed, weaken, (problem) => wrong.set(seed, problem));
    cuts += 1;
    acknowledged += life.acknowledged();
    cutIn[life.cutIn()] = (cutIn[life.cutIn()] ?? 0) + 1;
  }
  return { cuts, acknowledged, cutIn, wrong };
}

/** How to have the failures of a report again; empty where there is none. */
export function again({ wrong }: FuzzReport, file: string): string {
  return [...wrong]
    .map(([seed, said]) => `seed ${seed}: ${said}\nAgain: DRYDOCK_SEED=${seed} npm test -- ${file}`)
    .join('\n');
}

async function cutOnce(
  rig: PowerRig,
  lives: Lives,
  seed: number,
  weaken: (ops: FsOps) => FsOps,
  onWrong: (problem: string) => void,
): Promise<Life> {
  const random = generator(seed);
  using disk = rig.boot();
  const open = new Set<number>();
  let left = 1 + Math.floor(random() * lives.longest);
  let on = true;
  const ops = tapOps(
    noting(open, () => !on),
    (_, run) => {
      left -= 1;
      if (left === 0) {
        on = false;
        disk.shutdown();
      }
      return run();
    },
  );
  const noise = [0, 1].map((lane) => noiseIn(join(disk.root, `noise-${lane}`), () => on));
  const life = lives.begin(random);
  const root = join(disk.root, 'r');
  try {
    await life.live(weaken(ops), root, () => on);
    if (on) throw new Error(`seed ${seed}: the life ended before the power went`);
  } catch (error) {
    if (on) throw error;
  } finally {
    on = false;
    await Promise.all(noise);
  }
  disk.restart(open);
  const problem = await life.judge(root).catch((error: unknown) => `after the restart: ${String(error)}`);
  if (problem !== undefined) onWrong(problem);
  return life;
}

async function noiseIn(path: string, on: () => boolean): Promise<void> {
  const fd = fs.openSync(path, 'w');
  try {
    while (on()) {
      fs.writeSync(fd, 'x', 0);
      await fsync(fd);
    }
  } catch (error) {
    if (on()) throw error;
  } finally {
    fs.closeSync(fd);
  }
}
