import { isList, isObject, type Json, own } from './json.ts';
import type { Path } from './path.ts';
import type { Schema } from './schema.ts';

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

function pruneValue(value: Json, schema: Schema | undefined, path: Path, resource: boolean, pruned: Pruned[]): Json {
  if (isList(value)) {
    // A preserved list preserves what its items have as well.
    const items = schema?.['x-kubernetes-preserve-unknown-fields'] === true ? preserving(schema.items) : schema?.items;
    return value.map((item, index) =>
      pruneValue(item, items, [...path, index], items?.['x-kubernetes-embedded-resource'] === true, pruned),
    );
  }
  if (!isObject(value)) return value;
  const keepsUnknown = schema?.['x-kubernetes-preserve-unknown-fields'] === true;
  const kept: [string, Json][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const at = [...path, key];
    const property = own(schema?.properties, key);
    const additional = schema?.additionalProperties;
    if (resource && META.has(key)) kept.push([key, inner]);
    else if (property !== undefined) kept.push([key, pruneValue(inner, property, at, isEmbedded(property), pruned)]);
    else if (additional !== undefined && additional !== false) {
      const of = typeof additional === 'object' ? additional : undefined;
      kept.push([key, pruneValue(inner, of, at, isEmbedded(of), pruned)]);
    } else if (keepsUnknown) kept.push([key, inner]);
    else pruned.push({ path: at, value: inner });
  }
  return Object.fromEntries(kept);
}

function isEmbedded(schema: Schema | undefined): boolean {
  return schema?.['x-kubernetes-embedded-resource'] === true;
}

function preserving(schema: Schema | undefined): Schema {
  return { ...schema, 'x-kubernetes-preserve-unknown-fields': true };
}
