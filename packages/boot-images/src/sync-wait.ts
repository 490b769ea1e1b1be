/** Waits until all that is watched is known. Rejects with what ends a watch, or with the reason of the signal where that ends first. */
export async function allSynced(
  watched: Iterable<{ readonly synced: Promise<void> }>,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([Promise.all(Array.from(watched, ({ synced }) => synced)), promise]);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}
