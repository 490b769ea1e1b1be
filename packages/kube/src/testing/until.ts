/** Waits until `check` gives, or resolves to, something other than false or undefined; fails with `what` after a minute. */
export async function until<R>(
  what: string,
  check: () => R | false | undefined | Promise<R | false | undefined>,
): Promise<R> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const found = await check();
    if (found !== false && found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`${what} did not happen within a minute`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
