import { type FieldSet, keyElement, type Path, pathText, valueElement } from './field-set.ts';
import { isObject, type JsonObject, objectOf, own, put } from './json.ts';
import { declaredField, itemSchema, keySchema, mapKeys, type Schema, UNKNOWN } from './schema.ts';

/** One part of a value with the path element that leads to it. */
export interface Part {
  readonly element: string;
  readonly value: unknown;
  readonly schema: Schema;
  /** The schema names it; other keys of objects are members of a map. */
  readonly named: boolean;
}

/**
 * The parts of a value that can be owned one by one; undefined for what is owned whole: scalars, atomic lists and maps. Lists are
 * atomic unless the schema says map or set, objects are granular unless it says atomic, whether or not there is a schema.
 */
export function partsOf(value: unknown, schema: Schema): readonly Part[] | undefined {
  if (Array.isArray(value)) {
    const keys = mapKeys(schema);
    const items = itemSchema(schema);
    if (keys !== undefined) {
      return value.map((item) => ({ element: itemElement(item, schema), value: item, schema: items, named: false }));
    }
    if (schema['x-kubernetes-list-type'] !== 'set') return undefined;
    return value.map((item) => ({ element: valueElement(item), value: item, schema: items, named: false }));
  }
  if (!isObject(value) || schema['x-kubernetes-map-type'] === 'atomic') return undefined;
  return Object.entries(value).map(([key, inner]) => ({
    element: `f:${key}`,
    value: inner,
    schema: keySchema(schema, key) ?? UNKNOWN,
    named: declaredField(schema, key) !== undefined,
  }));
}

/** The element of an item of a map list; absent keys have their defaults. */
export function itemElement(item: unknown, schema: Schema): string {
  const { properties } = itemSchema(schema);
  const entries = (mapKeys(schema) ?? []).flatMap((key): [string, unknown][] => {
    const value = objectOf(item)[key] ?? properties?.[key]?.default;
    return value === undefined ? [] : [[key, value]];
  });
  return keyElement(Object.fromEntries(entries));
}

/** The fields that an applied value names. */
export function fieldsOf(object: JsonObject, schema: Schema): FieldSet {
  const set = new Set<string>();
  const walk = (value: unknown, of: Schema, path: Path): void => {
    const parts = partsOf(value, of);
    if (parts === undefined) set.add(pathText(path));
    for (const part of parts ?? []) {
      const at = [...path, part.element];
      walk(part.value, part.schema, at);
      const empty = isObject(part.value) && Object.keys(part.value).length === 0;
      if (empty || !part.named) set.add(pathText(at));
    }
  };
  walk(object, schema, []);
  return set;
}

/** How two values differ, by path. A part that is new or gone counts with everything below it. */
export interface Difference {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** Compares two states of an object. */
export function differenceOf(before: JsonObject, after: JsonObject, schema: Schema): Difference {
  const changed = new Set<string>();
  const removed = new Set<string>();
  const every = (value: unknown, of: Schema, path: Path, into: Set<string>): void => {
    into.add(pathText(path));
    for (const part of partsOf(value, of) ?? []) every(part.value, part.schema, [...path, part.element], into);
  };
  const walk = (left: unknown, right: unknown, of: Schema, path: Path): void => {
    if (left === right) return;
    // A null compares as nothing in the other one's place.
    const was = left === null && partsOf(right, of) !== undefined ? [] : partsOf(left, of);
    const is = right === null && was !== undefined ? [] : partsOf(right, of);
    const unlike = left !== null && right !== null && Array.isArray(left) !== Array.isArray(right);
    if (was === undefined || is === undefined || unlike) {
      if (was === undefined && is === undefined) {
        if (!same(left, right)) changed.add(pathText(path));
        return;
      }
      every(left, of, path, removed);
      every(right, of, path, changed);
      return;
    }
    const old = new Map(was.map((part) => [part.element, part]));
    for (const part of is) {
      const at = [...path, part.element];
      const known = old.get(part.element);
      old.delete(part.element);
      if (known === undefined) every(part.value, part.schema, at, changed);
      else walk(known.value, part.value, part.schema, at);
    }
    for (const part of old.values()) every(part.value, part.schema, [...path, part.element], removed);
  };
  walk(before, after, schema, []);
  return { changed, removed };
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right) || valueElement(left) === valueElement(right);
}

/** Lays an applied value over a live one: maps by key, map lists by their keys, sets as unions, everything else whole. */
export function overlay(live: unknown, applied: unknown, schema: Schema): unknown {
  const over = partsOf(applied, schema);
  const under = partsOf(live, schema);
  if (over === undefined || under === undefined || Array.isArray(applied) !== Array.isArray(live)) return applied;
  if (isObject(applied)) {
    const out: Record<string, unknown> = { ...objectOf(live) };
    for (const [key, value] of Object.entries(applied)) {
      put(out, key, Object.hasOwn(out, key) ? overlay(own(out, key), value, keySchema(schema, key) ?? UNKNOWN) : value);
    }
    return out;
  }
  return interleaved(under, over);
}

/** Items of two lists, those of both in the order of the applied one; what only the live one has stays before what it stood before. */
function interleaved(under: readonly Part[], over: readonly Part[]): unknown[] {
  const live = new Map(under.map((part) => [part.element, part.value]));
  const wanted = new Set(over.map((part) => part.element));
  const shared = over.filter((part) => live.has(part.element)).map((part) => part.element);
  const out: unknown[] = [];
  let at = 0;
  const takeLive = (until: string | undefined): void => {
    for (let part = under[at]; part !== undefined && part.element !== until; part = under[++at]) {
      if (!wanted.has(part.element)) out.push(part.value);
    }
  };
  for (const { element, value, schema } of over) {
    takeLive(shared[0]);
    out.push(live.has(element) ? overlay(live.get(element), value, schema) : value);
    if (element !== shared[0]) continue;
    shared.shift();
    at += 1;
  }
  takeLive(undefined);
  return out;
}

/** A copy without the parts at these paths. */
export function cut(value: unknown, schema: Schema, paths: FieldSet, at: Path = []): unknown {
  const parts = partsOf(value, schema);
  if (parts === undefined || paths.size === 0) return value;
  // What identifies an item stays as long as the item does.
  const keys = at.at(-1)?.startsWith('k:') === true ? objectOf(JSON.parse(at.at(-1)?.slice(2) ?? '')) : {};
  const kept = parts.filter(
    (part) => !paths.has(pathText([...at, part.element])) || Object.hasOwn(keys, part.element.slice(2)),
  );
  // Neither {} nor []: the server leaves a null behind, and refuses it where the schema does.
  if (parts.length > 0 && kept.length === 0) return null;
  const inner = kept.map((part) => cut(part.value, part.schema, paths, [...at, part.element]));
  if (Array.isArray(value)) return inner;
  return Object.fromEntries(kept.map((part, index) => [part.element.slice(2), inner[index]]));
}

/** The declared parents of the paths: apply removes them with their last owned field. */
export function declaredParents(set: FieldSet, object: JsonObject, schema: Schema): FieldSet {
  const parents = new Set<string>();
  const walk = (value: unknown, of: Schema, path: Path, named: boolean): boolean => {
    let holds = path.length > 0 && set.has(pathText(path));
    for (const part of partsOf(value, of) ?? []) {
      if (walk(part.value, part.schema, [...path, part.element], part.named)) holds = true;
    }
    if (holds && named && path.length > 0) parents.add(pathText(path));
    return holds;
  };
  walk(object, schema, [], false);
  return parents;
}
