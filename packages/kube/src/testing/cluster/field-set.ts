import { canonical, isObject, type JsonObject, objectOf } from './json.ts';

/**
 * A set of field paths, as server-side apply keeps it for each manager. A path is a list of elements in the notation of FieldsV1:
 * `f:name` a key, `k:{"name":"a"}` an item of a map list, `v:"a"` a member of a set.
 */
export type FieldSet = ReadonlySet<string>;

const SEPARATOR = '\u0000';

/** A path of the set. */
export type Path = readonly string[];

/** The path as a member of a set. */
export function pathText(path: Path): string {
  return path.join(SEPARATOR);
}

/** The elements of a member of a set. */
export function pathOf(text: string): Path {
  return text.split(SEPARATOR);
}

/** The element of an item of a map list. */
export function keyElement(keys: JsonObject): string {
  return `k:${canonical(keys)}`;
}

/** The element of a member of a set. */
export function valueElement(value: unknown): string {
  return `v:${canonical(value)}`;
}

export function union(...sets: readonly FieldSet[]): FieldSet {
  return new Set(sets.flatMap((set) => [...set]));
}

export function difference(set: FieldSet, other: FieldSet): FieldSet {
  return new Set([...set].filter((path) => !other.has(path)));
}

export function intersection(set: FieldSet, other: FieldSet): FieldSet {
  return new Set([...set].filter((path) => other.has(path)));
}

/** Whether the set has the path or anything below it. */
export function reaches(set: FieldSet, path: string): boolean {
  if (set.has(path)) return true;
  const below = path + SEPARATOR;
  for (const member of set) if (member.startsWith(below)) return true;
  return false;
}

/** The FieldsV1 form: a tree whose `.` marks members that have others below them. */
export function encode(set: FieldSet): JsonObject {
  const root: Record<string, unknown> = {};
  for (const text of set) {
    let at = root;
    for (const element of pathOf(text)) {
      at[element] ??= {};
      at = at[element] as Record<string, unknown>;
    }
    at['.'] = {};
  }
  return tidy(root);
}

function tidy(node: JsonObject): JsonObject {
  const entries = Object.entries(node);
  if (entries.length === 1 && '.' in node) return {};
  return Object.fromEntries(
    entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, key === '.' ? {} : tidy(objectOf(inner))]),
  );
}

/** Reads the FieldsV1 form. */
export function decode(fields: unknown): FieldSet {
  const set = new Set<string>();
  const walk = (node: JsonObject, path: readonly string[]): void => {
    const entries = Object.entries(node);
    if (path.length > 0 && (entries.length === 0 || '.' in node)) set.add(pathText(path));
    for (const [key, inner] of entries) if (key !== '.' && isObject(inner)) walk(inner, [...path, key]);
  };
  walk(objectOf(fields), []);
  return set;
}

/** The paths as conflicts name them, `.spec.parts[name="a"].maker`, members before what is below their siblings. */
export function spoken(set: FieldSet): readonly string[] {
  const out: string[] = [];
  const walk = (node: JsonObject, path: string): void => {
    const keys = Object.keys(node).filter((key) => key !== '.');
    const member = (inner: JsonObject): boolean => Object.keys(inner).length === 0 || '.' in inner;
    for (const key of keys) if (member(objectOf(node[key]))) out.push(path + element(key));
    for (const key of keys) walk(objectOf(node[key]), path + element(key));
  };
  walk(encode(set), '');
  return out;
}

function element(text: string): string {
  const rest = text.slice(2);
  if (text.startsWith('f:')) return `.${rest}`;
  if (text.startsWith('v:')) return `[=${rest}]`;
  const keys = Object.entries(objectOf(JSON.parse(rest)));
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}
