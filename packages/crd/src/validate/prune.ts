import { isList, isObject, type Json, type JsonObject, own } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { keepsHead, TEXTS } from './resource-within.ts';

/** A value that pruning takes away. */
export interface Pruned {
  readonly path: Path;
  readonly value: Json;
}

/** What is left of an object, and what was taken away. */
export interface PruneResult {
  readonly value: Json;
  readonly pruned: readonly Pruned[];
}

/** These belong to every resource, whether its schema names them or not. */
export const META: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * Takes away what the schema does not know, as the API server does when it reads or writes an object (apiextensions-apiserver, pkg/apiserver/schema/pruning). The object is
 * not changed. `schema` is that of a whole resource.
 */
export function prune(object: Json, schema: Schema): PruneResult {
  const pruned: Pruned[] = [];
  const value = pruneValue(object, schema, [], true, pruned);
  return { value, pruned };
}

/** `path` is the way to the value; it is the same list everywhere, and copied where something is told. */
function pruneValue(
  value: Json,
  schema: Schema | undefined,
  path: (string | number)[],
  resource: boolean,
  pruned: Pruned[],
): Json {
  if (isList(value)) {
    // A preserved list preserves what its items have as well.
    const items = schema?.['x-kubernetes-preserve-unknown-fields'] === true ? preserving(schema.items) : schema?.items;
    const embedded = isEmbedded(items);
    let changed: Json[] | undefined;
    for (let index = 0; index < value.length; index += 1) {
      const item = value[index] as Json;
      path.push(index);
      const left = pruneValue(item, items, path, embedded, pruned);
      path.pop();
      // Most objects lose nothing, and are not copied.
      if (left === item) continue;
      changed ??= [...value];
      changed[index] = left;
    }
    return changed ?? value;
  }
  if (!isObject(value)) return value;
  const keepsUnknown = schema?.['x-kubernetes-preserve-unknown-fields'] === true;
  const additional = schema?.additionalProperties;
  let changed: Map<string, Json> | undefined;
  for (const key of Object.keys(value)) {
    const inner = value[key] as Json;
    if (resource && META.has(key)) {
      if (schema === undefined || !isEmbedded(schema)) continue;
      path.push(key);
      const left = pruneHead(key, inner, path, pruned);
      path.pop();
      if (left === inner) continue;
      changed ??= new Map(Object.entries(value));
      if (left === undefined) changed.delete(key);
      else changed.set(key, left);
      continue;
    }
    const property = own(schema?.properties, key) ?? (typeof additional === 'object' ? additional : undefined);
    path.push(key);
    if (property !== undefined || additional === true) {
      const left = pruneValue(inner, property, path, isEmbedded(property), pruned);
      if (left !== inner) {
        changed ??= new Map(Object.entries(value));
        changed.set(key, left);
      }
    } else if (!keepsUnknown) {
      pruned.push({ path: [...path], value: inner });
      changed ??= new Map(Object.entries(value));
      changed.delete(key);
    }
    path.pop();
  }
  return changed === undefined ? value : Object.fromEntries(changed);
}

/** What is left of the version, the kind or the metadata of a resource within another one. */
function pruneHead(key: string, value: Json, path: Path, pruned: Pruned[]): Json | undefined {
  if (!keepsHead(key, value, false)) {
    pruned.push({ path: [...path], value });
    return undefined;
  }
  if (key !== 'metadata' || !isObject(value)) return value;
  const keep = (of: JsonObject, at: Path, keeps: (name: string, inner: Json) => boolean): JsonObject => {
    const gone = Object.keys(of).filter((name) => !keeps(name, of[name] as Json));
    for (const name of gone) pruned.push({ path: [...at, name], value: of[name] as Json });
    return gone.length === 0 ? of : Object.fromEntries(Object.entries(of).filter(([name]) => !gone.includes(name)));
  };
  let left = keep(value, path, (name, inner) => keepsHead(name, inner, true));
  for (const name of TEXTS) {
    const of = own(left, name);
    const texts = isObject(of) ? keep(of, [...path, name], (_key, text) => typeof text === 'string') : of;
    if (texts !== undefined && texts !== of) left = { ...left, [name]: texts };
  }
  return left;
}

function isEmbedded(schema: Schema | undefined): boolean {
  return schema?.['x-kubernetes-embedded-resource'] === true;
}

function preserving(schema: Schema | undefined): Schema {
  return { ...schema, 'x-kubernetes-preserve-unknown-fields': true };
}
