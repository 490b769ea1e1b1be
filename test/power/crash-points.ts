import fs from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type FsOps, type FsTap, isChange, nodeOps, recover, tapOps } from '@drydock/durable';
import type { Content } from '@drydock/durable/testing';
import { type Kind, powerRig } from './power-rig.ts';

/** Something that writes, and what its target may be. Paths lie below the root that `at` is given. */
export interface Cuttable {
  prepare(ops: FsOps, root: string): Promise<unknown>;
  act(ops: FsOps, root: string): Promise<unknown>;
  /** The target's path below the root. */
  readonly path: string;
  readonly old: Content | undefined;
  readonly wanted: Content | undefined;
  readonly exchange?: boolean;
  /** Default: ours. */
  readonly recover?: (root: string) => Promise<unknown>;
}

/** How often each outcome was seen. */
export interface Outcomes {
  points: number;
  old: number;
  new: number;
  /** Neither old nor new. */
  corrupt: string[];
  /** Acknowledged, and old after the cut. */
  lost: number;
  /** Cuts after which the target was neither, before recovery ran. */
  healed: number;
}

/** Cuts the power after each call that changes something, with or without somebody else's sync just before, and looks at the target. */
export async function cutEverywhere(kind: Kind, job: Cuttable, others: boolean): Promise<Outcomes> {
  const outcomes: Outcomes = { points: 0, old: 0, new: 0, corrupt: [], lost: 0, healed: 0 };
  using rig = await powerRig(kind, async (mounted) => {
    fs.mkdirSync(join(mounted, 'r'));
    await job.prepare(nodeOps, join(mounted, 'r'));
  });
  for (let point = 0, acked = false; !acked; point += 1) {
    using disk = rig.boot();
    const root = join(disk.root, 'r');
    const open = new Set<number>();
    acked = await job.act(mortal(point, open, job.exchange ?? true), root).then(
      () => true,
      (error: unknown) => {
        if (String(error).includes(DEAD)) return false;
        throw error;
      },
    );
    if (others) disk.othersSync();
    disk.shutdown();
    disk.restart(open);
    const target = join(root, job.path);
    const isOneOf = (): boolean => [job.old, job.wanted].some((one) => isDeepStrictEqual(contentAt(target), one));
    if (!isOneOf()) outcomes.healed += 1;
    await (job.recover ?? recover)(root);
    const found = contentAt(target);
    outcomes.points += 1;
    if (isDeepStrictEqual(found, job.wanted)) outcomes.new += 1;
    else if (isDeepStrictEqual(found, job.old)) {
      outcomes.old += 1;
      if (acked) outcomes.lost += 1;
    } else outcomes.corrupt.push(found === undefined ? 'missing' : JSON.stringify(found));
  }
  return outcomes;
}

const DEAD = 'the process is dead';

/** Operations of a process that dies after its `point`-th change. */
function mortal(point: number, open: Set<number>, exchange: boolean): FsOps {
  let changes = 0;
  let dead = point === 0;
  const tap: FsTap = async (call, run) => {
    if (dead) throw new Error(DEAD);
    const result = await run();
    if (isChange(call)) changes += 1;
    if (changes === point) dead = true;
    return result;
  };
  const machine: FsOps = {
    ...nodeOps,
    open: async (path, how, mode) => {
      const file = await nodeOps.open(path, how, mode);
      open.add(file.fd);
      return file;
    },
    close: async (file) => {
      open.delete(file.fd);
      await nodeOps.close(file);
    },
    ...(exchange ? {} : { exchange: () => Promise.reject(Object.assign(new Error('EINVAL'), { code: 'EINVAL' })) }),
  };
  return tapOps(machine, tap);
}

/** What is at a path, as the crash model writes it. */
export function contentAt(path: string): Content | undefined {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (stat.isSymbolicLink()) return `-> ${fs.readlinkSync(path)}`;
  if (!stat.isDirectory()) return fs.readFileSync(path, 'latin1');
  const names = fs.readdirSync(path).sort();
  return Object.fromEntries(names.map((name) => [name, contentAt(join(path, name)) ?? '']));
}
