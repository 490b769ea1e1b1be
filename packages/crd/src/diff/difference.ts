import { equal, isObject, type Json, own } from '../schema/json.ts';
import { shown } from './step.ts';

/** How much is shown around the place where two texts differ. */
const AROUND = 20;
const MOST = 60;

/** Two values as `1 → 2`, and of large ones only where they differ: `.a.b 1 → 2`. */
export function difference(before: Json | undefined, after: Json | undefined): string {
  if (isObject(before) && isObject(after)) {
    const keys = Object.keys({ ...before, ...after }).filter((key) => !equal(own(before, key), own(after, key)));
    const [first, ...more] = keys;
    if (first !== undefined) {
      const inner = difference(own(before, first), own(after, first));
      const others = more.length === 0 ? '' : `, and ${more.length} more`;
      return `.${first}${inner.startsWith('.') ? '' : ' '}${inner}${others}`;
    }
  }
  const [a, b] = [before, after].map((value) => (typeof value === 'string' ? value : undefined));
  if (a !== undefined && b !== undefined && Math.max(a.length, b.length) > MOST) {
    const [x, y] = excerpts(a, b);
    return `"${x}" → "${y}"`;
  }
  return `${shown(before)} → ${shown(after)}`;
}

/** Two texts from a little before to a little after what differs in them. */
export function excerpts(a: string, b: string): readonly [string, string] {
  let head = 0;
  while (head < Math.min(a.length, b.length) && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const from = head > AROUND + 5 ? head - AROUND : 0;
  const rest = tail > AROUND + 5 ? tail - AROUND : 0;
  const part = (text: string): string => {
    const inner = text.slice(from, text.length - rest);
    const cut = inner.length > 2 * MOST ? `${inner.slice(0, 2 * MOST - 1)}…` : inner;
    return `${from > 0 ? '…' : ''}${cut}${rest > 0 ? '…' : ''}`;
  };
  return [part(a), part(b)];
}
