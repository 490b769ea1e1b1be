import { DurableError } from '../errors.ts';
import { type FsOps, type FsTap, tapOps } from '../ops.ts';
import { type CrashModel, crashStates, diskText } from './crash-states.ts';
import { type Image, type MemoryFs, memoryFs } from './memory-fs.ts';

/** What the caller knew when the power went: `unknown` after an error that does not promise the old content. */
export type Told = 'nothing' | 'acked' | 'aborted' | 'unknown';

/** An operation whose every crash is to be tried. */
export interface CrashScenario {
  /** What the disk holds, durably, before it. */
  readonly image: Image;
  /** The operation. */
  act(ops: FsOps): Promise<unknown>;
  /** What runs after a restart. */
  recover?(ops: FsOps): Promise<unknown>;
  /** Undefined where the disk is as it may be; otherwise what is wrong with it. */
  judge(image: Image, told: Told): string | undefined;
  /** The same for the disk as the cut leaves it, before `recover`. Default: not looked at. */
  judgeBefore?(image: Image, told: Told): string | undefined;
  readonly models?: readonly CrashModel[];
  /** False: the file system cannot exchange. */
  readonly exchange?: boolean;
  /** Sees the operation's calls, for faults and for leaving out a sync. */
  readonly tap?: FsTap;
  /** Cut `recover` too, anywhere. */
  readonly pairs?: boolean;
}

/** The result of an exploration. */
export interface CrashReport {
  /** Different findings, with the model that shows them. */
  readonly violations: readonly string[];
  /** Subsets of unsynced effects that were looked at. */
  readonly explored: number;
  /** Different disks. */
  readonly disks: number;
  readonly told: Told;
  readonly error: unknown;
  /** What a reader sees at the end, without a cut. */
  readonly now: Image;
}

/** Runs the operation once, and then judges every disk that a power cut could have left, after recovery. */
export async function exploreCrashes(scenario: CrashScenario): Promise<CrashReport> {
  const fs = memoryFs(optionsOf(scenario, scenario.image));
  let told: Told = 'acked';
  let error: unknown;
  try {
    await scenario.act(scenario.tap === undefined ? fs : tapOps(fs, scenario.tap));
  } catch (thrown) {
    error = thrown;
    told = thrown instanceof DurableError && thrown.visible === 'old' ? 'aborted' : 'unknown';
  }
  fs.mark(told);
  const violations = new Set<string>();
  const problem = scenario.judge(fs.now(), told);
  if (problem !== undefined) violations.add(`reader: ${problem}`);
  let explored = 0;
  let disks = 0;
  for (const model of scenario.models ?? ['ext4', 'weak', 'torn']) {
    const found = crashStates(fs, model);
    explored += found.explored;
    for (const { image, marks } of found.states) {
      disks += 1;
      const at = (marks[0] ?? 'nothing') as Told;
      const before = scenario.judgeBefore?.(image, at);
      if (before !== undefined) violations.add(`${model}, ${at}, before recovery: ${before}`);
      for (const problem of await afterRestart(scenario, image, at, model))
        violations.add(`${model}, ${at}: ${problem}`);
    }
  }
  return { violations: [...violations], explored, disks, told, error, now: fs.now() };
}

/** Runs the operation without faults, once for each of its syncs, leaving that one out: each must make the exploration red. */
export async function withoutEachSync(
  scenario: CrashScenario,
): Promise<readonly { readonly left: string; readonly report: CrashReport }[]> {
  const syncs: string[] = [];
  const count: FsTap = (call, run) => {
    if (call.op === 'fsync' || call.op === 'syncfs') syncs.push(call.path);
    return run();
  };
  await exploreCrashes({ ...scenario, models: [], tap: count });
  const results = [];
  for (const [index, path] of syncs.entries()) {
    let seen = -1;
    const tap: FsTap = (call, run) => {
      if (call.op !== 'fsync' && call.op !== 'syncfs') return run();
      seen += 1;
      // What runs answers nothing, so leaving it out is the same to the caller.
      return seen === index ? (Promise.resolve() as ReturnType<typeof run>) : run();
    };
    results.push({ left: `${index} ${path}`, report: await exploreCrashes({ ...scenario, tap }) });
  }
  return results;
}

async function afterRestart(
  scenario: CrashScenario,
  image: Image,
  told: Told,
  model: CrashModel,
): Promise<readonly string[]> {
  if (scenario.recover === undefined) return list(scenario.judge(image, told));
  const fs = await restart(scenario, image);
  const problems = [...list(scenario.judge(fs.now(), told))];
  if (scenario.pairs !== true) return problems;
  const seen = new Set([diskText(image)]);
  for (const second of crashStates(fs, model).states) {
    const key = diskText(second.image);
    if (seen.has(key)) continue;
    seen.add(key);
    const again = await restart(scenario, second.image);
    problems.push(...list(scenario.judge(again.now(), told)).map((problem) => `second cut: ${problem}`));
  }
  return problems;
}

async function restart(scenario: CrashScenario, image: Image): Promise<MemoryFs> {
  const fs = memoryFs(optionsOf(scenario, image));
  await scenario.recover?.(fs);
  return fs;
}

function optionsOf({ exchange = true }: CrashScenario, image: Image): { image: Image; exchange: boolean } {
  return { image, exchange };
}

function list(problem: string | undefined): readonly string[] {
  return problem === undefined ? [] : [problem];
}

/** What is at a path of a disk: the text of a file, the target of a link as `-> target`, or the entries of a directory; undefined where nothing is. */
export type Content = string | { readonly [name: string]: Content };

/** Reads a path of a disk. */
export function contentOf(image: Image, path: string): Content | undefined {
  const ino = inodeAt(image, path);
  return ino === undefined ? undefined : contentAt(image, ino);
}

/** The inode at a path of a disk; links are not followed. */
export function inodeAt(image: Image, path: string): number | undefined {
  let ino: number | undefined = 1;
  for (const part of path.split('/').filter((piece) => piece !== ''))
    ino = ino === undefined ? undefined : image.entries.get(ino)?.get(part);
  return ino;
}

function contentAt(image: Image, ino: number): Content {
  const inode = image.inodes.get(ino);
  if (inode?.kind === 'symlink') return `-> ${inode.data}`;
  if (inode?.kind !== 'directory') return inode?.data ?? '';
  const names = [...(image.entries.get(ino) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(names.map(([name, child]) => [name, contentAt(image, child)]));
}
