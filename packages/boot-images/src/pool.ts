/** Runs `task` over the items, at most `limit` at a time, and gives the results in order. Rejects with the first failure. */
export async function mapPool<T, R>(items: readonly T[], limit: number, task: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  const entries = items.entries();
  const worker = async (): Promise<void> => {
    for (const [i, item] of entries) results[i] = await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
