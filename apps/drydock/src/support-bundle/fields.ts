import { redacted } from './secret-redaction.ts';

/**
 * Which fields of an object are kept. `kept`: a number, a truth or a text, without what may be secret in it. `digest`: the same, and a digest in hex as it is.
 * An object: these fields and no other. A list of one: each item by it. `{ '*': … }`: whatever the keys are.
 */
export type Fields = 'kept' | 'digest' | readonly [Fields] | { readonly [name: string]: Fields };

/** Most items of one list, and fields of one object. */
const MOST_ITEMS = 500;
/** SHA-256, and the ids that Drydock cuts off one. */
const DIGEST = /^(?:sha256:)?(?:[0-9a-f]{16}|[0-9a-f]{64})$/;

/** What stayed out, by where it stood: names of fields may be secret themselves, so that they are counted and not named. */
export type LeftOut = Map<string, number>;

/** A value with the fields that are named, and nothing else; `left` counts the rest. */
export function pick(value: unknown, fields: Fields, left: LeftOut, at: string): unknown {
  const leave = (count: number, where = at): undefined => {
    if (count > 0) left.set(where, (left.get(where) ?? 0) + count);
  };
  if (value === undefined || value === null) return undefined;
  if (fields === 'digest' && typeof value === 'string' && DIGEST.test(value)) return value;
  if (fields === 'kept' || fields === 'digest') {
    if (typeof value === 'string') return redacted(value);
    return typeof value === 'number' || typeof value === 'boolean' ? value : leave(1);
  }
  if (isList(fields)) {
    if (!Array.isArray(value)) return leave(1);
    leave(Math.max(0, value.length - MOST_ITEMS));
    return value.slice(0, MOST_ITEMS).map((one: unknown) => pick(one, fields[0], left, at) ?? null);
  }
  if (typeof value !== 'object' || Array.isArray(value)) return leave(1);
  const entries = Object.entries(value);
  const others = fields['*'];
  const of = (name: string): Fields | undefined => (Object.hasOwn(fields, name) ? fields[name] : others);
  const known = entries.filter(([name]) => of(name) !== undefined);
  leave(entries.length - known.length);
  leave(Math.max(0, known.length - MOST_ITEMS));
  return Object.fromEntries(
    known.slice(0, MOST_ITEMS).map(([name, one]) => {
      const next = of(name) ?? 'kept';
      const key = others === undefined ? name : redacted(name);
      return [key, pick(one, next, left, `${at}.${others === undefined ? name : '*'}`)];
    }),
  );
}

function isList(fields: Fields): fields is readonly [Fields] {
  return Array.isArray(fields);
}
