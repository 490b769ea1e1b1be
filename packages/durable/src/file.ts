import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DurableError, type DurableErrorCode } from './errors.ts';

/** What a file is filled with: text or bytes, or a function that writes them. */
export type Content = string | Uint8Array | ((file: FileHandle) => Promise<void>);

/** Options of a write. */
export interface WriteOptions {
  /** Permissions, exact whatever the umask says; default 0o644. */
  readonly mode?: number;
}

/** Options of {@link replaceFileDurable}. */
export interface ReplaceOptions extends WriteOptions {
  /** Calls of the file system, replaceable so that tests can fail them. */
  readonly fs?: FileSystem;
}

/** The calls whose failure matters. */
export interface FileSystem {
  open(path: string, flags: string, mode: number): Promise<FileHandle>;
  rename(from: string, to: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
}

/** The machine's file system. */
export const realFileSystem: FileSystem = { open, rename, syncDirectory };

/** Makes the entries of a directory survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Writes a file in place and makes it durable: content, then directory entry. A reader may see it half-written; where that matters use
 * {@link replaceFileDurable}. Fails with a `DurableError`.
 */
export async function writeFileDurable(path: string, content: Content, options: ReplaceOptions = {}): Promise<void> {
  const fs = options.fs ?? realFileSystem;
  await fill(fs, path, path, content, options.mode ?? 0o644, 'w', true);
  await step('DIRECTORY_SYNC_FAILED', path, 'sync of the directory', true, () => fs.syncDirectory(dirname(path)));
}

/**
 * Replaces a file so that a reader sees the old content or the new, whole, and a power cut leaves one of the two; once it resolves, the new one.
 * The staging file lies beside it under a name with a dot in front and is removed on failure. Fails with a `DurableError`.
 */
export async function replaceFileDurable(path: string, content: Content, options: ReplaceOptions = {}): Promise<void> {
  const fs = options.fs ?? realFileSystem;
  const staging = stagingName(path);
  try {
    await fill(fs, path, staging, content, options.mode ?? 0o644, 'wx', false);
    await step('RENAME_FAILED', path, 'rename', false, () => fs.rename(staging, path));
  } catch (error) {
    await rm(staging, { force: true });
    throw error;
  }
  await step('DIRECTORY_SYNC_FAILED', path, 'sync of the directory', true, () => fs.syncDirectory(dirname(path)));
}

/** A fresh name beside `path` that says whose it is: `.<name>.<12 hex>.staging`. */
export function stagingName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.staging`);
}

/** Whether a file name was made by {@link stagingName}. */
export function isStagingName(name: string): boolean {
  return name.startsWith('.') && name.endsWith('.staging');
}

async function fill(
  fs: FileSystem,
  path: string,
  at: string,
  content: Content,
  mode: number,
  flags: string,
  visible: boolean,
): Promise<void> {
  const file = await step('WRITE_FAILED', path, 'open', false, () => fs.open(at, flags, mode));
  try {
    // What the writer itself throws is its own, not a failure of the file.
    if (typeof content === 'function') await content(file);
    else await step('WRITE_FAILED', path, 'write', visible, () => file.writeFile(content));
    await step('WRITE_FAILED', path, 'chmod', visible, () => file.chmod(mode));
    await step('SYNC_FAILED', path, 'sync', visible, () => file.sync());
  } finally {
    await file.close();
  }
}

async function step<T>(
  code: DurableErrorCode,
  path: string,
  name: string,
  visible: boolean,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    throw new DurableError({ code, path, step: name, visible, durable: false, cause });
  }
}
