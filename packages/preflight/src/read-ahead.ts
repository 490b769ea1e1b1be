/** A value, and the number of the source that it is from; undefined at the beginning of a source. */
export interface Ahead<T> {
  readonly source: number;
  readonly value: T | undefined;
}

/**
 * Reads sources one after the other, in their order, and the next value of the first `atOnce` of them while the present one is used: whoever makes the values works at the same time as whoever uses them. No more than
 * one value of each of these sources is held. All are closed at the end.
 */
export async function* readAhead<T>(
  sources: readonly (() => AsyncGenerator<T, void>)[],
  atOnce: number,
): AsyncGenerator<Ahead<T>, void> {
  const open: { readonly values: AsyncGenerator<T, void>; next: Promise<IteratorResult<T, void>> }[] = [];
  let opened = 0;
  const ask = (values: AsyncGenerator<T, void>): Promise<IteratorResult<T, void>> => {
    const next = values.next();
    // Whoever waits for it sees why it fails; until somebody does, nobody else must.
    next.catch(() => undefined);
    return next;
  };
  try {
    for (let source = 0; source < sources.length; source += 1) {
      for (; opened < Math.min(sources.length, source + Math.max(1, atOnce)); opened += 1) {
        const values = sources[opened]?.() as AsyncGenerator<T, void>;
        open.push({ values, next: ask(values) });
      }
      yield { source, value: undefined };
      const [first] = open as [(typeof open)[number]];
      for (;;) {
        const result = await first.next;
        if (result.done === true) break;
        first.next = ask(first.values);
        yield { source, value: result.value };
      }
      open.shift();
    }
  } finally {
    await Promise.allSettled(open.map(({ values }) => values.return()));
  }
}
