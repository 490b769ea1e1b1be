import { readJson } from '@drydock/api';
import { deepText } from './deep-json.ts';

/**
 * Integers that a JavaScript number cannot hold (the API's are of 64 bits), as the server wrote them, by the field of the object that has this property. It is
 * enumerable, so that a copy by spread has it too.
 */
const EXACT: unique symbol = Symbol('integers as the server wrote them');

type Exact = { [EXACT]?: Record<string, string> };

/** Servers read no deeper JSON (the limit of Go's encoding/json), and what holds itself is deeper than any. */
const LEVELS = 10_000;

/** What is nested deeper than a server reads. A `RangeError`, as the language throws for what is too deep. */
export class DeepJson extends RangeError {
  override readonly name = 'DeepJson';

  constructor() {
    super(`it is nested more than ${LEVELS} levels deep, which no API server reads`);
  }
}

/** Whether any value that was read in this process has such an integer: few clusters have one, and else no value need be searched for them. */
let anyRead = false;

/**
 * As `readJson`. An integer beyond 2^53 reads as the nearest number, and `exactText` writes it digit by digit, as long as the object or list that
 * holds it is passed on as it is, or copied by spread (an object).
 */
export function parseExact(text: string): unknown {
  return readJson(text, remember);
}

function remember(source: string, holder: Exact, key: string): number {
  const value = Number(source);
  // Also where JavaScript writes the same digits: it pads the shortest ones that read as this number with zeros, and the number itself is another one.
  if (!Number.isSafeInteger(value)) {
    // One record that grows: a new one for each field would cost the square of them. Without a prototype, whose names are fields as well.
    anyRead = true;
    holder[EXACT] ??= Object.create(null) as Record<string, string>;
    holder[EXACT][key] = source;
  }
  return value;
}

/** An object or list whose fields are looked at. */
interface Level {
  readonly value: object;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly exact: Readonly<Record<string, string>> | undefined;
  readonly keys: readonly string[];
  at: number;
  copy?: Record<string, unknown>;
}

/**
 * The value itself, or a copy in which the remembered integers are what `write` makes of their digits. A number that was changed stays changed. It costs no
 * stack. Throws `DeepJson` where it has to look.
 */
export function withExact(value: unknown, write: (digits: string) => unknown): unknown {
  return anyRead ? withEach(value, write) : value;
}

function withEach(value: unknown, write: (digits: string) => unknown): unknown {
  if (!isNested(value)) return value;
  const above: Level[] = [];
  let level = levelOf(value);
  for (;;) {
    const key = level.keys[level.at];
    if (key !== undefined) {
      const field = level.fields[key];
      const source = level.exact?.[key];
      if (source !== undefined && Number(source) === field) put(level, key, write(source));
      else if (isNested(field)) {
        if (above.push(level) >= LEVELS) throw new DeepJson();
        level = levelOf(field);
      } else level.at += 1;
      continue;
    }
    const whole = level.copy ?? level.value;
    const holder = above.pop();
    if (holder === undefined) return whole;
    put(holder, holder.keys[holder.at] ?? '', whole);
    level = holder;
  }
}

/** `copy`, which was made of the fields of `of`, with what is remembered of them. */
export function withDigitsOf<T extends object>(copy: T, of: object): T {
  const exact = (of as Exact)[EXACT];
  if (exact !== undefined) (copy as Exact)[EXACT] = exact;
  return copy;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function levelOf(value: object): Level {
  const fields = value as Readonly<Record<string, unknown>>;
  return { value, fields, exact: (value as Exact)[EXACT], keys: Object.keys(value), at: 0 };
}

/** The field that is looked at is done. */
function put(level: Level, key: string, sent: unknown): void {
  level.at += 1;
  if (sent === level.fields[key]) return;
  level.copy ??= (Array.isArray(level.value) ? [...level.value] : { ...level.value }) as Record<string, unknown>;
  Object.defineProperty(level.copy, key, { value: sent, enumerable: true, configurable: true, writable: true });
}

/** What is sent for a value: as JSON.stringify, with the digits of the remembered integers and of bigints, and however deep a server takes it. Throws `DeepJson`. */
export function exactText(value: unknown): string {
  const whole = withExact(value, rawJson);
  try {
    const text = JSON.stringify(whole);
    // A level takes two characters.
    if (!anyRead && text !== undefined && text.length > 2 * LEVELS) withEach(whole, rawJson);
    return text;
  } catch (error) {
    // What others have read exactly has bigints; what holds itself cannot be written.
    if (error instanceof TypeError) {
      withEach(whole, rawJson);
      return JSON.stringify(whole, (_key, one: unknown) => (typeof one === 'bigint' ? rawJson(`${one}`) : one));
    }
    // The language writes some values by recursion, and its stack holds fewer levels than servers take.
    if (error instanceof RangeError) return deepText(withEach(whole, rawJson));
    throw error;
  }
}

/** `JSON.rawJSON` (ECMA-262, JSON.parse source text access), which the compiler's library does not know yet. */
function rawJson(source: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source);
}
