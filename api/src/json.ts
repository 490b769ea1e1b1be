import { randomBytes } from 'node:crypto';

/**
 * What is to stand for an integer that a number may not hold (the API's are of 64 bits): `source` is its digits, `holder` the object or list that has it
 * under `key`.
 */
export type LargeInteger = (source: string, holder: object, key: string) => unknown;

/** So many digits in a row, outside a string, may be too large a number. */
const LONG = 16;
/** With its sign; what is longer is no integer of any API, and a server has made a floating-point number of it. */
const LONGEST = 32;
/** As many digits outside a string; in a string it costs time and nothing else. */
const SUSPECT = /[:[,]\s*-?\d{16}/;
const INTEGER = /^-?(?:0|[1-9]\d*)$/;

/** Stands for an integer, and with a number for a name, until they are put back; nobody else knows it. */
const MARK = randomBytes(6).toString('base64');
/** Written with escapes, these could be the index of a list; such names go before all others, whenever they come. */
const INDEX = /^(?:\d|\\u003\d)*$/;

const QUOTE = 34;
const MINUS = 45;
const COLON = 58;
const BACKSLASH = 92;

/**
 * As JSON.parse of a foreign text, with two differences. Integers of 16 digits or more are given to `integer`, if there is one. And names of properties are
 * what the text says: V8 (in Node 24 to 26) compares a name with those that it has seen before it has resolved its escapes, so that after `{"\\":1}`, in the
 * same process, `{"\"":1}` and `{"\n":1}` are read with the name `\`. (nodejs/node#63785)
 *
 * It costs at most linear, and no stack: nesting may be as deep as the text is long. Throws `SyntaxError`.
 */
export function readJson(text: string, integer?: LargeInteger): unknown {
  const withIntegers = integer !== undefined && hasLongDigits(text) && SUSPECT.test(text);
  if (!withIntegers && !hasEscapedName(text)) return JSON.parse(text);
  const { marked, names, integers } = mark(text, withIntegers);
  const value: unknown = JSON.parse(marked);
  return names.size > 0 || integers ? restored(value, names, integer) : value;
}

/** Whether `LONG` digits stand in a row somewhere: then one of them stands at a multiple of `LONG`. The expression alone costs a tenth of an event. */
function hasLongDigits(text: string): boolean {
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let first = at;
    let last = at;
    while (isDigit(text.charCodeAt(first - 1))) first -= 1;
    while (isDigit(text.charCodeAt(last + 1))) last += 1;
    if (last - first + 1 >= LONG) return true;
  }
  return false;
}

/** False outside the text too, where the code is NaN. */
function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Whether a name of a property is written with an escape. Only strings have escapes, so all others are passed over. */
function hasEscapedName(text: string): boolean {
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at)) {
    at = endOfString(text, at) + 1;
    if (isBeforeColon(text, at)) return true;
  }
  return false;
}

/** What the names say that are written with an escape. */
function escapedNames(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at)) {
    const end = endOfString(text, at);
    // The first escape of a string: the quote before it is the one that opens it.
    if (isBeforeColon(text, end + 1)) names.add(decoded(text.slice(text.lastIndexOf('"', at) + 1, end)));
    at = end + 1;
  }
  return names;
}

/** Where the string ends in which `inside` lies, or which begins there; the text's length where it has no end. */
function endOfString(text: string, inside: number): number {
  for (let end = text.indexOf('"', inside + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slash = end - 1;
    while (slash >= inside && text.charCodeAt(slash) === BACKSLASH) slash -= 1;
    if ((end - slash) % 2 === 1) return end;
  }
  return text.length;
}

/** Whether only white space is between here and a colon. */
function isBeforeColon(text: string, from: number): boolean {
  let at = from;
  for (let code = text.charCodeAt(at); code === 32 || (code >= 9 && code <= 13); code = text.charCodeAt(at)) at += 1;
  return text.charCodeAt(at) === COLON;
}

/** The text with marks in place of large integers and of what is not plain in names. A text that is no JSON does not become one by that. */
function mark(
  text: string,
  withIntegers: boolean,
): { readonly marked: string; readonly names: ReadonlyMap<string, string>; readonly integers: boolean } {
  const names = new Map<string, string>();
  /** Where one of these is also written plainly, it gets a place as well: else nobody could tell which of the two came last. */
  const escaped = escapedNames(text);
  let integers = false;
  let marked = '';
  let kept = 0;
  let slash = text.indexOf('\\');
  /** What stands for a name: short, however long that is, and another one each time, so that of two that say the same the later one counts. */
  const placeOf = (name: string): string => {
    const place = `${MARK}n${names.size}`;
    names.set(place, name);
    return place;
  };
  const put = (from: number, to: number, what: string): void => {
    marked += text.slice(kept, from) + what;
    kept = to;
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      if (slash >= 0 && slash < at) slash = text.indexOf('\\', at);
      if (escaped.size > 0 && isBeforeColon(text, end + 1)) {
        const inside = text.slice(at + 1, end);
        const name = slash >= 0 && slash < end ? decoded(inside) : inside;
        if (escaped.has(name)) put(at + 1, end, INDEX.test(inside) ? name : placeOf(name));
      }
      at = end;
    } else if (withIntegers && (code === MINUS || isDigit(code))) {
      let end = at + 1;
      while (isOfNumber(text.charCodeAt(end))) end += 1;
      const source = text.slice(at, Math.min(end, at + LONGEST + 1));
      const digits = code === MINUS ? source.length - 1 : source.length;
      if (digits >= LONG && source.length <= LONGEST && INTEGER.test(source) && !isBeforeColon(text, end)) {
        put(at, end, `"${MARK}${source}"`);
        integers = true;
      }
      at = end - 1;
    }
  }
  return { marked: marked + text.slice(kept), names, integers };
}

/** What the inside of a string says. V8 reads strings right where they are no names. */
function decoded(inside: string): string {
  return JSON.parse(`"${inside}"`) as string;
}

/** `+ - . E e` or a digit. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 43 || code === MINUS || code === 46 || code === 69 || code === 101;
}

/** Puts names and integers where their marks are. By a list of what is left to do, because recursion would cost stack. */
function restored(root: unknown, names: ReadonlyMap<string, string>, integer: LargeInteger | undefined): unknown {
  const top = [root];
  const left: (unknown[] | Record<string, unknown>)[] = [top];
  for (let holder = left.pop(); holder !== undefined; holder = left.pop()) {
    const keys = Array.isArray(holder) ? undefined : Object.keys(holder);
    const fields = holder as Record<number | string, unknown>;
    const length = keys?.length ?? (holder as unknown[]).length;
    for (let at = 0; at < length; at += 1) {
      const key = keys?.[at] ?? at;
      const value = fields[key];
      if (typeof value === 'string') {
        if (value.startsWith(MARK)) fields[key] = integer?.(value.slice(MARK.length), holder, `${key}`);
      } else if (typeof value === 'object' && value !== null) {
        const inner = value as Record<string, unknown>;
        const whole = names.size === 0 || Array.isArray(inner) ? inner : named(inner, names);
        if (whole !== value) fields[key] = whole;
        left.push(whole);
      }
    }
  }
  return top[0];
}

/** The object with its names. */
function named(fields: Record<string, unknown>, names: ReadonlyMap<string, string>): Record<string, unknown> {
  const keys = Object.keys(fields);
  if (!keys.some((key) => names.has(key))) return fields;
  const whole: Record<string, unknown> = {};
  for (const key of keys) {
    const name = names.get(key) ?? key;
    // Any other name can be assigned; this one would change what the object is.
    if (name === '__proto__')
      Object.defineProperty(whole, name, { value: fields[key], enumerable: true, configurable: true, writable: true });
    else whole[name] = fields[key];
  }
  return whole;
}
