/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** The value at a dotted path; undefined if there is none or it is null. */
export function valueAt(object: unknown, path: string): unknown {
  let value: unknown = object;
  for (const field of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Fields)[field];
  }
  return value ?? undefined;
}

/** The string at a path; '' if there is none. */
export function textAt(object: unknown, path: string): string {
  const value = valueAt(object, path);
  return typeof value === 'string' ? value : '';
}

/** The string or number at a path as text. */
export function scalarAt(object: unknown, path: string): string | undefined {
  const value = valueAt(object, path);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** The number at a path; 0 if there is none. */
export function numberAt(object: unknown, path: string): number {
  const value = valueAt(object, path);
  return typeof value === 'number' ? value : 0;
}

/** The objects of the list at a path. */
export function listAt(object: unknown, path: string): readonly Fields[] {
  const value = valueAt(object, path);
  return Array.isArray(value) ? (value as readonly Fields[]) : [];
}

/** The strings of the list at a path. */
export function textsAt(object: unknown, path: string): readonly string[] {
  return (listAt(object, path) as readonly unknown[]).map(String);
}

/** The entries of the map of strings at a path. */
export function entriesAt(object: unknown, path: string): readonly (readonly [key: string, value: string])[] {
  return Object.entries((valueAt(object, path) ?? {}) as Readonly<Record<string, string>>);
}

/** The status of a condition. */
export function conditionOf(object: unknown, type: string): string | undefined {
  const found = listAt(object, 'status.conditions').find((one) => textAt(one, 'type') === type);
  return found === undefined ? undefined : textAt(found, 'status');
}
