import { CrdError } from '../errors.ts';
import type { JsonObject } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { CrdVersion } from '../schema/schema.ts';
import { frozenSchema } from './rollback-marker.ts';

/** The schema of a version as a watched definition has it now, and that of the release which its marker says is being gone back to; the same object is read once. One that cannot be read is none. */
export function liveVersion(definition: () => unknown, version: string): () => CrdVersion | undefined {
  let last: { readonly of: unknown; readonly found: CrdVersion | undefined } | undefined;
  return () => {
    const of = definition();
    if (of === undefined) return undefined;
    if (last?.of !== of) last = { of, found: versionOf(of as JsonObject, version) };
    return last.found;
  };
}

function versionOf(definition: JsonObject, version: string): CrdVersion | undefined {
  try {
    const found = readCrd(definition, 'cluster').versions.find(({ name }) => name === version);
    const also = found === undefined ? undefined : frozenSchema(definition, version);
    return found === undefined || also === undefined ? found : { ...found, also };
  } catch (error) {
    // A writer that knows no schema writes what it means; the server has the last word.
    if (error instanceof CrdError) return undefined;
    throw error;
  }
}
