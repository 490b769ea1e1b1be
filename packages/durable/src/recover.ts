import { basename, dirname, join } from 'node:path';
import { DurableError, during, errnoOf } from './errors.ts';
import { isMounted } from './mounts.ts';
import { checkPlace, type LeftoverKind, parseOwn } from './names.ts';
import type { EntryStat, FsOps, OpenFile } from './ops.ts';
import { type DurableOptions, type Session, session } from './session.ts';
import { isDirectorySettled, isNameSettled, settleName } from './settled.ts';
import { directoryJob, type SyncJob, syncAll } from './sync-all.ts';
import { removeAll } from './tree.ts';

/** Something with a name of ours that no finished operation leaves behind. */
export interface Leftover {
  readonly path: string;
  readonly kind: LeftoverKind;
  /** The name it was made for, beside it. */
  readonly target: string;
  /** Device and inode. */
  readonly identity: string;
  readonly changedNs: bigint;
}

/** What a directory tree holds, as {@link recover} sees it. */
export interface Inspection {
  readonly leftovers: readonly Leftover[];
  /** All directories that are not leftovers: path → identity. */
  readonly directories: ReadonlyMap<string, string>;
}

/** What {@link recover} did. */
export interface RecoverResult {
  /** Targets that were missing and got their old directory back. */
  readonly putBack: readonly string[];
  readonly removed: readonly string[];
  /** Names that share their inode with a directory in use, of which nothing was touched, or in which something is mounted. */
  readonly kept: readonly string[];
  readonly fsyncs: number;
}

/** Options of {@link recover} and {@link inspect}. */
export interface RecoverOptions extends DurableOptions {
  /**
   * Which names directly below the root are the caller's, where others own the rest. It is asked about each entry, and with `leftover` about each leftover,
   * under the name that this was made for. Default: all.
   */
  readonly owns?: (name: string, leftover: boolean) => boolean;
}

const WHERE = { code: 'RECOVERY_FAILED', stage: 'recover', visible: 'unknown' } as const;

/** Reads what a tree holds and changes nothing; links below the root are not followed. A missing root is empty. Fails with a `DurableError`. */
export async function inspect(
  root: string,
  options: Pick<RecoverOptions, 'ops' | 'signal' | 'owns'> = {},
): Promise<Inspection> {
  const path = checkPlace(root);
  return survey(session(options), path, options.owns);
}

/**
 * Cleans up after a crash: puts back what a replacement without exchange had moved away, removes what was left over, and syncs every directory, so that one
 * made by a process that was killed survives the next power cut; what this process knows to be durable already is not synced again. Run it when the owner of the tree starts, with the owner's lock held: it cannot tell
 * what a crash left from what a living process is making. Running it twice, or cutting it anywhere and running it again, is fine. Fails with a
 * `DurableError`.
 */
export async function recover(path: string, options: RecoverOptions = {}): Promise<RecoverResult> {
  const root = checkPlace(path);
  const run = session(options);
  const found = await survey(run, root, options.owns);
  const putBack: string[] = [];
  for (const target of new Set(found.leftovers.map((one) => one.target))) {
    run.signal?.throwIfAborted();
    const dir = dirname(target);
    const done = await during({ ...WHERE, path: dir }, () => putBackOld(run, dir, basename(target)));
    putBack.push(...done.putBack);
  }
  const now = found.leftovers.length === 0 ? found : await survey(run, root, options.owns);
  const jobs: SyncJob[] = [];
  for (const dir of now.directories.keys())
    if (!(await isDirectorySettled(run, dir))) jobs.push(directoryJob(run, dir, 'fsync-dir'));
  const named = now.directories.size > 0 && root !== '/' && !(await isNameSettled(run, root));
  if (named && !(await during({ ...WHERE, path: root }, () => isMounted(run.ops, root))))
    jobs.push(parentJob(run, root));
  await syncAll(run, jobs, 'unknown');
  if (named) await settleName(run, root);
  const inUse = new Set(now.directories.values());
  const kept: string[] = [];
  for (const { path: leftover, identity } of now.leftovers) {
    run.signal?.throwIfAborted();
    // Where a power cut tore an exchange, both names are one directory: its files belong to the target.
    if (inUse.has(identity) || !(await isRemoved(run, leftover))) kept.push(leftover);
  }
  const removed = now.leftovers.map((one) => one.path).filter((one) => !kept.includes(one));
  return { putBack, removed, kept, fsyncs: run.fsyncs() };
}

/** Removes a leftover; false where something is mounted in it. */
async function isRemoved(run: Session, leftover: string): Promise<boolean> {
  try {
    await during({ ...WHERE, path: leftover }, () => removeAll(run.ops, leftover));
    return true;
  } catch (error) {
    if (error instanceof DurableError && error.errno === 'EBUSY') return false;
    throw error;
  }
}

/** The root's own name. Where its parent is closed to the tree's owner, who then did not make the root either, the root is synced instead. */
function parentJob(run: Session, root: string): SyncJob {
  const parent = directoryJob(run, dirname(root), 'fsync-parent');
  const open = (): Promise<OpenFile> =>
    parent.open().catch((error: unknown) => {
      if (errnoOf(error) !== 'EACCES') throw error;
      return run.ops.open(root, 'read', 0);
    });
  return { ...parent, open };
}

/**
 * Puts back what a replacement by two renames moved away (for one target where `name` is given): a target that is missing gets its newest `old`. Nothing is
 * synced or removed. Returns the targets, and what is left of `old`.
 */
export async function putBackOld(
  run: Session,
  dir: string,
  name?: string,
): Promise<{ readonly putBack: readonly string[]; readonly left: readonly string[] }> {
  const { ops } = run;
  const putBack: string[] = [];
  const left: string[] = [];
  if (!isPlace(await ops.lstat(dir))) return { putBack, left };
  const found = await oldEntries(ops, dir, name);
  for (const { path, target } of found.toSorted((a, b) => Number(b.changedNs - a.changedNs))) {
    if ((await ops.lstat(target)) !== undefined) left.push(path);
    else {
      await ops.rename(path, target);
      putBack.push(target);
    }
  }
  return { putBack, left };
}

async function survey(
  run: Session,
  root: string,
  owns: NonNullable<RecoverOptions['owns']> = () => true,
): Promise<Inspection> {
  const leftovers: Leftover[] = [];
  const directories = new Map<string, string>();
  const queue = [root];
  const look = async (dir: string): Promise<void> => {
    const stat = await run.ops.lstat(dir);
    // The root may be a link; below it none is followed.
    if (stat === undefined || !(stat.kind === 'directory' || (dir === root && isPlace(stat)))) return;
    directories.set(dir, stat.identity);
    for (const { name, kind } of await run.ops.list(dir)) {
      const path = join(dir, name);
      const own = parseOwn(name);
      if (dir === root && !owns(own?.name ?? name, own !== undefined)) continue;
      if (own === undefined) {
        if (kind === 'directory') queue.push(path);
      } else {
        const found = await run.ops.lstat(path);
        if (found !== undefined) leftovers.push(leftoverOf(dir, path, own, found));
      }
    }
  };
  for (let dir = queue.shift(); dir !== undefined; dir = queue.shift()) {
    run.signal?.throwIfAborted();
    const path = dir;
    await during({ ...WHERE, path }, () => look(path));
  }
  return { leftovers, directories };
}

/** Whether entries can be asked for there: of a directory, or of what a link leads to. */
function isPlace(stat: EntryStat | undefined): boolean {
  return stat?.kind === 'directory' || stat?.kind === 'symlink';
}

async function oldEntries(ops: FsOps, dir: string, name: string | undefined): Promise<readonly Leftover[]> {
  const entries: Leftover[] = [];
  for (const { name: entry } of await ops.list(dir)) {
    const own = parseOwn(entry);
    if (own?.kind !== 'old' || (name !== undefined && own.name !== name)) continue;
    const stat = await ops.lstat(join(dir, entry));
    if (stat !== undefined) entries.push(leftoverOf(dir, join(dir, entry), own, stat));
  }
  return entries;
}

function leftoverOf(
  dir: string,
  path: string,
  own: { readonly name: string; readonly kind: LeftoverKind },
  { identity, changedNs }: EntryStat,
): Leftover {
  return { path, kind: own.kind, target: join(dir, own.name), identity, changedNs };
}
