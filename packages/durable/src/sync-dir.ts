import { basename, dirname } from 'node:path';
import { DurableError, during, invalid, type Visible } from './errors.ts';
import { checkName, checkPath, checkTarget, contains, ownName } from './names.ts';
import { nodeOps } from './node-ops.ts';
import { makeParents } from './parents.ts';
import { putBackOld } from './recover.ts';
import { type DurableOptions, type Session, session } from './session.ts';
import { isDirectorySettled, isSettled, settle, settleDirectory, treeMark } from './settled.ts';
import { type ExchangePolicy, type Swapped, swap } from './swap.ts';
import { directoryJob, type SyncJob, syncAll } from './sync-all.ts';
import {
  existingTree,
  type FileSpec,
  holdsTree,
  type PlannedTree,
  planTree,
  removeAll,
  stageTree,
  type Tree,
  withModesOf,
} from './tree.ts';

/** A directory and the files it shall hold, nothing else. */
export interface DirectorySpec {
  readonly target: string;
  /** Permissions of the directory; default: those of the one that is replaced, 0o755 where there is none. */
  readonly mode?: number;
  /**
   * Directory of the same file system in which the new content is built; made when absent. Default: beside the target, which saves one fsync.
   */
  readonly staging?: string;
  readonly files: ReadonlyMap<string, FileSpec>;
}

/** Options of {@link syncDir} and {@link syncDirs}. */
export interface SyncDirOptions extends DurableOptions {
  /**
   * `keep` (default): the directory, and each file whose name was there before, keep owner, ACL and extended attributes, or the operation fails. `fresh`: those
   * of new files.
   */
  readonly attributes?: 'keep' | 'fresh';
  /** Default `require`. */
  readonly exchange?: ExchangePolicy;
  /**
   * `fsync` (default) syncs what was written. `syncfs` makes the whole file system sync once: fewer flushes, but it also waits for what others wrote.
   */
  readonly strategy?: 'fsync' | 'syncfs';
}

/** What happened to one directory. */
export interface DirectoryResult {
  readonly target: string;
  /** False where the target held exactly the files already. */
  readonly changed: boolean;
  /** Whether an old directory was replaced. */
  readonly swapped: boolean;
  /** False where the fallback of `exchange: 'auto'` was needed. */
  readonly atomic: boolean;
  /** `deferred`: the replaced content could not be removed; `recover` does it. */
  readonly cleanup: 'done' | 'deferred';
}

/** What happened to all. */
export interface SyncDirsResult {
  readonly directories: readonly DirectoryResult[];
  /** False only where one lies on a file system in memory. */
  readonly durable: boolean;
  readonly fsyncs: number;
}

/** {@link DirectoryResult} of the one, with what it cost. */
export interface SyncDirResult extends DirectoryResult {
  readonly durable: boolean;
  readonly fsyncs: number;
}

/** A directory against what it shall hold. */
export type DirectoryMatch = 'absent' | 'equal' | 'different';

interface Place {
  readonly target: string;
  readonly staging: string;
  readonly staged: string;
}

/** One directory before anything was looked at. */
interface Planned extends Place {
  readonly planned: PlannedTree;
}

interface Item extends Place {
  readonly tree: Tree;
  /** Whose owners and attributes are kept. */
  readonly replaces: string | undefined;
}

/**
 * Makes a directory hold exactly the given files. A reader sees all the old files or all the new ones, a power cut leaves one of the two, and once it
 * resolves the new ones survive. N files cost N + 2 fsyncs, N + 3 with `staging` elsewhere. Where the content is equal already nothing is written.
 * One writer at a time: hold a lock ({@link lockFile}) where there may be two. Fails with a `DurableError`.
 */
export async function syncDir(spec: DirectorySpec & SyncDirOptions): Promise<SyncDirResult> {
  const { directories, durable, fsyncs } = await syncDirs([spec], spec);
  const [directory] = directories;
  if (directory === undefined) throw invalid(spec.target, 'nothing was done');
  return { ...directory, durable, fsyncs };
}

/**
 * {@link syncDir} for several directories: everything is staged and synced in one go, then each is swapped, then each parent is synced once. Each
 * directory is atomic, the batch is not: where a swap fails, those before it are in place, and the error says `unknown`.
 */
export async function syncDirs(specs: readonly DirectorySpec[], options: SyncDirOptions = {}): Promise<SyncDirsResult> {
  const planned = specs.map(plan);
  checkApart(planned);
  const run = session(options);
  run.signal?.throwIfAborted();
  const changed: Item[] = [];
  const equal: Item[] = [];
  const items: Item[] = [];
  for (const one of planned) {
    const { item, isEqual } = await observe(run, one, options.attributes ?? 'keep');
    items.push(item);
    (isEqual ? equal : changed).push(item);
  }
  await affirm(run, equal, changed.length === 0 ? 'new' : 'unknown');
  const results = new Map<Item, Swapped>();
  if (changed.length > 0) {
    try {
      await stage(run, changed, options.strategy ?? 'fsync');
      await publish(run, changed, options.exchange ?? 'require', results);
    } catch (error) {
      await discard(run, changed, results, error);
      throw error;
    }
  }
  const directories: DirectoryResult[] = [];
  for (const item of items) directories.push(await finish(run, item, results.get(item)));
  return { directories, durable: !(await isVolatile(run, items)), fsyncs: run.fsyncs() };
}

/** Whether a directory holds exactly the files: names, bytes, modes, and its own mode. What cannot be read differs. Changes and syncs nothing. */
export async function compareDirectory(
  spec: DirectorySpec,
  { ops = nodeOps }: Pick<DurableOptions, 'ops'> = {},
): Promise<DirectoryMatch> {
  const { target, planned } = plan(spec);
  const found = await ops.lstat(target).catch(() => 'unreadable');
  if (found === undefined) return 'absent';
  const tree = await withModesOf(ops, target, planned).catch(() => undefined);
  return tree !== undefined && (await holdsTree(ops, target, tree)) ? 'equal' : 'different';
}

function plan(spec: DirectorySpec): Planned {
  const target = checkTarget(spec.target);
  for (const name of spec.files.keys()) checkName(name, target);
  const staging = spec.staging === undefined ? dirname(target) : checkPath(spec.staging);
  if (contains(target, staging)) throw invalid(target, `the staging directory ${staging} lies in the target`);
  const staged = ownName(staging, basename(target), 'staging');
  return { target, staging, staged, planned: planTree(target, spec.files, new Map(), spec.mode) };
}

function checkApart(items: readonly Planned[]): void {
  for (const [index, a] of items.entries())
    for (const b of items.slice(index + 1))
      if (contains(a.target, b.target) || contains(b.target, a.target))
        throw invalid(b.target, `it is, holds or lies in another target, ${a.target}`);
}

/** What is to be done, by what is there, and whether the target holds the files already. Finishes first what an earlier run without exchange left. */
async function observe(
  run: Session,
  { planned, ...place }: Planned,
  attributes: 'keep' | 'fresh',
): Promise<{ readonly item: Item; readonly isEqual: boolean }> {
  const { target, staging } = place;
  const where = { code: 'RECOVERY_FAILED', stage: 'recover', path: target, visible: 'old' } as const;
  const { putBack, left } = await during(where, () => putBackOld(run, dirname(target), basename(target)));
  if (putBack.length + left.length > 0) {
    // What was renamed into place came from a staging directory; that one forgets it only now.
    const places = new Set([dirname(target), staging]);
    const jobs: SyncJob[] = [];
    for (const path of places)
      if (await during(where, () => run.ops.lstat(path))) jobs.push(directoryJob(run, path, 'recover'));
    await syncAll(run, jobs, 'old');
    for (const path of left) await during(where, () => removeAll(run.ops, path));
  }
  const found = await during({ ...where, code: 'WRITE_FAILED', stage: 'prepare' }, () => run.ops.lstat(target));
  if (found !== undefined && found.kind !== 'directory')
    throw invalid(target, `it is a ${found.kind}, expected a directory or nothing`);
  const tree = await during({ ...where, code: 'WRITE_FAILED', stage: 'prepare' }, () =>
    withModesOf(run.ops, target, planned),
  );
  const replaces = found !== undefined && attributes === 'keep' ? target : undefined;
  return {
    item: { ...place, tree, replaces },
    isEqual: found !== undefined && (await holdsTree(run.ops, target, tree)),
  };
}

/** Makes equal content durable, once per process and object. */
async function affirm(run: Session, items: readonly Item[], visible: Visible): Promise<void> {
  const jobs: SyncJob[] = [];
  const parents = new Set<string>();
  const open: Item[] = [];
  for (const item of items) {
    if (await isSettled(run, item.target, treeMark(item.target, item.tree))) continue;
    open.push(item);
    jobs.push(...existingTree(run, item.target, item.tree));
    parents.add(dirname(item.target));
    // An exchange is on the disk for sure when both its directories are.
    const where = { code: 'WRITE_FAILED', stage: 'prepare', path: item.staging, visible } as const;
    if ((await during(where, () => run.ops.lstat(item.staging))) !== undefined) parents.add(item.staging);
  }
  for (const path of parents) jobs.push(directoryJob(run, path, 'fsync-parent'));
  await syncAll(run, jobs, visible);
  for (const { target, tree } of open) await settle(run, target, treeMark(target, tree));
}

async function stage(run: Session, items: readonly Item[], strategy: 'fsync' | 'syncfs'): Promise<void> {
  const unsynced = new Set<string>();
  const jobs: SyncJob[] = [];
  for (const { target, staging, staged, tree, replaces } of items) {
    run.signal?.throwIfAborted();
    await makeParents(run, dirname(target), unsynced);
    await makeParents(run, staging, unsynced);
    jobs.push(...(await stageTree(run, staged, tree, replaces)));
  }
  for (const path of unsynced) jobs.push(directoryJob(run, path, 'fsync-parent'));
  if (strategy === 'fsync') return syncAll(run, jobs, 'old');
  // Opened before the first write: the kernel reports to it what fails to be written from now on (Linux 5.8 and later).
  const roots = [...new Set(items.map(({ staging }) => staging))];
  const where = { code: 'SYNC_FAILED', stage: 'fsync-file', visible: 'old' } as const;
  const open = [];
  try {
    for (const path of roots) open.push(await during({ ...where, path }, () => run.ops.open(path, 'read', 0)));
    await syncAll(run, jobs, 'old', false);
    for (const file of open)
      await during({ ...where, path: file.path }, async () => {
        if (!(await run.volatile(file.path))) await run.ops.syncfs(file);
      });
  } finally {
    for (const file of open) await run.ops.close(file).catch(() => undefined);
  }
}

async function publish(
  run: Session,
  items: readonly Item[],
  policy: ExchangePolicy,
  results: Map<Item, Swapped>,
): Promise<void> {
  run.signal?.throwIfAborted();
  try {
    for (const item of items) results.set(item, await swap(run, item.target, item.staged, policy));
  } catch (error) {
    if (results.size === 0 || !(error instanceof DurableError)) throw error;
    const { code, stage: at, path, cause } = error;
    const said = cause instanceof Error ? cause.message : String(cause);
    const message = `${said}; ${results.size} of ${items.length} directories were replaced before it`;
    throw new DurableError({ code, stage: at, path, visible: 'unknown', cause, message });
  }
  const parents = new Set(items.flatMap(({ target, staging }) => [dirname(target), staging]));
  await syncAll(
    run,
    [...parents].map((path) => directoryJob(run, path, 'fsync-parent')),
    'new',
  );
  for (const { target, tree } of items) await settle(run, target, treeMark(target, tree));
}

/** After a failure only staging that never was a target may go: a replaced directory may be the only durable copy. */
async function discard(
  run: Session,
  items: readonly Item[],
  results: ReadonlyMap<Item, Swapped>,
  error: unknown,
): Promise<void> {
  // A call that comes back late may still publish what is staged.
  if (error instanceof DurableError && error.code === 'STALLED') return;
  for (const { staged } of items.filter((item) => !results.has(item))) {
    await removeAll(run.ops, staged).catch((problem: unknown) => {
      if (error instanceof DurableError) error.cleanup = problem;
    });
  }
}

async function finish(run: Session, item: Item, result: Swapped | undefined): Promise<DirectoryResult> {
  const { target } = item;
  if (result === undefined) return { target, changed: false, swapped: false, atomic: true, cleanup: 'done' };
  const { atomic, leftover } = result;
  const swapped = leftover !== undefined;
  if (leftover === undefined) return { target, changed: true, swapped, atomic, cleanup: 'done' };
  const parent = dirname(leftover);
  const wasSettled = await isDirectorySettled(run, parent);
  const removed = await removeAll(run.ops, leftover).then(
    () => true,
    () => false,
  );
  // That the leftover is gone need not be durable.
  if (wasSettled) await settleDirectory(run, parent);
  return { target, changed: true, swapped, atomic, cleanup: removed ? 'done' : 'deferred' };
}

async function isVolatile(run: Session, items: readonly Item[]): Promise<boolean> {
  for (const { target } of items) if (await run.volatile(target)) return true;
  return false;
}
