import type { LeafEdit } from '../observe/provider-spec.ts';

/** A value with some of its leaves exchanged; the value itself stays what it is. */
export function withEdits(value: unknown, edits: readonly LeafEdit[]): Readonly<Record<string, unknown>> {
  return edits.reduce<unknown>((whole, { path, to }) => put(whole, path, to), value ?? {}) as Readonly<
    Record<string, unknown>
  >;
}

function put(value: unknown, [key, ...rest]: readonly (string | number)[], to: unknown): unknown {
  if (key === undefined) return to;
  if (typeof key === 'number') {
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    return list.with(key, put(list[key], rest, to));
  }
  const object = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  return { ...object, [key]: put(object[key], rest, to) };
}
