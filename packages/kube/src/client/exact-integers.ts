import { readJson } from '@drydock/api';

/**
 * Integers that a JavaScript number cannot hold (the API's are of 64 bits), as the server wrote them, by the field of the object that has this property. It is
 * enumerable, so that a copy by spread has it too.
 */
const EXACT: unique symbol = Symbol('integers as the server wrote them');

type Exact = { [EXACT]?: Record<string, string> };

/** Deeper down nothing is exact: each level costs stack, and servers take ten thousand of them. */
const DEEPEST = 500;

/**
 * As `readJson`. An integer beyond 2^53 reads as the nearest number, and `withExact` gives it back digit by digit, as long as the object or list that
 * holds it is passed on as it is, or copied by spread (an object).
 */
export function parseExact(text: string): unknown {
  return readJson(text, remember);
}

function remember(source: string, holder: Exact, key: string): number {
  const value = Number(source);
  if (isChanged(value, source)) {
    // One record that grows: a new one for each field would cost the square of them. Without a prototype, whose names are fields as well.
    holder[EXACT] ??= Object.create(null) as Record<string, string>;
    holder[EXACT][key] = source;
  }
  return value;
}

/**
 * What is to be sent: the value itself, or a copy in which the remembered integers have their digits again, or are what `write` makes of their digits. A
 * number that was changed stays changed.
 */
export function withExact(value: unknown, write: (digits: string) => unknown = rawJson, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  const exact = (value as Exact)[EXACT];
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    const source = exact?.[key];
    const sent = source !== undefined && Number(source) === field ? write(source) : withExact(field, write, depth + 1);
    if (sent === field) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...fields }) as Record<string, unknown>;
    Object.defineProperty(copy, key, { value: sent, enumerable: true, configurable: true, writable: true });
  }
  return copy ?? value;
}

/** Not only where the number is another one: JavaScript writes the shortest digits that read as the same number, and zeros after them. */
function isChanged(value: number, source: string): boolean {
  return !Number.isSafeInteger(value) && String(value) !== source;
}

/** `JSON.rawJSON` (ECMA-262, JSON.parse source text access), which the compiler's library does not know yet. */
function rawJson(source: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source);
}
