import { basename, dirname } from 'node:path';
import { during, errnoOf, type Visible } from './errors.ts';
import { ownName } from './names.ts';
import type { Session } from './session.ts';

/** What to do where the file system cannot exchange two directories. */
export type ExchangePolicy =
  /** Fail; nothing visible has changed. */
  | 'require'
  /** Two renames instead: readers may miss the directory for a moment, and after a power cut until `recover` ran. */
  | 'auto';

/** What a swap did. */
export interface Swapped {
  /** Whether readers saw the old directory or the new one at every instant. */
  readonly atomic: boolean;
  /** Where the replaced content lies now. */
  readonly leftover: string | undefined;
}

const UNAVAILABLE: ReadonlySet<string> = new Set(['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM']);

/** Puts a complete, synced directory in place of the target. Its parents still have to be synced. */
export async function swap(run: Session, target: string, staged: string, policy: ExchangePolicy): Promise<Swapped> {
  const where = { stage: 'exchange', path: target, visible: 'old' } as const;
  if ((await during({ ...where, code: 'EXCHANGE_FAILED' }, () => run.ops.lstat(target))) === undefined) {
    await during({ ...where, code: 'RENAME_FAILED' }, () => run.ops.rename(staged, target));
    return { atomic: true, leftover: undefined };
  }
  try {
    await run.ops.exchange(target, staged);
    return { atomic: true, leftover: staged };
  } catch (cause) {
    const unavailable = UNAVAILABLE.has(errnoOf(cause) ?? '');
    if (unavailable && policy === 'auto') return { atomic: false, leftover: await renameTwice(run, target, staged) };
    return during({ ...where, code: unavailable ? 'EXCHANGE_UNAVAILABLE' : 'EXCHANGE_FAILED' }, () =>
      Promise.reject(cause),
    );
  }
}

/**
 * The way without exchange. The staged directory is complete and durable already, and the old one keeps its content under a name that says where it belongs, so
 * that `recover` can put it back if the power goes between the two:
 *
 *     t ─► .t.<id>.old     (a reader finds nothing)     staged ─► t
 */
async function renameTwice(run: Session, target: string, staged: string): Promise<string> {
  const old = ownName(dirname(target), basename(target), 'old');
  const where = { code: 'RENAME_FAILED', stage: 'exchange', path: target, visible: 'old' } as const;
  await during(where, () => run.ops.rename(target, old));
  try {
    await run.ops.rename(staged, target);
  } catch (cause) {
    const stalled = errnoOf(cause) === 'ESTALLED';
    const visible: Visible = stalled || !(await putBack(run, old, target)) ? 'unknown' : 'old';
    await during({ ...where, visible }, () => Promise.reject(cause));
  }
  return old;
}

async function putBack(run: Session, old: string, target: string): Promise<boolean> {
  try {
    await run.ops.rename(old, target);
    return true;
  } catch {
    return false;
  }
}
