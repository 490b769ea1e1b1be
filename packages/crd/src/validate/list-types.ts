import { isList, isObject, type Json, type JsonObject, own, showJson } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import type { Cause, CauseReason } from './cause.ts';

/** Finds what occurs twice in lists of type set and map (apiextensions-apiserver, pkg/apiserver/schema/listtype). */
export function checkListTypes(value: Json, schema: Schema, path: Path = []): readonly Cause[] {
  const causes: Cause[] = [];
  walk(value, schema, [...path], causes);
  return causes;
}

/** `path` is the same list everywhere, and copied where something is told. */
function walk(value: Json, schema: Schema, path: (string | number)[], causes: Cause[]): void {
  if (!traitsOf(schema).lists) return;
  if (isList(value)) {
    causes.push(...checkList(value, schema, path));
    const { items } = schema;
    if (items === undefined) return;
    for (let index = 0; index < value.length; index += 1) {
      path.push(index);
      walk(value[index] as Json, items, path, causes);
      path.pop();
    }
    return;
  }
  if (!isObject(value)) return;
  const { additionalProperties: additional, properties } = schema;
  for (const key of Object.keys(value)) {
    const of = own(properties, key) ?? (typeof additional === 'object' ? additional : undefined);
    if (of === undefined) continue;
    path.push(key);
    walk(value[key] as Json, of, path, causes);
    path.pop();
  }
}

/** Whether an item of a list occurs twice, or is none for its type. */
export function hasRepeated(list: readonly Json[], schema: Schema): boolean {
  return checkList(list, schema, []).length > 0;
}

function checkList(list: readonly Json[], schema: Schema, path: Path): readonly Cause[] {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'map') return checkMap(list, schema, path);
  return type !== 'set' || areDifferentTexts(list) ? [] : repeated(list.map(canonical), path);
}

function checkMap(list: readonly Json[], schema: Schema, path: Path): readonly Cause[] {
  const names = schema['x-kubernetes-list-map-keys'] ?? [];
  if (areDifferentObjects(list, names)) return [];
  const odd = list.findIndex((item) => item !== null && !isObject(item));
  if (odd >= 0)
    return [cause('FieldValueInvalid', [...path, odd], path, 'must be an object for an array of list-type map')];
  const [name = ''] = names;
  if (names.length === 1 && areDifferentTexts(list.map((item) => (isObject(item) ? own(item, name) : undefined))))
    return [];
  const keys = list.map((item) => {
    const present = names.flatMap((name) => {
      const value = isObject(item) ? own(item, name) : undefined;
      return value === undefined ? [] : [[name, value] as const];
    });
    return canonical(Object.fromEntries(present));
  });
  return repeated(keys, path);
}

/** Most lists, told at a glance. */
function areDifferentTexts(values: readonly (Json | undefined)[]): boolean {
  return values.every((value) => typeof value === 'string') && new Set(values).size === values.length;
}

/** Short lists of objects, told by their keys one by one, where all of these are texts. */
function areDifferentObjects(list: readonly Json[], names: readonly string[]): boolean {
  if (list.length > FEW || names.length === 0) return false;
  for (let at = 0; at < list.length; at += 1) {
    const item = list[at];
    if (!isObject(item) || !names.every((name) => typeof own(item, name) === 'string')) return false;
    for (let other = 0; other < at; other += 1)
      if (names.every((name) => (list[other] as JsonObject)[name] === item[name])) return false;
  }
  return true;
}

/** Of more, each is not compared with each. */
const FEW = 16;

/** What occurs twice is named where it does so for the first time, and only there. */
function repeated(keys: readonly string[], path: Path): readonly Cause[] {
  const times = new Map<string, number>();
  return keys.flatMap((key, index) => {
    const before = times.get(key) ?? 0;
    times.set(key, before + 1);
    return before === 1 ? [cause('FieldValueDuplicate', [...path, index], path, `Duplicate value: ${key}`)] : [];
  });
}

function cause(reason: CauseReason, path: Path, owner: Path, message: string): Cause {
  return { reason, path: [...path], owner: [...owner], keyword: 'x-kubernetes-list-type', message };
}

/** Equal values give equal texts, whatever the order of their keys. */
export function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return showJson(value);
  const keys = Object.keys(value).toSorted((a, b) => (a < b ? -1 : 1));
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join()}}`;
}
