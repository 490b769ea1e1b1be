/** Waits until `check` gives something other than false or undefined; fails with `what` after 5 s. */
export async function until<R>(what: string, check: () => R | false | undefined): Promise<R> {
  const deadline = performance.now() + 5000;
  for (;;) {
    const found = check();
    if (found !== false && found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`${what} did not happen within 5 s`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
