/** What somebody waits for, or the reason of the signal where that ends first; others that wait for the same go on. */
export async function orAborted<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([answer, promise]);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** Waits until all that is watched is known. Rejects with what ends a watch, or with the reason of the signal where that ends first. */
export async function allSynced(
  watched: Iterable<{ readonly synced: Promise<void> }>,
  signal: AbortSignal | undefined,
): Promise<void> {
  // Before anything that could reject with nobody to hear it.
  signal?.throwIfAborted();
  await orAborted(Promise.all(Array.from(watched, ({ synced }) => synced)), signal);
}
