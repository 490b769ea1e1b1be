import { join } from 'node:path';
import type { FileSpec, FsOps } from '@drydock/durable';

/** Name of the lock in a directory that has several writers. */
export const LOCK_NAME = '.drydock.lock';

/** Permissions of every directory. */
export const DIRECTORY_MODE = 0o755;

/** Whether a directory holds exactly these files: names, bytes, modes. `absent` where nothing is there. What cannot be read differs. */
export async function compareDirectory(
  ops: FsOps,
  path: string,
  files: ReadonlyMap<string, FileSpec>,
): Promise<'absent' | 'equal' | 'different'> {
  try {
    const stat = await ops.lstat(path);
    if (stat === undefined) return 'absent';
    if (stat.kind !== 'directory' || stat.mode !== DIRECTORY_MODE) return 'different';
    const entries = await ops.list(path);
    if (entries.length !== files.size) return 'different';
    for (const { name } of entries) {
      const wanted = files.get(name);
      if (wanted === undefined || !(await holds(ops, join(path, name), wanted))) return 'different';
    }
    return 'equal';
  } catch {
    return 'different';
  }
}

async function holds(ops: FsOps, path: string, { content, mode }: FileSpec): Promise<boolean> {
  const stat = await ops.lstat(path);
  const bytes = Buffer.from(content);
  if (stat?.kind !== 'file' || stat.mode !== mode || stat.size !== bytes.length) return false;
  return bytes.equals(await ops.read(path));
}
