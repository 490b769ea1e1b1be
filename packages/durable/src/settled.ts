import { dirname } from 'node:path';
import type { FsOps } from './ops.ts';

/**
 * What this process knows to be durable: path → which object it was. That content is equal proves nothing: it may be in the page cache only, left
 * by a process that was killed before its fsync.
 */
const known = new WeakMap<FsOps, Map<string, string>>();

/** Whether this process made or found the object at `path` durable (or its absence), and nobody replaced it since. */
export async function isSettled(ops: FsOps, path: string): Promise<boolean> {
  const mark = known.get(ops)?.get(path);
  return mark !== undefined && mark === (await markOf(ops, path).catch(() => undefined));
}

/** Remembers that the object at `path`, or that there is none, is durable. */
export async function settle(ops: FsOps, path: string): Promise<void> {
  const mark = await markOf(ops, path).catch(() => undefined);
  const paths = known.get(ops) ?? new Map<string, string>();
  known.set(ops, paths);
  if (mark === undefined) paths.delete(path);
  else paths.set(path, mark);
}

async function markOf(ops: FsOps, path: string): Promise<string | undefined> {
  const stat = await ops.lstat(path);
  if (stat !== undefined) return `${stat.identity} ${stat.changedNs}`;
  const parent = await ops.lstat(dirname(path));
  // Of a link nothing follows: it does not change with what it leads to.
  return parent?.kind !== 'directory' ? undefined : `nothing in ${parent.identity} ${parent.changedNs}`;
}
