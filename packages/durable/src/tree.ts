import { dirname, join } from 'node:path';
import { during, errnoOf, invalid } from './errors.ts';
import { checkRelative } from './names.ts';
import type { EntryKind, FsOps, OpenFile } from './ops.ts';
import type { Session } from './session.ts';
import { directoryJob, fileJob, type SyncJob } from './sync-all.ts';

/** Content and exact permissions of a file; text is stored as UTF-8. */
export interface FileSpec {
  readonly content: string | Uint8Array;
  /** The umask does not touch it. Default: that of the file of this name that is replaced, 0o600 where there is none. */
  readonly mode?: number;
}

/** A whole directory as it shall be: relative paths, parents before children. */
export interface Tree {
  readonly mode: number;
  readonly dirs: ReadonlyMap<string, number>;
  readonly files: ReadonlyMap<string, { readonly bytes: Uint8Array; readonly mode: number }>;
}

/** A tree whose modes are not all told yet: the others follow from what is there. */
export interface PlannedTree {
  readonly mode: number | undefined;
  readonly dirs: ReadonlyMap<string, number>;
  readonly files: ReadonlyMap<string, { readonly bytes: Uint8Array; readonly mode: number | undefined }>;
}

const NEW_DIRECTORY = 0o755;
/** What nobody said anything about may be a secret. */
const NEW_FILE = 0o600;

/** The tree with the modes of what is at `at` where none is told. */
export async function withModesOf(ops: FsOps, at: string, { mode, dirs, files }: PlannedTree): Promise<Tree> {
  const told = new Map<string, { readonly bytes: Uint8Array; readonly mode: number }>();
  for (const [name, file] of files)
    told.set(name, { bytes: file.bytes, mode: file.mode ?? forNewContent(await modeAt(ops, join(at, name), 'file')) });
  return { mode: mode ?? (await modeAt(ops, at, 'directory')) ?? NEW_DIRECTORY, dirs, files: told };
}

/** What new content keeps of the permissions of the file that it replaces: a program that runs with the rights of its owner or group is trusted for its content (POSIX write). */
export function forNewContent(old: number | undefined): number {
  return old === undefined ? NEW_FILE : old & ~0o6000;
}

/** The permissions of what is at `path`; undefined where nothing of the kind is there. */
export async function modeAt(ops: FsOps, path: string, kind: EntryKind): Promise<number | undefined> {
  const stat = await ops.lstat(path).catch((error: unknown) => {
    // A file in its place.
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  });
  return stat?.kind === kind ? stat.mode : undefined;
}

/** Validates everything before any I/O. `root` is for messages. */
export function planTree(
  root: string,
  files: ReadonlyMap<string, FileSpec>,
  dirs: ReadonlyMap<string, number> = new Map(),
  mode?: number,
): PlannedTree {
  const all = new Map<string, number>();
  const include = (path: string): void => {
    checkRelative(path, root);
    const parent = dirname(path);
    if (parent !== '.') include(parent);
    if (!all.has(path)) all.set(path, checkMode(root, path, dirs.get(path) ?? NEW_DIRECTORY));
  };
  for (const path of dirs.keys()) include(path);
  const planned = new Map<string, { readonly bytes: Uint8Array; readonly mode: number | undefined }>();
  for (const [path, spec] of files) {
    checkRelative(path, root);
    const content: unknown = spec.content;
    if (typeof content !== 'string' && !(content instanceof Uint8Array))
      throw invalid(root, `the content of ${JSON.stringify(path)} is neither text nor bytes`);
    if (dirname(path) !== '.') include(dirname(path));
    const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
    planned.set(path, { bytes, mode: spec.mode === undefined ? undefined : checkMode(root, path, spec.mode) });
  }
  for (const path of planned.keys())
    if (all.has(path)) throw invalid(root, `${JSON.stringify(path)} is both a file and a directory`);
  return { mode: mode === undefined ? undefined : checkMode(root, '.', mode), dirs: all, files: planned };
}

/** Throws unless the number is a permission. */
export function checkMode(of: string, path: string, mode: number): number {
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777)
    throw invalid(of, `the mode of ${JSON.stringify(path)} is ${mode}, expected 0 to 0o7777`);
  return mode;
}

/**
 * Makes the directories of a tree at a name that must be new, and returns what must be written and synced: files first, then directories. What is at
 * `replaces` under the same names hands down its owners, ACLs and extended attributes.
 */
export async function stageTree(run: Session, at: string, tree: Tree, replaces?: string): Promise<readonly SyncJob[]> {
  const where = { code: 'WRITE_FAILED', stage: 'prepare', path: at, visible: 'old' } as const;
  await during(where, async () => {
    await run.ops.mkdir(at, 0o700);
    for (const path of tree.dirs.keys()) await run.ops.mkdir(join(at, path), 0o700);
  });
  const jobs: SyncJob[] = [];
  const from = (path: string): string | undefined => (replaces === undefined ? undefined : join(replaces, path));
  for (const [path, { bytes, mode }] of tree.files) jobs.push(newFileJob(run, join(at, path), bytes, mode, from(path)));
  // Modes come last: a directory that its owner may not write to is still filled.
  for (const [path, mode] of [...tree.dirs].toReversed())
    jobs.push(directoryJob(run, join(at, path), 'fsync-dir', mode, from(path)));
  jobs.push(directoryJob(run, at, 'fsync-dir', tree.mode, replaces));
  return jobs;
}

/** What must be synced so that a tree that is already there survives a power cut. */
export function existingTree(run: Session, at: string, tree: Tree): readonly SyncJob[] {
  return [
    ...[...tree.files.keys()].map((path) => fileJob(run, join(at, path))),
    ...[...tree.dirs.keys()].map((path) => directoryJob(run, join(at, path), 'fsync-dir')),
    directoryJob(run, at, 'fsync-dir'),
  ];
}

/** Whether the directory holds exactly the tree: names, kinds, bytes and modes. What cannot be read is not equal. */
export async function holdsTree(ops: FsOps, at: string, tree: Tree): Promise<boolean> {
  try {
    if ((await ops.lstat(at))?.mode !== tree.mode) return false;
    let seen = 0;
    const directories = [''];
    for (let dir = directories.shift(); dir !== undefined; dir = directories.shift()) {
      for (const { name, kind } of await ops.list(join(at, dir))) {
        const path = join(dir, name);
        const file = tree.files.get(path);
        const mode = file?.mode ?? tree.dirs.get(path);
        const stat = await ops.lstat(join(at, path));
        if (mode === undefined || stat?.mode !== mode || kind !== (file === undefined ? 'directory' : 'file'))
          return false;
        if (file === undefined) directories.push(path);
        else if (stat.size !== file.bytes.length || !same(await ops.read(join(at, path)), file.bytes)) return false;
        seen += 1;
      }
    }
    return seen === tree.files.size + tree.dirs.size;
  } catch {
    return false;
  }
}

/**
 * Removes a file, a link, or a directory with all that is in it. What is missing already, or goes meanwhile, is fine. Where something is mounted it stops with
 * EBUSY, and leaves that as it is.
 */
export async function removeAll(ops: FsOps, path: string): Promise<void> {
  const stat = await ops.lstat(path);
  if (stat === undefined) return;
  if (stat.kind !== 'directory') return ops.unlink(path).catch(unlessGone);
  // A mount point is refused whatever is in it: to look into it first would empty what is mounted there.
  if (await isRemoved(ops, path)) return;
  if ((stat.mode & EMPTIABLE) !== EMPTIABLE) await makeEmptiable(ops, path, stat.mode);
  for (const { name, kind } of await ops.list(path)) {
    if (kind === 'directory') await removeAll(ops, join(path, name));
    else await ops.unlink(join(path, name)).catch(unlessGone);
  }
  await ops.rmdir(path).catch(unlessGone);
}

/** Whether a directory could be removed, or was; false where something is in it. */
async function isRemoved(ops: FsOps, path: string): Promise<boolean> {
  try {
    await ops.rmdir(path);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT') return true;
    if (errno === 'ENOTEMPTY' || errno === 'EEXIST') return false;
    throw error;
  }
}

/** Somebody else who cleans up may have been faster. */
function unlessGone(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error;
}

/** What an owner other than root needs to empty a directory. */
const EMPTIABLE = 0o300;

/** A directory that was closed to writers is opened to its owner: it is on its way out. */
async function makeEmptiable(ops: FsOps, path: string, mode: number): Promise<void> {
  const directory = await ops.open(path, 'directory', 0);
  try {
    await ops.chmod(directory, mode | EMPTIABLE);
  } finally {
    await ops.close(directory);
  }
}

/** Writes all bytes; one write may take fewer than it was given. */
export async function writeAll(ops: FsOps, file: OpenFile, bytes: Uint8Array, position = 0): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const taken = await ops.write(file, bytes.subarray(done), position + done);
    if (taken <= 0) throw Object.assign(new Error(`EIO: write took ${taken} bytes`), { code: 'EIO' });
    done += taken;
  }
}

function newFileJob(run: Session, path: string, bytes: Uint8Array, mode: number, from?: string): SyncJob {
  return {
    path,
    stage: 'fsync-file',
    code: 'SYNC_FAILED',
    open: () =>
      during({ code: 'WRITE_FAILED', stage: 'write', path, visible: 'old' }, async () => {
        const file = await run.ops.open(path, 'new', 0o600);
        try {
          await writeAll(run.ops, file, bytes);
          if (from !== undefined) await run.ops.adopt(file, from);
          await run.ops.chmod(file, mode);
        } catch (error) {
          await run.ops.close(file).catch(() => undefined);
          throw error;
        }
        return file;
      }),
  };
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
