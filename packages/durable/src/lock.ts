import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DurableError, during } from './errors.ts';
import { checkPath } from './names.ts';
import { nodeOps } from './node-ops.ts';
import type { FsOps, OpenFile } from './ops.ts';
import { checkTrusted, isOurs } from './trust.ts';

/** Options of {@link lockFile}. */
export interface LockOptions {
  /** Default {@link nodeOps}. */
  readonly ops?: FsOps;
  /** Time between two tries; default 300 ms. */
  readonly pollMs?: number;
  /** Default 120 s. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

/** A lock that is held until it is disposed of; the kernel releases it when the process dies. */
export interface FileLock extends AsyncDisposable {
  readonly path: string;
}

/** Who can open a file can take its lock: nobody but its owner may. */
const MODE = 0o600;

/**
 * Takes an exclusive flock(2) on a file, which is made when absent and never removed. It is 0600, and where somebody else could have put it there, or could put
 * another in its place, it is refused as `UNTRUSTED`. It tries again and again instead of waiting in the kernel:
 * four waiting calls would occupy all of Node's threads. Fails with `LOCK_TIMEOUT`, or `LOCK_FAILED` where flock is not available.
 */
export async function lockFile(path: string, options: LockOptions = {}): Promise<FileLock> {
  const { ops = nodeOps, pollMs = 300, deadlineMs = 120_000, signal } = options;
  const at = checkPath(path);
  const where = { code: 'LOCK_FAILED', stage: 'lock', path: at, visible: 'old' } as const;
  signal?.throwIfAborted();
  await checkTrusted(dirname(at), { ops });
  const file = await during(where, () => ops.open(at, 'lock', MODE));
  try {
    await keepToOurselves(ops, file);
    const deadline = performance.now() + deadlineMs;
    while (!(await during(where, () => ops.lock(file)))) {
      if (performance.now() >= deadline)
        throw new DurableError({
          ...where,
          code: 'LOCK_TIMEOUT',
          message: `somebody else held it for ${deadlineMs} ms`,
        });
      await sleep(Math.min(pollMs, Math.max(1, deadline - performance.now())), undefined, { signal });
    }
  } catch (error) {
    await ops.close(file).catch(() => undefined);
    throw error;
  }
  // Linux lets go of the descriptor, and with it the lock, whatever close answers; its error must not hide one that is on its way.
  return { path: at, [Symbol.asyncDispose]: () => ops.close(file).catch(() => undefined) };
}

/** What an earlier version left open to readers, who could hold it, is closed to them. */
async function keepToOurselves(ops: FsOps, file: OpenFile): Promise<void> {
  const where = { stage: 'lock', path: file.path, visible: 'old' } as const;
  const stat = await during({ ...where, code: 'LOCK_FAILED' }, () => ops.lstat(file.path));
  if (stat === undefined) return;
  if (!isOurs(stat.uid)) {
    const message = `it belongs to user ${stat.uid}, who could hold it for ever`;
    throw new DurableError({ ...where, code: 'UNTRUSTED', message });
  }
  if ((stat.mode & 0o777) !== MODE) await during({ ...where, code: 'LOCK_FAILED' }, () => ops.chmod(file, MODE));
}
