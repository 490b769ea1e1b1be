import { dirname } from 'node:path';
import { DurableError, type DurableErrorCode, during, invalid, type Stage, type Visible } from './errors.ts';
import { checkPlace, checkTarget, stagingName } from './names.ts';
import type { OpenFile } from './ops.ts';
import { type DurableOptions, type Session, session } from './session.ts';
import { fileMark, isSettled, type Mark, nameMark, settle } from './settled.ts';
import { directoryJob, fileJob, syncAll } from './sync-all.ts';
import { checkMode, forNewContent, modeAt, writeAll } from './tree.ts';

/** Where a {@link Content} function writes to; a `FileHandle` of Node is one. */
export interface FileSink {
  /** Writes part of `buffer` at a position of the file; resolves with the bytes taken, which may be fewer than asked. */
  write(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
}

/** What a file is filled with: text or bytes, or a function that writes them. */
export type Content = string | Uint8Array | ((file: FileSink) => Promise<void>);

/** Options of a write. */
export interface WriteOptions extends DurableOptions {
  /** Permissions, exact whatever the umask says; default: those of the file that is there, 0o600 where there is none. */
  readonly mode?: number;
}

/** Options of {@link replaceFileDurable}. */
export interface ReplaceOptions extends WriteOptions {
  /** `keep` (default): owner, ACL and extended attributes of the file that is replaced are kept, or it fails. `fresh`: those of a new file. */
  readonly attributes?: 'keep' | 'fresh';
  /** Leave a file alone that has this content (text or bytes) and mode already; it is still made durable. */
  readonly unlessEqual?: boolean;
}

/** What a write did. */
export interface FileResult {
  readonly changed: boolean;
  /** False only on a file system in memory. */
  readonly durable: boolean;
  readonly fsyncs: number;
}

/** Syncs a file or directory. An error of the sync comes before one of the close; alone the latter counts. Fails with a `DurableError`. */
export async function fsyncPath(path: string, options: DurableOptions = {}): Promise<void> {
  const at = checkPlace(path);
  const run = session(options);
  await syncAll(run, [fileJob(run, at)], 'unknown');
}

/** Makes the entries of a directory survive a power cut. Fails with a `DurableError`. */
export async function syncDirectory(path: string, options: DurableOptions = {}): Promise<void> {
  const at = checkPlace(path);
  const run = session(options);
  await syncAll(run, [directoryJob(run, at, 'fsync-parent')], 'new');
}

/**
 * Writes a file in place and makes it durable: content, then directory entry. A reader and a power cut may see it half-written; where that matters use
 * {@link replaceFileDurable}. Fails with a `DurableError`.
 */
export async function writeFileDurable(
  path: string,
  content: Content,
  options: WriteOptions = {},
): Promise<FileResult> {
  const at = checkTarget(path);
  const told = options.mode === undefined ? undefined : checkMode(path, path, options.mode);
  const run = session(options);
  const where = { code: 'WRITE_FAILED', stage: 'prepare', path: at, visible: 'old' } as const;
  // What is there keeps its permissions: it is the same file.
  const old = await during(where, () => run.ops.lstat(at));
  const stays = old !== undefined && (old.kind !== 'file' || forNewContent(old.mode) === old.mode);
  await fill(run, at, at, content, { mode: told ?? (stays ? undefined : forNewContent(old?.mode)) });
  await syncParent(run, at);
  await settle(run, at, markOf(at, content));
  return resultOf(run, at, true);
}

/**
 * Replaces a file so that a reader sees the old content or the new, whole, and a power cut leaves one of the two; once it resolves, the new one.
 * The staging file lies beside it under a name with a dot in front and is removed on failure. A link under that name is replaced, not
 * followed. Fails with a `DurableError`; what a {@link Content} function throws passes as it is.
 */
export async function replaceFileDurable(
  path: string,
  content: Content,
  options: ReplaceOptions = {},
): Promise<FileResult> {
  const at = checkTarget(path);
  const told = options.mode === undefined ? undefined : checkMode(path, path, options.mode);
  const run = session(options);
  run.signal?.throwIfAborted();
  const where = { code: 'WRITE_FAILED', stage: 'prepare', path: at, visible: 'old' } as const;
  const old = await during(where, () => modeAt(run.ops, at, 'file'));
  const mode = told ?? forNewContent(old);
  if (
    options.unlessEqual === true &&
    typeof content !== 'function' &&
    (await holds(run, at, content, told ?? old ?? mode))
  ) {
    const mark = markOf(at, content);
    if (!(await isSettled(run, at, mark))) {
      await syncAll(run, [fileJob(run, at), directoryJob(run, dirname(at), 'fsync-parent')], 'new');
      await settle(run, at, mark);
    }
    return resultOf(run, at, false);
  }
  const staging = stagingName(at);
  const from = old === undefined || options.attributes === 'fresh' ? undefined : at;
  await publish(run, at, staging, () => fill(run, at, staging, content, { mode, from }));
  await settle(run, at, markOf(at, content));
  return resultOf(run, at, true);
}

/**
 * Points a symbolic link elsewhere so that a reader and a power cut find the old link or the new one. A file under that name is replaced too, a directory
 * is not. Fails with a `DurableError`.
 */
export async function replaceSymlinkDurable(
  path: string,
  pointsTo: string,
  options: DurableOptions = {},
): Promise<FileResult> {
  const at = checkTarget(path);
  if (pointsTo === '' || pointsTo.includes('\0')) throw invalid(at, 'what the link points to is empty or contains NUL');
  const run = session(options);
  run.signal?.throwIfAborted();
  const found = await run.ops.lstat(at).catch(() => undefined);
  if (found?.kind === 'symlink' && (await run.ops.readlink(at).catch(() => undefined)) === pointsTo) {
    if (!(await isSettled(run, at, nameMark(at)))) {
      await syncParent(run, at);
      await settle(run, at, nameMark(at));
    }
    return resultOf(run, at, false);
  }
  const staging = stagingName(at);
  const where = { code: 'WRITE_FAILED', stage: 'write', path: at, visible: 'old' } as const;
  await publish(run, at, staging, () => during(where, () => run.ops.symlink(pointsTo, staging)));
  await settle(run, at, nameMark(at));
  return resultOf(run, at, true);
}

/** Of content that a function wrote nothing is known afterwards but that it is there: it is never taken for equal. */
function markOf(at: string, content: Content): Mark {
  return typeof content === 'function' ? nameMark(at) : fileMark(at, Buffer.from(content));
}

async function resultOf(run: Session, at: string, changed: boolean): Promise<FileResult> {
  return { changed, durable: !(await run.volatile(dirname(at))), fsyncs: run.fsyncs() };
}

/** Makes the staging file, renames it over the target, syncs the directory. */
async function publish(run: Session, at: string, staging: string, make: () => Promise<void>): Promise<void> {
  try {
    await make();
    run.signal?.throwIfAborted();
    const where = { code: 'RENAME_FAILED', stage: 'exchange', path: at, visible: 'old' } as const;
    await during(where, () => run.ops.rename(staging, at));
  } catch (error) {
    const known = error instanceof DurableError ? error : undefined;
    // Where the device hangs, removing hangs too, and a rename that comes back late must still find its file.
    if (known?.code === 'STALLED') throw error;
    try {
      if ((await run.ops.lstat(staging)) !== undefined) await run.ops.unlink(staging);
    } catch (problem) {
      if (known !== undefined) known.cleanup = problem;
    }
    throw error;
  }
  await syncParent(run, at);
}

function syncParent(run: Session, at: string): Promise<void> {
  return syncAll(run, [directoryJob(run, dirname(at), 'fsync-parent')], 'new');
}

async function holds(run: Session, at: string, content: string | Uint8Array, mode: number): Promise<boolean> {
  try {
    const stat = await run.ops.lstat(at);
    const bytes = Buffer.from(content);
    if (stat?.kind !== 'file' || stat.mode !== mode || stat.size !== bytes.length) return false;
    return bytes.equals(await run.ops.read(at));
  } catch {
    return false;
  }
}

/** Writes the content to a new staging file, or in place, and syncs it through the descriptor that wrote it. */
async function fill(
  run: Session,
  path: string,
  at: string,
  content: Content,
  { mode, from }: { readonly mode?: number | undefined; readonly from?: string | undefined },
): Promise<void> {
  const inPlace = at === path;
  let visible: Visible = 'old';
  const step = <T>(code: DurableErrorCode, stage: Stage, action: () => Promise<T>): Promise<T> =>
    during({ code, stage, path, visible }, action);
  const file = await step('WRITE_FAILED', 'write', () => run.ops.open(at, inPlace ? 'truncate' : 'new', 0o600));
  // Opening emptied it.
  if (inPlace) visible = 'unknown';
  try {
    // What the writer itself throws is its own, not a failure of the file.
    if (typeof content === 'function') await content(sinkOf(run, file));
    else await step('WRITE_FAILED', 'write', () => writeAll(run.ops, file, Buffer.from(content)));
    if (from !== undefined) await step('WRITE_FAILED', 'write', () => run.ops.adopt(file, from));
    if (mode !== undefined) await step('WRITE_FAILED', 'write', () => run.ops.chmod(file, mode));
    if (!(await run.volatile(dirname(path)))) await step('SYNC_FAILED', 'fsync-file', () => run.ops.fsync(file));
  } catch (error) {
    await run.ops.close(file).catch(() => undefined);
    throw error;
  }
  await step('WRITE_FAILED', 'fsync-file', () => run.ops.close(file));
}

function sinkOf(run: Session, file: OpenFile): FileSink {
  return {
    write: async (buffer, offset, length, position) => ({
      bytesWritten: await run.ops.write(file, buffer.subarray(offset, offset + length), position),
    }),
  };
}
