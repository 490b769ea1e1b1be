/** Leaves out of a failing list what it fails without, in at most `tries` plays: halves first, then quarters, down to single ones. */
export async function shrunk<T>(
  failing: readonly T[],
  fails: (some: readonly T[]) => Promise<boolean>,
  tries = 40,
): Promise<readonly T[]> {
  let rest = failing;
  let size = Math.ceil(rest.length / 2);
  let left = tries;
  while (size >= 1 && left > 0) {
    let found = false;
    for (let from = 0; from < rest.length && left > 0; ) {
      const without = [...rest.slice(0, from), ...rest.slice(from + size)];
      left -= 1;
      if (without.length > 0 && (await fails(without))) {
        rest = without;
        found = true;
      } else from += size;
    }
    if (size === 1 && !found) break;
    size = Math.max(1, Math.floor(size / 2));
  }
  return rest;
}
