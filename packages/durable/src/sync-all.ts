import { dirname } from 'node:path';
import { DurableError, type DurableErrorCode, during, type Stage, type Visible } from './errors.ts';
import { isStagingName } from './names.ts';
import type { OpenFile } from './ops.ts';
import type { Session } from './session.ts';
import { directoryMark, settleDirectory } from './settled.ts';

/** Something to be synced: opens it, ready and complete. */
export interface SyncJob {
  readonly path: string;
  readonly stage: Stage;
  readonly code: DurableErrorCode;
  open(): Promise<OpenFile>;
}

/** Files that are open at a time. */
const WINDOW = 256;

/**
 * Opens, syncs and closes all; the syncs of a window run side by side, so that they share commits of the journal. The descriptor that wrote is the
 * one that is synced: a write error that came between a close and a reopen can be lost. No sync is tried twice: the second one would succeed on lost data.
 */
export async function syncAll(run: Session, jobs: readonly SyncJob[], visible: Visible, sync = true): Promise<void> {
  for (let at = 0; at < jobs.length; at += WINDOW) await syncWindow(run, jobs.slice(at, at + WINDOW), visible, sync);
}

async function syncWindow(run: Session, jobs: readonly SyncJob[], visible: Visible, sync: boolean): Promise<void> {
  const signal = visible === 'old' ? run.signal : undefined;
  const open: { readonly job: SyncJob; readonly file: OpenFile }[] = [];
  try {
    for (const job of jobs) {
      signal?.throwIfAborted();
      open.push({ job, file: await during({ ...place(job), visible }, () => job.open()) });
    }
    if (sync) await beginWriting(run, open, visible);
    if (sync)
      for (const batch of batches(open))
        await lanes(batch, run.lanes, signal, ({ job, file }) =>
          during({ ...place(job), visible }, () => syncOne(run, job, file)),
        );
  } catch (error) {
    for (const { file } of open) await run.ops.close(file).catch(() => undefined);
    throw error;
  }
  const failed: unknown[] = [];
  for (const { job, file } of open)
    await during({ ...place(job), visible }, () => run.ops.close(file)).catch((error: unknown) => failed.push(error));
  if (failed.length > 0) throw failed[0];
}

/** From so many files on it is worth the calls. */
const MANY = 8;

/**
 * Lets the kernel begin with all files at once: their blocks get their places before the first sync commits the journal, so one commit serves all of them, where
 * otherwise each lane's files need another (ext4 with delayed allocation: 120 files take 8 flushes instead of 12). It is a hint: where it fails nothing is lost.
 */
async function beginWriting(
  run: Session,
  open: readonly { readonly job: SyncJob; readonly file: OpenFile }[],
  visible: Visible,
): Promise<void> {
  const files = open.filter(({ job }) => job.stage === 'fsync-file');
  const [first] = files;
  if (first === undefined || files.length < MANY || (await run.volatile(dirname(first.job.path)))) return;
  await Promise.all(
    files.map(({ job, file }) =>
      during({ ...place(job), visible }, () => run.ops.writeback(file)).catch((error: unknown) => {
        if (error instanceof DurableError && error.code === 'STALLED') throw error;
      }),
    ),
  );
}

/**
 * What is synced side by side. A single file comes before its directories: its blocks get their place while it is synced, so a directory's sync
 * beside it would commit the journal once without the file and once with it. Of several files, most share the second commit anyway.
 */
function batches<T extends { readonly job: SyncJob }>(open: readonly T[]): readonly (readonly T[])[] {
  const files = open.filter(({ job }) => job.stage === 'fsync-file');
  return files.length === 1 ? [files, open.filter(({ job }) => job.stage !== 'fsync-file')] : [open];
}

async function syncOne(run: Session, job: SyncJob, file: OpenFile): Promise<void> {
  const isFile = job.stage === 'fsync-file';
  if (await run.volatile(isFile ? dirname(job.path) : job.path)) return;
  // Before the sync: what changes meanwhile may not be in it.
  const mark = isFile || isStaged(job.path) ? undefined : await directoryMark(run.base, job.path);
  await run.ops.fsync(file);
  if (mark !== undefined) await settleDirectory(run, job.path, mark);
}

/** What is in the making changes its name: nothing is remembered under this one. */
function isStaged(path: string): boolean {
  return path.split('/').some(isStagingName);
}

/** Runs the action on each item, `limit` at a time. After a failure none is started, and those under way are waited for. */
async function lanes<T>(
  items: readonly T[],
  limit: number,
  signal: AbortSignal | undefined,
  action: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const failed: unknown[] = [];
  const lane = async (): Promise<void> => {
    while (failed.length === 0 && signal?.aborted !== true) {
      const item = items[next];
      if (item === undefined) return;
      next += 1;
      try {
        await action(item);
      } catch (error) {
        failed.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(limit, items.length)) }, lane));
  if (failed.length > 0) throw failed[0];
  signal?.throwIfAborted();
}

/** A directory that exists, with its mode set first where one is given, and owner and attributes taken from `from`. A link to one will do where nothing is changed: `/tmp` and `/var/run` are links on many machines. */
export function directoryJob(run: Session, path: string, stage: Stage, mode?: number, from?: string): SyncJob {
  return {
    path,
    stage,
    code: stage === 'fsync-parent' ? 'DIRECTORY_SYNC_FAILED' : 'SYNC_FAILED',
    open: async () => {
      const file = await run.ops.open(path, mode === undefined ? 'read' : 'directory', 0);
      try {
        if (from !== undefined) await run.ops.adopt(file, from);
        if (mode !== undefined) await run.ops.chmod(file, mode);
      } catch (error) {
        await run.ops.close(file).catch(() => undefined);
        throw error;
      }
      return file;
    },
  };
}

/** A file that exists. */
export function fileJob(run: Session, path: string): SyncJob {
  return { path, stage: 'fsync-file', code: 'SYNC_FAILED', open: () => run.ops.open(path, 'read', 0) };
}

function place(job: SyncJob): Pick<SyncJob, 'code' | 'stage' | 'path'> {
  return { code: job.code, stage: job.stage, path: job.path };
}
