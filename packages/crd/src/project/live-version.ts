import { CrdError } from '../errors.ts';
import type { JsonObject } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { CrdVersion } from '../schema/schema.ts';
import { versionHash } from '../schema/schema-hash.ts';
import { frozenSchema } from './rollback-marker.ts';

/** How long (ms) a server may go on with the definition of before: as long as API servers give each other before they call a new one established. */
export const SERVER_LAG_MS = 5_000;

/** How a definition is followed. */
export interface LiveOptions {
  /** ms for which a schema that takes the place of another one is not yet relied on: both are kept within. Default 0. */
  readonly lagMs?: number;
  /** Monotonic ms. */
  readonly now?: () => number;
}

/** The schema by which a status is written now, and in how many ms there is another one without a change of the definition (0: there is none). */
export interface LiveVersion {
  (): CrdVersion | undefined;
  readonly settlesIn: () => number;
}

/**
 * The schema of a version as a watched definition has it now, and that of the release which its marker says is being gone back to; the same object is read once. One that cannot be read is none. Who watches may hear of a
 * definition before the servers go by it, so that what it newly allows is refused a moment longer.
 */
export function liveVersion(
  definition: () => unknown,
  version: string,
  { lagMs = 0, now = () => performance.now() }: LiveOptions = {},
): LiveVersion {
  let last: Followed | undefined;
  const settlesIn = (): number => (last?.both === undefined ? 0 : Math.max(0, Math.ceil(last.since + lagMs - now())));
  const live = (): CrdVersion | undefined => {
    const of = definition();
    if (of === undefined) return undefined;
    if (last?.of !== of) last = following(last, of, versionOf(of as JsonObject, version), now());
    return settlesIn() > 0 ? last.both : last.found;
  };
  return Object.assign(live, { settlesIn });
}

interface Followed {
  readonly of: unknown;
  readonly found: CrdVersion | undefined;
  /** Monotonic ms since when `found` is known. */
  readonly since: number;
  /** `found` and that of before; absent where there was none, or where it already keeps within two. */
  readonly both?: CrdVersion;
}

function following(last: Followed | undefined, of: unknown, found: CrdVersion | undefined, since: number): Followed {
  if (last?.found === undefined || found === undefined) return { of, found, since };
  // Its status or an annotation is another one, and its schema is not.
  if (versionHash(last.found) === versionHash(found)) return { ...last, of };
  const before = last.found.schema;
  return {
    of,
    found,
    since,
    ...(before === undefined || found.also !== undefined ? {} : { both: { ...found, also: before } }),
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
