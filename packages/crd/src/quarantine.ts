import { equal, isList, isObject, type Json, type JsonObject } from './json.ts';
import { type Path, schemaPathText } from './path.ts';

/** A value that an intent has and the live schema cannot hold. */
export interface Quarantined {
  /** Place in the schema: `status.capabilities.enabledCapabilities[]`. */
  readonly path: string;
  readonly value: Json;
  /** Why it was taken out, as a clause without the value. */
  readonly why: string;
}

/** A quarantined value in a ledger that outlives the process. */
export interface LedgerEntry {
  readonly path: string;
  readonly value: Json;
  readonly uid: string;
  /** Of the schema that could not hold it. */
  readonly schemaHash: string;
  /** RFC 3339. */
  readonly firstSeen: string;
  /** Who wrote it, such as a version; '' where unknown. */
  readonly release: string;
}

/** Takes a part out of a value. What was not there changes nothing. */
export function without(value: Json, path: Path): Json {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  if (isList(value)) {
    const at = Number(part);
    if (rest.length === 0) return value.toSpliced(at, 1);
    const item = value[at];
    return item === undefined ? value : value.with(at, without(item, rest));
  }
  if (!isObject(value) || !Object.hasOwn(value, String(part))) return value;
  if (rest.length > 0) return { ...value, [part]: without(value[String(part)] ?? null, rest) };
  const { [String(part)]: _gone, ...kept } = value;
  return kept;
}

/** Puts a value in the place of another. */
export function withValue(value: Json, path: Path, put: Json): Json {
  const [part, ...rest] = path;
  if (part === undefined) return put;
  if (isList(value)) {
    const at = Number(part);
    return at < value.length ? value.with(at, withValue(value[at] ?? null, rest, put)) : value;
  }
  const object: JsonObject = isObject(value) ? value : {};
  return { ...object, [part]: withValue(object[String(part)] ?? {}, rest, put) };
}

/**
 * The ledger after a projection: what is quarantined now, with the time it was first seen. Entries that are no longer quarantined go: their values are legal again and written, or nobody wants them.
 */
export function ledgerAfter(
  ledger: readonly LedgerEntry[],
  quarantined: readonly Quarantined[],
  about: Pick<LedgerEntry, 'uid' | 'schemaHash' | 'release'> & { readonly now: string },
): readonly LedgerEntry[] {
  const { now, ...entry } = about;
  const others = ledger.filter(({ uid }) => uid !== about.uid);
  const before = ledger.filter(({ uid }) => uid === about.uid);
  const mine = quarantined.map(({ path, value }): LedgerEntry => {
    const known = before.find((one) => one.path === path && equal(one.value, value));
    return known ?? { path, value, ...entry, firstSeen: now };
  });
  return [...others, ...mine];
}

/**
 * A status with what the ledger keeps of it: what a writer must start from that derives the next status from the last one. Items return to their lists, at the end; fields return where nothing took their place.
 */
export function recall(status: JsonObject, ledger: readonly LedgerEntry[], uid: string): JsonObject {
  let next: Json = status;
  for (const entry of ledger) {
    if (entry.uid !== uid) continue;
    const parts = entry.path.split('.');
    if (parts[0] !== 'status') continue;
    next = restored(next, parts.slice(1), entry.value);
  }
  return isObject(next) ? next : status;
}

function restored(value: Json, parts: readonly string[], put: Json): Json {
  const [part, ...rest] = parts;
  if (part === undefined || !isObject(value)) return value;
  if (part.endsWith('[]')) {
    const name = part.slice(0, -2);
    const list = value[name];
    // Which item a field belonged to is not known any more.
    if (rest.length > 0 || name.endsWith(']')) return value;
    if (!isList(list)) return list === undefined ? { ...value, [name]: [put] } : value;
    return list.some((item) => equal(item, put)) ? value : { ...value, [name]: [...list, put] };
  }
  if (rest.length === 0) return Object.hasOwn(value, part) ? value : { ...value, [part]: put };
  const inner = value[part];
  if (inner !== undefined && !isObject(inner)) return value;
  return { ...value, [part]: restored(inner ?? {}, rest, put) };
}

/** Text form of a place below the status. */
export function placeText(path: Path): string {
  return schemaPathText(path);
}
