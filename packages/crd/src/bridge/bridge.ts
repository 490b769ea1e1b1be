import type { RuleId } from '../diff/step.ts';
import type { Json, JsonObject } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { Crd, CrdVersion, Schema } from '../schema/schema.ts';
import { bridgeNode, type Merge, type Unbridged } from './bridge-node.ts';

/** A definition under which both neighbours can write. */
export interface Bridge {
  /** undefined: something cannot be bridged, see `unbridged`. */
  readonly crd: Crd | undefined;
  /** What stands in the way. */
  readonly unbridged: readonly Unbridged[];
}

/**
 * A definition between an older and a newer one: what is legal in either is legal in it, and what either knows is not pruned. All versions of both, stored as the newer one stores.
 * It is put before operators change and taken away when every object conforms to the older one.
 */
export function bridge(old: Crd, now: Crd): Bridge {
  const unbridged: Unbridged[] = [];
  const stop = (rule: RuleId, version: string, why: string): void => {
    unbridged.push({ rule, version, path: '', why });
  };
  for (const field of ['name', 'scope', 'group', 'kind', 'plural'] as const)
    if (old[field] !== now[field]) stop('N31', '', `${field} ${old[field]} and ${now[field]} cannot both be served`);
  if (old.conversion !== now.conversion)
    stop('N27', '', `conversion ${old.conversion} and ${now.conversion}: the webhook must outlive both`);
  const names = new Set([...now.versions, ...old.versions].map(({ name }) => name));
  const versions: JsonObject[] = [];
  for (const name of names) {
    const [a, b] = [find(old, name), find(now, name)];
    if (a !== undefined && b !== undefined && a.status !== b.status)
      stop(a.status ? 'N29' : 'N30', name, 'a status is a subresource or it is none');
    const merge: Merge = { version: name, unbridged };
    const raw = rawVersion(now, name) ?? rawVersion(old, name) ?? {};
    const schema = a === undefined ? b?.schema : b === undefined ? a.schema : mergeSchemas(a.schema, b.schema, merge);
    versions.push({
      ...raw,
      served: (a?.served ?? false) || (b?.served ?? false),
      storage: b?.storage ?? false,
      ...(schema === undefined ? {} : { schema: { openAPIV3Schema: schema as unknown as JsonObject } }),
    });
  }
  if (unbridged.length > 0) return { crd: undefined, unbridged };
  const { status: _status, ...manifest } = now.manifest;
  const spec = manifest['spec'] as JsonObject;
  return { crd: readCrd({ ...manifest, metadata: metadataOf(now), spec: { ...spec, versions } }, 'bridge'), unbridged };
}

function mergeSchemas(a: Schema | undefined, b: Schema | undefined, merge: Merge): Schema | undefined {
  return a === undefined || b === undefined ? undefined : bridgeNode(a, b, [], merge);
}

function find(crd: Crd, name: string): CrdVersion | undefined {
  return crd.versions.find((version) => version.name === name);
}

function rawVersion(crd: Crd, name: string): JsonObject | undefined {
  const { versions } = crd.manifest['spec'] as { readonly versions: readonly JsonObject[] };
  return versions.find((version) => version['name'] === name);
}

/** Name, labels and annotations; what a server filled in would make it refuse the document. */
function metadataOf({ manifest }: Crd): JsonObject {
  const metadata = (manifest['metadata'] ?? {}) as JsonObject;
  const kept = ['name', 'labels', 'annotations'].flatMap((key): readonly (readonly [string, Json])[] =>
    metadata[key] === undefined ? [] : [[key, metadata[key]]],
  );
  return Object.fromEntries(kept);
}
