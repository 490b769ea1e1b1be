import { createHash } from 'node:crypto';
import { jsonText } from './json.ts';
import type { CrdVersion, Schema } from './schema.ts';

const known = new WeakMap<Schema, string>();

/** Identifies a schema: 16 hexadecimal digits of the SHA-256 of its JSON. */
export function schemaHash(schema: Schema | undefined): string {
  if (schema === undefined) return '0'.repeat(16);
  let hash = known.get(schema);
  if (hash === undefined) {
    hash = createHash('sha256').update(jsonText(schema)).digest('hex').slice(0, 16);
    known.set(schema, hash);
  }
  return hash;
}

const versions = new WeakMap<CrdVersion, string>();

/** Identifies all that a writer of a version keeps within. */
export function versionHash(version: CrdVersion): string {
  const { also, schema } = version;
  if (also === undefined || also.length === 0) return schemaHash(schema);
  let hash = versions.get(version);
  if (hash === undefined) {
    hash = schemaHash({ allOf: [schema ?? {}, ...also] });
    versions.set(version, hash);
  }
  return hash;
}
