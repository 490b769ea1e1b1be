import { basename, dirname } from 'node:path';
import { during, invalid } from './errors.ts';
import { checkPath, checkTarget, contains, ownName } from './names.ts';
import { makeParents } from './parents.ts';
import { type DurableOptions, type Session, session } from './session.ts';
import { isDirectorySettled, isSettled, nameMark, settle, settleDirectory } from './settled.ts';
import { directoryJob, syncAll } from './sync-all.ts';
import { removeAll } from './tree.ts';

/** What {@link removeTreeDurable} did. */
export interface RemoveResult {
  /** False where nothing was there. */
  readonly changed: boolean;
  /** `deferred`: it is gone from its name, but its content could not be deleted; `recover` does it. */
  readonly cleanup: 'done' | 'deferred';
  readonly fsyncs: number;
}

/**
 * Removes a directory (or a file) as a whole: it is renamed into `trashDir` on the same file system, both parents are synced, and only then its content is
 * deleted, up to where something is mounted. A reader sees all of it or nothing, and what is gone does not come back. `trashDir` is made when absent. Fails with a `DurableError`.
 */
export async function removeTreeDurable(
  dir: string,
  trashDir: string,
  options: DurableOptions = {},
): Promise<RemoveResult> {
  const at = checkTarget(dir);
  const trash = checkPath(trashDir);
  if (contains(at, trash)) throw invalid(at, `the trash directory ${trash} lies in it`);
  const run = session(options);
  run.signal?.throwIfAborted();
  const where = { stage: 'prepare', path: at, visible: 'old' } as const;
  const found = await during({ ...where, code: 'WRITE_FAILED' }, () => run.ops.lstat(at));
  if (found === undefined) {
    // A process that was killed may have moved it away without a sync.
    if (!(await isSettled(run, at, nameMark(at)))) {
      const parents: string[] = [];
      for (const path of [dirname(at), trash])
        if (await during({ ...where, path, code: 'WRITE_FAILED' }, () => run.ops.lstat(path))) parents.push(path);
      await syncParents(run, parents);
      await settle(run, at, nameMark(at));
    }
    return { changed: false, cleanup: 'done', fsyncs: run.fsyncs() };
  }
  // Whether a new trash directory survives a power cut does not matter.
  await makeParents(run, trash, new Set());
  const gone = ownName(trash, basename(at), 'trash');
  await during({ ...where, stage: 'exchange', code: 'RENAME_FAILED' }, () => run.ops.rename(at, gone));
  await syncParents(run, [dirname(at), trash]);
  await settle(run, at, nameMark(at));
  const wasSettled = await isDirectorySettled(run, trash);
  const done = await removeAll(run.ops, gone).then(
    () => true,
    () => false,
  );
  // That the content is gone need not be durable.
  if (wasSettled) await settleDirectory(run, trash);
  return { changed: true, cleanup: done ? 'done' : 'deferred', fsyncs: run.fsyncs() };
}

async function syncParents(run: Session, paths: readonly string[]): Promise<void> {
  const jobs = [...new Set(paths)].map((path) => directoryJob(run, path, 'fsync-parent'));
  await syncAll(run, jobs, 'new');
}
