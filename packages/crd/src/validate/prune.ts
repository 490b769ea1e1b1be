import { isList, isObject, type Json, own } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';

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
const META: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

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
    if (resource && META.has(key)) continue;
    const inner = value[key] as Json;
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

function isEmbedded(schema: Schema | undefined): boolean {
  return schema?.['x-kubernetes-embedded-resource'] === true;
}

function preserving(schema: Schema | undefined): Schema {
  return { ...schema, 'x-kubernetes-preserve-unknown-fields': true };
}
