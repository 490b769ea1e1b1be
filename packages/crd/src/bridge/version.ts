import { type Json, type JsonObject, jsonText } from '../schema/json.ts';
import type { Crd, CrdVersion, Schema } from '../schema/schema.ts';

/** A server takes no more (apiextensions.k8s.io/v1, SelectableField). */
const MOST_SELECTABLE = 8;

type Sides<T> = readonly [old: T | undefined, now: T | undefined];

/** A version of a bridge: what clients of either release ask of it besides its schema. */
export function bridgeVersion(
  [old, now]: Sides<CrdVersion>,
  [rawOld, rawNow]: Sides<JsonObject>,
  { schema, storage }: { readonly schema: Schema; readonly storage: boolean },
): JsonObject {
  const raw = rawNow ?? rawOld ?? {};
  const subresources = { ...fieldsOf(rawOld, 'subresources'), ...fieldsOf(rawNow, 'subresources') };
  const selectable = [...new Set([...(now?.selectable ?? []), ...(old?.selectable ?? [])])];
  return {
    ...raw,
    served: old?.served === true || now?.served === true,
    storage,
    ...(Object.keys(subresources).length === 0 ? {} : { subresources }),
    ...(selectable.length === 0 || selectable.length > MOST_SELECTABLE
      ? {}
      : { selectableFields: selectable.map((jsonPath) => ({ jsonPath })) }),
    schema: { openAPIV3Schema: schema as unknown as JsonObject },
  };
}

/** More than this is near what a server stores of one definition (1.5 MiB of JSON). */
const MOST_BYTES = 1 << 20;

const EXPLAINS: ReadonlySet<string> = new Set(['description', 'example', 'externalDocs', 'title']);

/** Versions without what only explains, where together they are more than a server stores. */
export function withinSize(versions: readonly JsonObject[]): readonly JsonObject[] {
  if (Buffer.byteLength(jsonText(versions)) <= MOST_BYTES) return versions;
  return versions.map((version) => {
    const schema = fieldsOf(version, 'schema')['openAPIV3Schema'] as unknown as Schema;
    return { ...version, schema: { openAPIV3Schema: leanSchema(schema) as unknown as JsonObject } };
  });
}

/** A schema without what only explains. */
export function leanSchema(schema: Schema): Schema {
  const { additionalProperties: additional, items, properties } = schema;
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([keyword]) => !EXPLAINS.has(keyword))),
    ...(items === undefined ? {} : { items: leanSchema(items) }),
    ...(typeof additional === 'object' ? { additionalProperties: leanSchema(additional) } : {}),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, leanSchema(of)])) }),
  };
}

/** A version as it was written. */
export function rawVersion(crd: Crd, name: string): JsonObject | undefined {
  const { versions } = crd.manifest['spec'] as { readonly versions: readonly JsonObject[] };
  return versions.find((version) => version['name'] === name);
}

function fieldsOf(of: JsonObject | undefined, key: string): JsonObject {
  const value: Json | undefined = of?.[key];
  return (value ?? {}) as JsonObject;
}
