import { basename, dirname } from 'node:path';
import { DurableError, during } from './errors.ts';
import { checkTarget, ownName } from './names.ts';
import { makeParents } from './parents.ts';
import { type DurableOptions, type Session, session } from './session.ts';
import { isSettled, settle, treeMark } from './settled.ts';
import { directoryJob, syncAll } from './sync-all.ts';
import {
  existingTree,
  type FileSpec,
  holdsTree,
  planTree,
  removeAll,
  stageTree,
  type Tree,
  withModesOf,
} from './tree.ts';

/** A directory tree that appears as a whole and is not changed afterwards. */
export interface TreeSpec {
  readonly dir: string;
  /** Permissions of the top directory; default 0o755. A file without a mode gets 0o600. */
  readonly mode?: number;
  /** Relative path → file. Directories on the way are made. */
  readonly files: ReadonlyMap<string, FileSpec>;
  /** Relative path → permissions, for directories that are empty or not 0o755. */
  readonly dirs?: ReadonlyMap<string, number>;
}

/** What {@link commitTree} did. */
export interface CommitResult {
  /** False where the very same tree was there. */
  readonly changed: boolean;
  /** False only on a file system in memory. */
  readonly durable: boolean;
  readonly fsyncs: number;
}

/**
 * Makes a whole tree appear under a name that was free, by one rename: present means complete, for readers and after a power cut. A tree that is there
 * already is accepted if it is equal, and refused with `EXISTS` otherwise. Costs one fsync for each file, each directory and the parent.
 */
export async function commitTree(spec: TreeSpec & DurableOptions): Promise<CommitResult> {
  const dir = checkTarget(spec.dir);
  const planned = planTree(dir, spec.files, spec.dirs, spec.mode);
  const run = session(spec);
  run.signal?.throwIfAborted();
  const where = { stage: 'prepare', path: dir, visible: 'old' } as const;
  const changed = (await during({ ...where, code: 'WRITE_FAILED' }, () => run.ops.lstat(dir))) === undefined;
  const tree = await during({ ...where, code: 'WRITE_FAILED' }, () => withModesOf(run.ops, dir, planned));
  if (changed) await build(run, dir, tree);
  else if (await holdsTree(run.ops, dir, tree)) await affirm(run, dir, tree);
  else throw exists(dir);
  await settle(run, dir, treeMark(dir, tree));
  const durable = !(await run.volatile(dir));
  return { changed, durable, fsyncs: run.fsyncs() };
}

async function build(run: Session, dir: string, tree: Tree): Promise<void> {
  const parent = dirname(dir);
  const staged = ownName(parent, basename(dir), 'staging');
  try {
    const unsynced = new Set<string>();
    await makeParents(run, parent, unsynced);
    const jobs = [...(await stageTree(run, staged, tree))];
    for (const path of unsynced) jobs.push(directoryJob(run, path, 'fsync-parent'));
    await syncAll(run, jobs, 'old');
    run.signal?.throwIfAborted();
    await during({ code: 'RENAME_FAILED', stage: 'exchange', path: dir, visible: 'old' }, () =>
      run.ops.rename(staged, dir),
    );
  } catch (error) {
    const stalled = error instanceof DurableError && error.code === 'STALLED';
    if (!stalled)
      await removeAll(run.ops, staged).catch((problem: unknown) => {
        if (error instanceof DurableError) error.cleanup = problem;
      });
    throw error;
  }
  await syncAll(run, [directoryJob(run, parent, 'fsync-parent')], 'new');
}

async function affirm(run: Session, dir: string, tree: Tree): Promise<void> {
  if (await isSettled(run, dir, treeMark(dir, tree))) return;
  await syncAll(run, [...existingTree(run, dir, tree), directoryJob(run, dirname(dir), 'fsync-parent')], 'new');
}

function exists(dir: string): DurableError {
  const message = 'something else is there already, expected nothing or the same tree';
  return new DurableError({ code: 'EXISTS', stage: 'prepare', path: dir, visible: 'old', message });
}
