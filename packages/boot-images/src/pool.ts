/**
 * Runs `task` for each item, at most `limit` at a time. After a failure nothing more is begun; it rejects with the first one when what was under way has
 * ended, so that nothing goes on behind its back.
 */
export async function eachOf<T>(items: readonly T[], limit: number, task: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (failed) return;
      try {
        await task(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, worker));
  const bad = ends.find((end) => end.status === 'rejected');
  if (bad !== undefined) throw bad.reason;
}

/** Runs tasks of one key one after the other, in the order in which they came; those of other keys do not wait for them. */
export function lanes(): <R>(key: string, task: () => Promise<R>) => Promise<R> {
  const last = new Map<string, Promise<unknown>>();
  return (key, task) => {
    const before = last.get(key) ?? Promise.resolve();
    const run = before.then(task, task);
    last.set(
      key,
      run.catch(() => undefined),
    );
    return run;
  };
}
