/** A text below this length (UTF-16 units) is parsed whatever is in it: etcd stores objects of up to 1.5 MiB, and one that could not be read would stop the readers of all. */
const LIGHT = 1.5 * 2 ** 20;
/** More names of properties take too long at one stretch: when all are different, each costs up to a microsecond. */
const MOST_NAMES = 200_000;
/** More strings, lists and objects do, too. */
const MOST_PARTS = 1_000_000;

const QUOTE = 34;
const COLON = 58;
const LIST = 91;
const BACKSLASH = 92;
const MAP = 123;

/** A JSON text that would take too long to parse at one stretch. */
export class HeavyJson extends Error {
  override readonly name = 'HeavyJson';
}

/** Throws `HeavyJson` for a text of so many names, strings, lists and objects that parsing it would hold up the event loop. Their sizes do not count: they cost little. */
export function assertLight(text: string): void {
  if (text.length <= LIGHT) return;
  let names = 0;
  let parts = 0;
  for (let at = 0; at < text.length && names <= MOST_NAMES && parts <= MOST_PARTS; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      parts += 1;
    } else if (code === COLON) names += 1;
    else if (code === LIST || code === MAP) parts += 1;
  }
  if (names > MOST_NAMES) throw new HeavyJson(`it has more than ${MOST_NAMES} names`);
  if (parts > MOST_PARTS) throw new HeavyJson(`it has more than ${MOST_PARTS} strings, lists and objects`);
}

/** Where the closing quote of the string is that begins here; the text's length where it has none. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return at;
}
