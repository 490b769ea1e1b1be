/** Whether two values are the same JSON: the order of keys does not count, and a key that is undefined is absent. It costs no stack. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  const pairs: [unknown, unknown][] = [[a, b]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) if (!isSame(...pair, pairs)) return false;
  return true;
}

/** As far as can be told without their fields, which go to `pairs`. */
function isSame(a: unknown, b: unknown, pairs: [unknown, unknown][]): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (const [at, item] of a.entries()) pairs.push([item, b[at]]);
    return true;
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const key of Object.keys(right)) if (right[key] !== undefined && !Object.hasOwn(left, key)) return false;
  for (const key of Object.keys(left)) pairs.push([left[key], own(right, key)]);
  return true;
}

/** Not what every object inherits: a label may be called `constructor`. */
function own(fields: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}
