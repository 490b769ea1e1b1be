/**
 * Work that may have to wait for somebody outside, such as a webhook. Each yielded promise is waited for; what it resolves with is what `yield` gives. The
 * cluster of the crash explorers waits for nobody, so there the same code runs at once.
 */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>;

/** Waits, inside of steps. */
export function* waitFor<T>(promise: Promise<T>): Steps<T> {
  return (yield promise) as T;
}

/** Runs steps that wait for nobody. */
export function atOnce<T>(steps: Steps<T>): T {
  const { done, value } = steps.next();
  if (done !== true)
    throw new TypeError(
      'a server that answers at once must not wait; plug in what waits only where answers are promises',
    );
  return value;
}

/** Runs steps to their end. */
export async function inTime<T>(steps: Steps<T>): Promise<T> {
  let next = steps.next();
  while (next.done !== true) {
    let value: unknown;
    try {
      value = await next.value;
    } catch (error) {
      next = steps.throw(error);
      continue;
    }
    next = steps.next(value);
  }
  return next.value;
}
