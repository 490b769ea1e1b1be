import { readJson } from '@drydock/api';

/** Any value of a JSON document. An integer beyond 2^53 is a bigint, so that what is compared and written back is what was read. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Whether a value is an object, neither a list nor null. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is a list. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A key of the object itself: `constructor` is as good a name of a property as any. */
export function own<T>(of: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined;
}

/** A value if it is text, else ''. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The first code points of a text. */
export function headOf(text: string, most: number): string {
  return Array.from(text).slice(0, most).join('');
}

/** Deep equality as the API server has it: the order of keys does not count, absent is not null, and 1 is 1.0. */
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return typeof a !== typeof b && isSame(a, b);
  if (isList(a)) return isList(b) && a.length === b.length && a.every((item, index) => equal(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  // Whole definitions are compared: no lists of their keys are made.
  let more = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || !equal(a[key], b[key])) return false;
    more += 1;
  }
  for (const _ in b) more -= 1;
  return more === 0;
}

/** Of two kinds: a number that is a whole one has exactly one value, however many digits the other one has. */
function isSame(a: number | bigint, b: number | bigint): boolean {
  const [whole, other] = typeof a === 'bigint' ? [a, b as number] : [b as bigint, a];
  return Number.isInteger(other) && BigInt(other) === whole;
}

/** Whether a value is a number of either kind. */
export function isNumber(value: Json | undefined): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Whether a number has no fraction; 1.0 has none. */
export function isInteger(value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isInteger(value);
}

/** The length of a text as schemas count it: in code points. */
export function lengthOf(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; length += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return length;
}

/** Reads JSON without losing the digits of large integers. Throws `SyntaxError`. */
export function parseJson(text: string): Json {
  return readJson(text, (source) => {
    const value = Number(source);
    return Number.isSafeInteger(value) ? value : BigInt(source);
  }) as Json;
}

/** A value as JSON that {@link parseJson} reads back: large integers with all their digits. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? RAW.rawJSON(`${inner}`) : inner));
}

/** Of ES2026, which the types of the language do not have yet. */
const RAW = JSON as unknown as { readonly rawJSON: (text: string) => object };

/** A value as a message shows it. */
export function showJson(value: Json): string {
  return jsonText(value) ?? 'null';
}
