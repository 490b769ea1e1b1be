import { textOf } from './conversions.ts';
import { decided, fault, undecidable } from './fault.ts';
import { entriesOf } from './order.ts';

/**
 * `format` of texts (cel-go, ext/formatting.go). Numbers with a fraction depend on the words of a locale, so `%f` and `%e` are left to the server, as is what Go would escape.
 */
export function formatText(pattern: string, list: readonly unknown[]): string {
  let used = 0;
  return pattern.replaceAll(
    /%(?:(\.\d+)?([a-zA-Z%])|[\s\S]?)/g,
    (_all, precision: string | undefined, verb: string) => {
      if (verb === '%' && precision === undefined) return '%';
      if (!VERBS.test(verb ?? '')) throw undecidable('a format with a clause that is not read here');
      if (used >= list.length) throw fault('a format with fewer values than clauses');
      return clause(verb, list[used++]);
    },
  );
}

const VERBS = /^[sdxXob]$/;

function clause(verb: string, value: unknown): string {
  if (verb === 's') return shown(value);
  if (verb === 'd') {
    if (typeof value !== 'bigint') throw fault('a decimal clause needs an integer');
    return `${value}`;
  }
  if (verb === 'b' && typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'string' && verb.toLowerCase() === 'x') {
    const hex = Buffer.from(value).toString('hex');
    return verb === 'X' ? hex.toUpperCase() : hex;
  }
  if (typeof value !== 'bigint') throw undecidable('a clause for a value of another type');
  const base = verb === 'b' ? 2 : verb === 'o' ? 8 : 16;
  const text = value.toString(base);
  return verb === 'X' ? text.toUpperCase() : text;
}

function shown(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${value.map(inside).join(', ')}]`;
  const entries = entriesOf(value);
  if (entries === undefined) return decided(textOf(value));
  const pairs = [...entries].map(([key, inner]) => [inside(key), inside(inner)] as const);
  const sorted = pairs.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${sorted.map(([key, inner]) => `${key}:${inner}`).join(', ')}}`;
}

/** In a list or a map texts are quoted. */
function inside(value: unknown): string {
  if (typeof value === 'string') {
    if (!/^[ !#-[\]-~]*$/.test(value)) throw undecidable('a text that is escaped');
    return `"${value}"`;
  }
  if (typeof value === 'bigint' || typeof value === 'boolean' || value === null || typeof value === 'object')
    if (!(value instanceof Date) && !(value instanceof Uint8Array)) return shown(value);
  throw undecidable('a value that is written as a literal');
}
