/** No real object has as many levels; servers take ten thousand of them, and each costs stack to walk. */
export const DEEP = 500;

/** Whether a value has more levels of lists and objects. It costs no more stack than that. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}
