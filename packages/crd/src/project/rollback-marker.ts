import { gunzipSync, gzipSync } from 'node:zlib';
import { leanSchema } from '../bridge/version.ts';
import { isObject, type Json, type JsonObject, jsonText, parseJson } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { Crd, Schema } from '../schema/schema.ts';

/** Annotation of a definition whose release is being gone back from: who does it, from where, to where. JSON. */
export const ROLLBACK = 'drydock.dev/rollback';
/** Its schemas in the release that is gone back to, by version: gzipped JSON in base64. Whoever writes statuses keeps within them from now on. */
export const ROLLBACK_SCHEMAS = 'drydock.dev/rollback-schemas';

/** A way that is being gone, as a definition says. */
export interface RollbackMarker {
  /** As `Payload tools`. */
  readonly owner: string;
  /** Versions of releases. */
  readonly from: string;
  readonly to: string;
}

/** All annotations of an object have 256 KiB together. */
const MOST_CHARS = 180_000;
/** Of schemas, unpacked. */
const MOST_BYTES = 8 << 20;

/** The annotations of a marker. Schemas that are too large for an annotation are left out: then writers learn of them when they are live. */
export function rollbackAnnotations(marker: RollbackMarker, target: Crd): Readonly<Record<string, string>> {
  const { owner, from, to } = marker;
  const schemas = target.versions.flatMap(({ name, schema }) =>
    schema === undefined ? [] : [[name, leanSchema(schema)] as const],
  );
  const text = gzipSync(jsonText(Object.fromEntries(schemas) as unknown as Json)).toString('base64');
  return {
    [ROLLBACK]: JSON.stringify({ owner, from, to }),
    ...(text.length > MOST_CHARS ? {} : { [ROLLBACK_SCHEMAS]: text }),
  };
}

/** The marker of a definition; undefined: it has none; a text: why it cannot be read. */
export function readRollbackMarker(definition: unknown): RollbackMarker | string | undefined {
  const text = annotationOf(definition, ROLLBACK);
  if (text === undefined) return undefined;
  const said = parsed(text);
  if (!isObject(said as Json)) return 'it is no JSON object';
  const { owner, from, to } = said as JsonObject;
  if (typeof owner !== 'string' || typeof from !== 'string' || typeof to !== 'string')
    return 'it does not say owner, from and to';
  return { owner, from, to };
}

/** The schema of a version in the release that is gone back to; undefined where nobody goes back, or where it cannot be read: then the live schema alone counts. */
export function frozenSchema(definition: unknown, version: string): Schema | undefined {
  const text = annotationOf(definition, ROLLBACK_SCHEMAS);
  if (text === undefined || typeof readRollbackMarker(definition) !== 'object') return undefined;
  try {
    const all = parsed(gunzipSync(Buffer.from(text, 'base64'), { maxOutputLength: MOST_BYTES }).toString('utf8'));
    if (!isObject(all as Json)) return undefined;
    const schema = (all as JsonObject)[version];
    if (schema === undefined) return undefined;
    const spec = { group: 'g', names: { kind: 'K', plural: 'p' } };
    const versions = [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }];
    return readCrd({ metadata: { name: 'p.g' }, spec: { ...spec, versions } }, ROLLBACK_SCHEMAS).versions[0]?.schema;
  } catch {
    // Whoever can write it can break it; the server has the last word.
    return undefined;
  }
}

function parsed(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function annotationOf(definition: unknown, name: string): string | undefined {
  const metadata = isObject(definition as Json) ? (definition as JsonObject)['metadata'] : undefined;
  const annotations = isObject(metadata as Json) ? (metadata as JsonObject)['annotations'] : undefined;
  const text = isObject(annotations as Json) ? (annotations as JsonObject)[name] : undefined;
  return typeof text === 'string' ? text : undefined;
}
