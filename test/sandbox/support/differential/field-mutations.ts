import type { FieldEdit, Fields } from './planned-request.ts';

type Random = () => number;
type Path = readonly (string | number)[];

/** One of a list. */
export function pick<T>(random: Random, list: readonly T[]): T {
  if (list.length === 0) throw new RangeError('nothing to pick from');
  return list[Math.floor(random() * list.length)] as T;
}

/** Fields that decide which object a request is about, or whom it affects besides. */
const KEPT = new Set(['apiVersion', 'kind', 'metadata.name', 'metadata.namespace', 'metadata.resourceVersion']);

/** What is wrong with an object that has nothing. */
const UNKNOWN: Place = { path: ['spec', 'unknown'], value: 'x' };

/** One seeded mistake: a field is missing, null, of a wrong type, out of range, unknown, or there twice. */
export function mistake(random: Random, object: Fields): FieldEdit {
  const places = placesOf(object, []).filter(({ path }) => !KEPT.has(path.join('.')));
  const { path, value } = pick<Place>(random, places.length === 0 ? [UNKNOWN] : places);
  const last = path.at(-1);
  const roll = random();
  if (roll < 0.2) return typeof last === 'number' ? { path, value: null } : { path };
  if (roll < 0.3) return { path, value: null };
  if (roll < 0.45) return { path, value: otherType(random, value) };
  if (Array.isArray(value)) {
    if (roll < 0.75 && value.length > 0) return { path, value: [...value, value.at(-1)] };
    return { path, value: [] };
  }
  if (typeof value === 'object' && value !== null) {
    if (roll < 0.85)
      return { path: [...path, pick(random, ['unknown', 'Unknown', 'x-y'])], value: unknownValue(random) };
    return { path, value: {} };
  }
  return { path, value: outOfRange(random, value) };
}

/** An object with changed fields. */
export function edited(object: Fields, edits: readonly FieldEdit[]): Fields {
  const copy = structuredClone(object) as Record<string, unknown>;
  for (const { path, value } of edits) {
    let at: unknown = copy;
    for (const [index, part] of path.slice(0, -1).entries()) {
      const holder = at as Record<string | number, unknown>;
      const next = holder[part];
      if (typeof next !== 'object' || next === null) {
        if (value === undefined) break;
        holder[part] = typeof path[index + 1] === 'number' ? [] : {};
      }
      at = holder[part];
    }
    const last = path.at(-1);
    if (typeof at !== 'object' || at === null || last === undefined) continue;
    if (value === undefined) {
      if (Array.isArray(at)) at.splice(Number(last), 1);
      else delete (at as Record<string | number, unknown>)[last];
    } else (at as Record<string | number, unknown>)[last] = value;
  }
  return copy;
}

interface Place {
  readonly path: Path;
  readonly value: unknown;
}

function placesOf(value: unknown, path: Path): readonly Place[] {
  const own = path.length === 0 ? [] : [{ path, value }];
  if (typeof value !== 'object' || value === null) return own;
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  return [...own, ...entries.flatMap(([key, one]) => placesOf(one, [...path, key]))];
}

function otherType(random: Random, value: unknown): unknown {
  if (typeof value === 'string') return pick(random, [5, true, {}, ['a']]);
  if (typeof value === 'number') return pick(random, ['five', '5', 1.5, {}, false]);
  if (typeof value === 'boolean') return pick(random, ['true', 1, []]);
  if (Array.isArray(value)) return pick(random, [{}, 'text', 7]);
  return pick(random, ['text', [], 7, true]);
}

function unknownValue(random: Random): unknown {
  return pick(random, [1, 'x', { deep: [1] }, null]);
}

function outOfRange(random: Random, value: unknown): unknown {
  if (typeof value === 'number') return pick(random, [-1, 0, 70_000, 3_000_000_000, 99_999_999_999_999]);
  if (typeof value === 'boolean') return !value;
  return pick(random, ['', 'Not Valid!', '-dash', 'UPPER', 'a/b/c', 'x'.repeat(260), '💥', '1', 'other']);
}
