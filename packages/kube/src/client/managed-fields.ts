import { randomUUID } from 'node:crypto';
import { parseExact } from '../json/exact-integers.ts';
import { assertLight, endOfString } from './json-weight.ts';

/** How the list of field owners begins in an answer: servers write JSON without spaces. Inside a string its quotes would have backslashes before them. */
const BEGINNING = '"managedFields":';

/** Stands where a list of field owners was; no server can send it. */
const CUT = randomUUID();

const QUOTE = 34;
const LIST = 91;
const LIST_END = 93;
const MAP = 123;
const MAP_END = 125;

/**
 * As `parseExact`, but without the `metadata.managedFields` of the objects that `objectsOf` finds in the answer: a string stands there instead, for whoever
 * finishes the object to drop. They are half of an object's bytes and most of its parts, and nobody here reads them; to pass over them costs a tenth of
 * parsing them. Throws `HeavyJson` for what would take too long.
 */
export function parseObjects<A>(text: string, objectsOf: (answer: A) => readonly unknown[]): A {
  const { rest, cuts } = withoutManagedFields(text);
  assertLight(rest);
  if (cuts === 0) return parseExact(text) as A;
  const answer = parseExact(rest) as A;
  const found = objectsOf(answer).filter((object) => managedFieldsOf(object) === CUT).length;
  // A field of that name elsewhere is the user's: then nothing is passed over.
  if (found === cuts) return answer;
  assertLight(text);
  return parseExact(text) as A;
}

function managedFieldsOf(object: unknown): unknown {
  return (object as { readonly metadata?: { readonly managedFields?: unknown } } | null)?.metadata?.managedFields;
}

function withoutManagedFields(text: string): { readonly rest: string; readonly cuts: number } {
  let rest = '';
  let cuts = 0;
  let kept = 0;
  for (let at = text.indexOf(BEGINNING); at >= 0; at = text.indexOf(BEGINNING, kept)) {
    const start = at + BEGINNING.length;
    const end = endOfList(text, start);
    if (end === undefined) break;
    rest += `${text.slice(kept, start)}"${CUT}"`;
    kept = end;
    cuts += 1;
  }
  return { rest: rest + text.slice(kept), cuts };
}

/** Where the list that begins here ends; undefined where none begins, or where it has no end. */
function endOfList(text: string, start: number): number | undefined {
  if (text[start] !== '[') return undefined;
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === LIST || code === MAP) depth += 1;
    else if (code === LIST_END || code === MAP_END) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}
