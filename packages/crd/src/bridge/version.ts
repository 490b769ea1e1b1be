import type { Json, JsonObject } from '../schema/json.ts';
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

/** A version as it was written. */
export function rawVersion(crd: Crd, name: string): JsonObject | undefined {
  const { versions } = crd.manifest['spec'] as { readonly versions: readonly JsonObject[] };
  return versions.find((version) => version['name'] === name);
}

function fieldsOf(of: JsonObject | undefined, key: string): JsonObject {
  const value: Json | undefined = of?.[key];
  return (value ?? {}) as JsonObject;
}
