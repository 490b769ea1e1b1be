import { CrdError } from '../errors.ts';
import type { JsonObject } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { schemaHash, versionHash } from '../schema/schema-hash.ts';
import { frozenSchema } from './rollback-marker.ts';

/** How long (ms) a server may go on with the definition of before: as long as API servers give each other before they call a new one established. */
export const SERVER_LAG_MS = 5_000;
/** So many schemas of before are kept within: a definition that somebody writes in a loop must not make each status dear. */
const MOST = 8;

/** How a definition is followed. */
export interface LiveOptions {
  /** ms for which a server may go by a schema that another one has taken the place of: all of them are kept within. Default 0. */
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
  const left = ({ since }: Replaced): number => Math.max(0, Math.ceil(since + lagMs - now()));
  const settlesIn = (): number => {
    const times = (last?.before ?? []).map(left).filter((ms) => ms > 0);
    return times.length === 0 ? 0 : Math.min(...times);
  };
  const live = (): CrdVersion | undefined => {
    const of = definition();
    if (of === undefined) return undefined;
    if (last?.of !== of) last = following(last, of, versionOf(of as JsonObject, version), now());
    const before = last.before.filter((one) => left(one) > 0);
    if (before.length < last.before.length) last = { ...last, before, within: within(last.found, before) };
    return last.within;
  };
  return Object.assign(live, { settlesIn });
}

interface Followed {
  readonly of: unknown;
  readonly found: CrdVersion | undefined;
  /** Those that a server may still go by, the youngest first. */
  readonly before: readonly Replaced[];
  /** `found`, kept within those as well. */
  readonly within: CrdVersion | undefined;
}

interface Replaced {
  readonly schema: Schema;
  /** Monotonic ms since when another one is in its place. */
  readonly since: number;
}

function following(last: Followed | undefined, of: unknown, found: CrdVersion | undefined, now: number): Followed {
  if (last?.found === undefined || found === undefined) return { of, found, before: [], within: found };
  // Its status or an annotation is another one, and its schema is not.
  if (versionHash(last.found) === versionHash(found)) return { ...last, of };
  const { schema } = last.found;
  const hashes = new Set([schemaHash(found.schema)]);
  const before = [...(schema === undefined ? [] : [{ schema, since: now }]), ...last.before].filter((one) => {
    const hash = schemaHash(one.schema);
    return !hashes.has(hash) && hashes.add(hash) !== undefined;
  });
  const kept = before.slice(0, MOST);
  return { of, found, before: kept, within: within(found, kept) };
}

function within(found: CrdVersion | undefined, before: readonly Replaced[]): CrdVersion | undefined {
  if (found === undefined || before.length === 0) return found;
  return { ...found, also: [...(found.also ?? []), ...before.map(({ schema }) => schema)] };
}

function versionOf(definition: JsonObject, version: string): CrdVersion | undefined {
  try {
    const found = readCrd(definition, 'cluster').versions.find(({ name }) => name === version);
    const also = found === undefined ? undefined : frozenSchema(definition, version);
    return found === undefined || also === undefined ? found : { ...found, also: [also] };
  } catch (error) {
    // A writer that knows no schema writes what it means; the server has the last word.
    if (error instanceof CrdError) return undefined;
    throw error;
  }
}
