import fs from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type FsOps, type FsTap, inspect, isChange, nodeOps, recover, tapOps } from '@drydock/durable';
import type { Content } from '@drydock/durable/testing';
import { type Kind, powerRig } from './power-rig.ts';

/** What must be old or new at every moment. */
export interface Watched {
  readonly name: string;
  /** Below the root. */
  readonly path: string;
  readonly old: Content | undefined;
  readonly wanted: Content | undefined;
}

/** Something that writes, and what it may leave. Paths lie below the root that `act` is given. */
export interface Cuttable {
  prepare(ops: FsOps, root: string): Promise<unknown>;
  act(ops: FsOps, root: string): Promise<unknown>;
  readonly watched: readonly Watched[];
  /** Default true. */
  readonly exchange?: boolean;
  /** Default: ours. */
  readonly recover?: (root: string) => Promise<unknown>;
  /** One clean run afterwards: must complete it, and leave nothing over. */
  readonly again?: (ops: FsOps, root: string) => Promise<unknown>;
  /** What else runs before nothing may be left over. */
  readonly later?: (ops: FsOps, root: string) => Promise<unknown>;
  /** What must hold between the watched: names of those that are new → what is wrong with that. */
  readonly order?: (isNew: ReadonlySet<string>) => string | undefined;
}

/** How often each outcome was seen of one watched path. */
export interface Outcomes {
  points: number;
  old: number;
  new: number;
  /** Neither old nor new, or against the order. */
  corrupt: string[];
  /** Acknowledged, and old after the cut. */
  lost: number;
  /** Cuts after which it was neither, before recovery ran. */
  healed: number;
}

/** Cuts the power after each call that changes something, with or without somebody else's sync just before, and looks at what is watched, in its order. */
export async function cutEverywhere(kind: Kind, job: Cuttable, others: boolean): Promise<readonly Outcomes[]> {
  const seen = job.watched.map((one) => ({
    one,
    outcomes: { points: 0, old: 0, new: 0, corrupt: [], lost: 0, healed: 0 } as Outcomes,
  }));
  using rig = await powerRig(kind, async (mounted) => {
    fs.mkdirSync(join(mounted, 'r'));
    await job.prepare(aliveOps(), join(mounted, 'r'));
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
    for (const { one, outcomes } of seen) if (stateOf(root, one) === undefined) outcomes.healed += 1;
    await (job.recover ?? ((at) => recover(at, { ops: aliveOps() })))(root);
    const states = new Map(seen.map(({ one }) => [one.name, stateOf(root, one)]));
    const wrong = job.order?.(new Set([...states].filter(([, state]) => state === 'new').map(([name]) => name)));
    for (const { one, outcomes } of seen) {
      const state = wrong === undefined ? states.get(one.name) : undefined;
      outcomes.points += 1;
      if (state === undefined) outcomes.corrupt.push(wrong ?? textAt(root, one));
      else outcomes[state] += 1;
      if (state === 'old' && acked) outcomes.lost += 1;
    }
    if (job.again !== undefined) await completes(job, root, point);
  }
  return seen.map(({ outcomes }) => outcomes);
}

/** The operations under an identity of their own: what a process knows to be durable dies with it. */
function aliveOps(): FsOps {
  return { ...nodeOps };
}

async function completes(job: Cuttable, root: string, point: number): Promise<void> {
  const ops = aliveOps();
  await job.again?.(ops, root);
  for (const one of job.watched)
    if (stateOf(root, one) !== 'new')
      throw new Error(`point ${point}: a clean run afterwards leaves ${one.name} ${textAt(root, one)}`);
  await job.later?.(ops, root);
  const { leftovers } = await inspect(root, { ops });
  if (leftovers.length > 0)
    throw new Error(`point ${point}: a clean run afterwards leaves ${leftovers.map(({ path }) => path).join()}`);
}

function stateOf(root: string, { path, old, wanted }: Watched): 'old' | 'new' | undefined {
  const found = contentAt(join(root, path));
  if (isDeepStrictEqual(found, wanted)) return 'new';
  return isDeepStrictEqual(found, old) ? 'old' : undefined;
}

function textAt(root: string, { path }: Watched): string {
  const found = contentAt(join(root, path));
  return found === undefined ? 'missing' : JSON.stringify(found);
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
    ...noting(open, () => false),
    ...(exchange ? {} : { exchange: () => Promise.reject(Object.assign(new Error('EINVAL'), { code: 'EINVAL' })) }),
  };
  return tapOps(machine, tap);
}

/** The machine's operations, with their open descriptors noted; once `dead` says so nothing is closed any more. */
export function noting(open: Set<number>, dead: () => boolean): FsOps {
  return {
    ...nodeOps,
    open: async (path, how, mode) => {
      const file = await nodeOps.open(path, how, mode);
      open.add(file.fd);
      return file;
    },
    close: async (file) => {
      if (dead()) return;
      open.delete(file.fd);
      await nodeOps.close(file);
    },
  };
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
