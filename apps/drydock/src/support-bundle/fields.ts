import { withoutSecrets } from '@drydock/api/text';

/**
 * Which fields of an object are kept. `kept`: a number, a truth or a text, without what may be secret in it. An object: these fields and no other. A
 * list of one: each item by it. `{ '*': … }`: whatever the keys are.
 */
export type Fields = 'kept' | readonly [Fields] | { readonly [name: string]: Fields };

/** Most characters of one text, items of one list and fields of one object. */
const MOST_TEXT = 2_000;
const MOST_ITEMS = 500;

/** What stayed out, by where it stood: names of fields may be secret themselves, so that they are counted and not named. */
export type LeftOut = Map<string, number>;

/** A value with the fields that are named, and nothing else; `left` counts the rest. */
export function pick(value: unknown, fields: Fields, left: LeftOut, at: string): unknown {
  const leave = (count: number, where = at): undefined => {
    if (count > 0) left.set(where, (left.get(where) ?? 0) + count);
  };
  if (value === undefined || value === null) return undefined;
  if (fields === 'kept') {
    if (typeof value === 'string') return sentence(value);
    return typeof value === 'number' || typeof value === 'boolean' ? value : leave(1);
  }
  if (isList(fields)) {
    if (!Array.isArray(value)) return leave(1);
    leave(Math.max(0, value.length - MOST_ITEMS));
    return value.slice(0, MOST_ITEMS).map((one: unknown) => pick(one, fields[0], left, at) ?? null);
  }
  if (typeof value !== 'object' || Array.isArray(value)) return leave(1);
  const entries = Object.entries(value);
  const any = fields['*'];
  const of = (name: string): Fields | undefined => (Object.hasOwn(fields, name) ? fields[name] : any);
  const known = entries.filter(([name]) => of(name) !== undefined);
  leave(entries.length - known.length);
  leave(Math.max(0, known.length - MOST_ITEMS));
  return Object.fromEntries(
    known.slice(0, MOST_ITEMS).map(([name, one]) => {
      const next = of(name) ?? 'kept';
      const key = any === undefined ? name : sentence(name);
      return [key, pick(one, next, left, `${at}.${any === undefined ? name : '*'}`)];
    }),
  );
}

function isList(fields: Fields): fields is readonly [Fields] {
  return Array.isArray(fields);
}

const PEM = /-----BEGIN[^-]{0,60}-----[^-]*(?:-----END[^-]{0,60}-----)?/g;
const SCHEMED = /\b(bearer|basic)\s+[^\s"',;]+/gi;
const NAMED =
  /\b(pass(?:word|wd|phrase)?|token|secret|api[-_]?key|access[-_]?key|authorization|cookie|session[-_]?id)(["']?\s{0,3}[=:]\s{0,3})(?:"[^"]*"?|'[^']*'?|[^\s"',;]+)/gi;
const LONG = /[A-Za-z0-9+/_]{40,}={0,2}/g;

/** A text of somebody else, shortened, without what is secret by how it looks: users and queries of addresses, keys, tokens, what is written behind the word password. */
export function sentence(text: string): string {
  return withoutSecrets(text.slice(0, MOST_TEXT))
    .replaceAll(PEM, '***')
    .replaceAll(SCHEMED, '$1 ***')
    .replaceAll(NAMED, '$1$2***')
    .replaceAll(LONG, (found) =>
      /^[0-9a-f]{40,128}$/.test(found) || (found.includes('/') && isPath(found)) ? found : '***',
    );
}

/** Paths have short parts. */
function isPath(text: string): boolean {
  return text.split('/').every((part) => part.length < 40);
}
