/**
 * Integers that a JavaScript number cannot hold (the API's are of 64 bits), as the server wrote them, by the field of the object that has this property. It is
 * enumerable, so that a copy by spread has it too.
 */
const EXACT: unique symbol = Symbol('integers as the server wrote them');

type Exact = { [EXACT]?: Readonly<Record<string, string>> };

/** So many digits in a row, outside a string, may be too large a number. */
const LONG = 16;

/** As many digits outside a string; in a string it costs time and nothing else. */
const SUSPECT = /[:[,]\s*-?\d{16}/;

/** Deeper down nothing is exact: each level costs stack, and servers take ten thousand of them. */
const DEEPEST = 500;

type Reviver = (this: object, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/**
 * As JSON.parse. An integer beyond 2^53 reads as the nearest number, and `withExact` gives it back digit by digit, as long as the object or list that
 * holds it is passed on as it is, or copied by spread (an object).
 */
export function parseExact(text: string): unknown {
  if (!hasLongDigits(text) || !SUSPECT.test(text)) return JSON.parse(text);
  const remember: Reviver = function (key, value, { source }) {
    if (typeof value === 'number' && source !== undefined && isChanged(value, source))
      (this as Exact)[EXACT] = { ...(this as Exact)[EXACT], [key]: source };
    return value;
  };
  try {
    return JSON.parse(text, remember as (this: unknown, key: string, value: unknown) => unknown);
  } catch (error) {
    // Too deep for a walk, which plain parsing does without.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
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

/** What is to be sent: the value itself, or a copy in which the remembered integers have their digits again. A number that was changed stays changed. */
export function withExact(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  const exact = (value as Exact)[EXACT];
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    const source = exact !== undefined && Object.hasOwn(exact, key) ? exact[key] : undefined;
    const sent = source !== undefined && Number(source) === field ? rawJson(source) : withExact(field, depth + 1);
    if (sent === field) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...fields }) as Record<string, unknown>;
    Object.defineProperty(copy, key, { value: sent, enumerable: true, configurable: true, writable: true });
  }
  return copy ?? value;
}

/** Not only where the number is another one: JavaScript writes the shortest digits that read as the same number, and zeros after them. */
function isChanged(value: number, source: string): boolean {
  return !Number.isSafeInteger(value) && /^-?\d+$/.test(source) && String(value) !== source;
}

/** `JSON.rawJSON` (ECMA-262, JSON.parse source text access), which the compiler's library does not know yet. */
function rawJson(source: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source);
}
