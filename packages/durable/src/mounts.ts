import { dirname } from 'node:path';
import type { FsOps } from './ops.ts';

/**
 * Whether a directory lies on another file system than the one above it. Its name is then no entry that a sync could keep, and what is above may be of a
 * kind that cannot be synced at all, such as squashfs or erofs.
 */
export async function isMounted(ops: FsOps, path: string): Promise<boolean> {
  const above = dirname(path);
  const [here, link] = [await ops.lstat(path), await ops.lstat(above)];
  const parent = link?.kind === 'symlink' ? await ops.lstat(`${above}/.`) : link;
  return here !== undefined && parent !== undefined && deviceOf(here.identity) !== deviceOf(parent.identity);
}

function deviceOf(identity: string): string | undefined {
  return identity.split(':')[0];
}
