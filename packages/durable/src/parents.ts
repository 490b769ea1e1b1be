import { dirname } from 'node:path';
import { during, type Visible } from './errors.ts';
import { isMounted } from './mounts.ts';
import { checkPath } from './names.ts';
import { type DurableOptions, type Session, session } from './session.ts';
import { nameMark, settle } from './settled.ts';
import { directoryJob, syncAll } from './sync-all.ts';

/** Permissions of directories that are made on the way. */
const MODE = 0o755;

/**
 * Makes a directory and its missing ancestors, each 0755 whatever the umask says, and each durable before the next, so that a process that is killed leaves no
 * gap. Others may be making the same ones. One that is there is left as it is; whether it is durable is for `recover` to see to. True where something
 * was missing. Fails with a `DurableError`.
 */
export async function makeDirectoryDurable(path: string, options: DurableOptions = {}): Promise<boolean> {
  const at = checkPath(path);
  const run = session(options);
  const missing = await during({ code: 'WRITE_FAILED', stage: 'prepare', path: at, visible: 'old' }, () =>
    missingOf(run, at),
  );
  const [first] = missing;
  if (first === undefined) return false;
  // A process that was killed may have made what is there a moment ago.
  const present = dirname(first);
  const where = { code: 'WRITE_FAILED', stage: 'prepare', path: at, visible: 'old' } as const;
  if (present !== dirname(present) && !(await during(where, () => isMounted(run.ops, present))))
    await sync(run, [dirname(present)], 'old');
  for (const dir of missing) {
    await make(run, dir, dir === at ? 'unknown' : 'old');
    await sync(run, dir === at ? [dir, dirname(dir)] : [dirname(dir)], dir === at ? 'new' : 'old');
  }
  await settle(run, at, nameMark(at));
  return true;
}

/**
 * Makes a directory and its missing ancestors, each 0755, and adds the parent of each one made to `unsynced`: until that parent is synced, a
 * power cut takes the new directory with all that is in it.
 */
export async function makeParents(run: Session, path: string, unsynced: Set<string>): Promise<void> {
  const where = { code: 'WRITE_FAILED', stage: 'prepare', path, visible: 'old' } as const;
  await during(where, async () => {
    for (const at of await missingOf(run, path)) {
      await make(run, at, 'old');
      unsynced.add(dirname(at));
    }
  });
}

/** The path and its ancestors that are not there, outermost first. */
async function missingOf(run: Session, path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (let at = path; (await run.ops.lstat(at)) === undefined; at = dirname(at)) missing.unshift(at);
  return missing;
}

/** `visible`: what readers see of the caller's target once the directory is there. */
async function make(run: Session, path: string, visible: Visible): Promise<void> {
  const where = { code: 'WRITE_FAILED', stage: 'prepare', path } as const;
  await during({ ...where, visible: 'old' }, async () => {
    try {
      await run.ops.mkdir(path, MODE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  });
  await during({ ...where, visible }, async () => {
    const made = await run.ops.open(path, 'directory', 0);
    try {
      await run.ops.chmod(made, MODE);
    } finally {
      await run.ops.close(made);
    }
  });
}

async function sync(run: Session, paths: readonly string[], visible: Visible): Promise<void> {
  const jobs = paths.map((path) => directoryJob(run, path, 'fsync-parent'));
  await syncAll(run, jobs, visible);
}
