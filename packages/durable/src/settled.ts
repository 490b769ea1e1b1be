import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { during } from './errors.ts';
import type { EntryStat, FsOps } from './ops.ts';
import type { Session } from './session.ts';

/**
 * What this process knows to be durable: a place → what was there. That content is equal proves nothing: it may be in the page cache only, left
 * by a process that was killed before its fsync, or rewritten in place since. So a mark holds every object with its time of change, and the content itself:
 * a clock that ticks slowly may give two contents one time.
 */
const known = new WeakMap<FsOps, Map<string, string>>();

/** What is looked at to tell whether something is still what was made durable; undefined where no look can tell. Fails where it cannot be looked at. */
export type Mark = (ops: FsOps) => Promise<string | undefined>;

/** Of a file with this content. */
export function fileMark(path: string, bytes: Uint8Array): Mark {
  return async (ops) => {
    const seen = await objectMark(ops, path);
    return seen === undefined ? undefined : `${seen} ${digest([bytes])}`;
  };
}

/** Of a link, or of nothing: an object that cannot be rewritten in place. */
export function nameMark(path: string): Mark {
  return (ops) => objectMark(ops, path);
}

/** Of a directory and all that a tree says is in it. */
export function treeMark(
  path: string,
  {
    dirs,
    files,
  }: {
    readonly dirs: ReadonlyMap<string, unknown>;
    readonly files: ReadonlyMap<string, { readonly bytes: Uint8Array }>;
  },
): Mark {
  return async (ops) => {
    const seen = [await objectMark(ops, path)];
    for (const name of [...dirs.keys(), ...files.keys()]) seen.push(textOf(await ops.lstat(join(path, name))));
    return seen.includes(undefined)
      ? undefined
      : `${seen.join()} ${digest([...files.values()].map(({ bytes }) => bytes))}`;
  };
}

/** Whether this process made or found the object at `path` durable (or its absence), and it is the same since, with the same content. */
export async function isSettled(run: Session, path: string, mark: Mark): Promise<boolean> {
  // In memory nothing is ever durable, and nothing is to be synced.
  if (await run.volatile(dirname(path))) return true;
  const { base } = run;
  const told = known.get(base)?.get(path);
  return told !== undefined && told === (await mark(base).catch(() => undefined));
}

/**
 * Looks at the target once more, after its last sync, and remembers it as durable. The look counts: an XFS that went down answers the fsync of a directory with
 * success, and only then says that it is down.
 */
export async function settle(run: Session, path: string, mark: Mark): Promise<void> {
  if (await run.volatile(dirname(path))) return;
  const where = { code: 'DIRECTORY_SYNC_FAILED', stage: 'fsync-parent', path, visible: 'new' } as const;
  const seen = await during(where, () => mark(run.ops));
  remember(run.base, path, seen);
  await settleDirectory(run, path);
}

/** Whether the entries of a directory are those that this process made or found durable. */
export async function isDirectorySettled({ base }: Session, path: string): Promise<boolean> {
  const told = known.get(base)?.get(entriesOf(path));
  return told !== undefined && told === (await directoryMark(base, path));
}

/** Remembers a directory as it is now, or as it was when its mark was taken. */
export async function settleDirectory({ base }: Session, path: string, mark?: string): Promise<void> {
  const seen = mark ?? (await directoryMark(base, path));
  if (seen !== undefined) remember(base, entriesOf(path), seen);
}

/** Whether the name of what is at `path` is one that this process made durable. */
export async function isNameSettled({ base }: Session, path: string): Promise<boolean> {
  const told = known.get(base)?.get(nameOf(path));
  return told !== undefined && told === (await base.lstat(path).catch(() => undefined))?.identity;
}

/** Remembers that the directory above holds the name durably, whatever else changes there. */
export async function settleName({ base }: Session, path: string): Promise<void> {
  remember(base, nameOf(path), (await base.lstat(path).catch(() => undefined))?.identity);
}

/** A directory and when it last changed; undefined where `path` is none itself: of a link it would say nothing. */
export async function directoryMark(ops: FsOps, path: string): Promise<string | undefined> {
  const stat = await ops.lstat(path).catch(() => undefined);
  return stat?.kind === 'directory' ? textOf(stat) : undefined;
}

// No path holds NUL.
function entriesOf(path: string): string {
  return `${path}\0entries`;
}

function nameOf(path: string): string {
  return `${path}\0name`;
}

function remember(ops: FsOps, key: string, mark: string | undefined): void {
  const paths = known.get(ops) ?? new Map<string, string>();
  known.set(ops, paths);
  if (mark === undefined) paths.delete(key);
  else paths.set(key, mark);
}

async function objectMark(ops: FsOps, path: string): Promise<string | undefined> {
  const stat = await ops.lstat(path);
  if (stat !== undefined) return textOf(stat);
  // Of nothing, the directory that lacks it must not have changed. A link to one does not change with what it leads to.
  const parent = await ops.lstat(dirname(path));
  return parent?.kind === 'directory' ? `nothing in ${textOf(parent)}` : undefined;
}

function textOf(stat: EntryStat | undefined): string {
  return stat === undefined ? 'nothing' : `${stat.identity} ${stat.changedNs} ${stat.size} ${stat.mode.toString(8)}`;
}

function digest(contents: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const bytes of contents) hash.update(`${bytes.length} `).update(bytes);
  return hash.digest('base64');
}
