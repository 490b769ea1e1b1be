/** What an object, list or map costs beside what is in it, and each of its places (bytes). */
const HOLDER = 48;
const PLACE = 16;
/** What a string costs beside its characters. */
const STRING = 24;

/** About what a plain value holds in memory, in bytes: never much less, whatever a server makes of it. */
export function weightOf(value: unknown): number {
  let weight = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    weight += PLACE;
    if (typeof one === 'string') weight += STRING + one.length;
    else if (typeof one === 'object' && one !== null) {
      weight += HOLDER;
      if (one instanceof Map) for (const [key, held] of one) left.push(key, held);
      else for (const held of Object.values(one)) left.push(held);
    }
  }
  return weight;
}
