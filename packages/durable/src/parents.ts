import { dirname } from 'node:path';
import { during } from './errors.ts';
import type { Session } from './session.ts';

/**
 * Makes a directory and its missing ancestors, each 0755, and adds the parent of each one made to `unsynced`: until that parent is synced, a
 * power cut takes the new directory with all that is in it.
 */
export async function makeParents(run: Session, path: string, unsynced: Set<string>): Promise<void> {
  const where = { code: 'WRITE_FAILED', stage: 'prepare', path, visible: 'old' } as const;
  await during(where, async () => {
    const missing: string[] = [];
    for (let at = path; (await run.ops.lstat(at)) === undefined; at = dirname(at)) missing.push(at);
    for (const at of missing.toReversed()) {
      try {
        await run.ops.mkdir(at, 0o755);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const made = await run.ops.open(at, 'directory', 0);
      try {
        await run.ops.chmod(made, 0o755);
      } finally {
        await run.ops.close(made);
      }
      unsynced.add(dirname(at));
    }
  });
}
