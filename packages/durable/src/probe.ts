import { DurableError, during } from './errors.ts';
import { checkPath, ownName } from './names.ts';
import { type DurableOptions, session } from './session.ts';
import { swap } from './swap.ts';
import { removeAll } from './tree.ts';

/** Whether directories of a file system can be swapped in one step, and if not, why. */
export type ExchangeSupport =
  | { readonly available: true }
  | { readonly available: false; readonly reason: DurableError };

/** Tries an exchange of two empty directories of its own in `dir` and removes them. Other failures reject with a `DurableError`. */
export async function probeExchange(dir: string, options: DurableOptions = {}): Promise<ExchangeSupport> {
  const at = checkPath(dir);
  const run = session(options);
  const [first, second] = [ownName(at, 'probe', 'staging'), ownName(at, 'probe', 'staging')];
  try {
    const where = { code: 'WRITE_FAILED', stage: 'prepare', path: at, visible: 'old' } as const;
    for (const path of [first, second]) await during(where, () => run.ops.mkdir(path, 0o700));
    await swap(run, first, second, 'require');
    return { available: true };
  } catch (error) {
    if (error instanceof DurableError && error.code === 'EXCHANGE_UNAVAILABLE')
      return { available: false, reason: error };
    throw error;
  } finally {
    for (const path of [first, second]) await removeAll(run.ops, path).catch(() => undefined);
  }
}
