import { equal, isObject, type Json, type JsonObject } from '@drydock/crd';
import type { Manifest, ObjectId } from '../../payload/manifest.ts';
import { at, digestOf, objectIn, own, textIn, withAt, withFields } from '../json.ts';
import { isDefinition, keyedPaths, kindOf } from '../merge/kinds.ts';
import { isOwnedBy, MADE_BY } from '../merge/metadata.ts';
import type { ApplyOwner } from '../owner.ts';
import type { InventoryEntry, WrittenKeys } from './entry.ts';

/** What of a live object is ours. */
export interface Claim {
  readonly uid: string;
  /** We made it. */
  readonly made: boolean;
  readonly written: WrittenKeys;
}

/** Keys of one object that are tracked; what is beyond stays when a release no longer has it, as everything does upstream. */
const MOST_KEYS = 2_000;

/** Kinds whose maps are remembered. */
const MOST_KINDS = 1_000;

const NOTHING: Claim = { uid: '', made: false, written: {} };

/**
 * What of a live object is ours, by what the inventory knows. An intent counts as far as the object says that it was carried out: one that we meant to make has our mark, one that we meant to change has the values
 * that we meant to write. So after a crash nothing that we wrote is unknown, and nothing that others wrote is claimed.
 */
export function claimOf(
  entry: InventoryEntry | undefined,
  live: JsonObject | undefined,
  owner: ApplyOwner | undefined,
): Claim {
  if (live === undefined) return NOTHING;
  const metadata = objectIn(live, 'metadata');
  const uid = textIn(metadata, 'uid');
  const adopted: Claim = { uid: '', made: isOwnedBy(live, owner), written: {} };
  if (entry === undefined) return adopted;
  const { intent } = entry;
  if (entry.uid !== uid) {
    if (intent === undefined || intent.resourceVersion !== '' || !isMarked(live, owner)) return adopted;
    return { uid, made: true, written: standing(live, intent.written) };
  }
  const made = entry.made || adopted.made;
  // What was meant may have been written, and by somebody else since: each key that has one of both values is ours. Before us none had the value that was meant.
  return { uid, made, written: union(standing(live, entry.written), standing(live, intent?.written ?? {})) };
}

/**
 * The merged object without keys that are ours and that the manifest does not have any more. A key that somebody else has changed since is theirs, and stays. What of the live object is ours is asked only where a key that we
 * wrote, or meant to, is not wanted: mostly none.
 */
export function withoutStale(
  id: ObjectId,
  merged: JsonObject,
  wanted: JsonObject,
  known: {
    readonly entry: InventoryEntry | undefined;
    readonly live: JsonObject;
    readonly owner: ApplyOwner | undefined;
  },
): JsonObject {
  const { entry, live, owner } = known;
  let object = merged;
  let claim: Claim | undefined;
  for (const { path, name, tracks } of trackedMaps(id)) {
    const map = at(object, path);
    if (!isObject(map)) continue;
    const want = at(wanted, path);
    const isStale = (key: string): boolean =>
      tracks(key) && Object.hasOwn(map, key) && !(isObject(want) && Object.hasOwn(want, key) && want[key] !== null);
    const mayBeOurs = [entry?.written[name], entry?.intent?.written[name]];
    if (!mayBeOurs.some((keys) => keys !== undefined && Object.keys(keys).some(isStale))) continue;
    claim ??= claimOf(entry, live, owner);
    const stale = Object.keys(claim.written[name] ?? {}).filter(isStale);
    if (stale.length === 0) continue;
    const rest = withFields(
      map,
      stale.map((key) => [key, undefined] as const),
    );
    object = withAt(object, path, Object.keys(rest).length === 0 && path.length > 0 ? undefined : rest);
  }
  return object;
}

/**
 * Which keys are ours once an object is as `after`: those of the manifest that we changed now, or that were ours before. What was there with the same value before we came is not.
 */
export function writtenKeys(options: {
  readonly id: ObjectId;
  readonly wanted: JsonObject;
  readonly before: JsonObject | undefined;
  readonly after: JsonObject;
  readonly claim: Claim;
  /** What `after` is the answer to, with the digests of its keys. */
  readonly sent?: { readonly object: JsonObject; readonly keys: WrittenKeys } | undefined;
}): WrittenKeys {
  const { id, wanted, before, after, claim, sent } = options;
  const written: Record<string, Readonly<Record<string, string>>> = {};
  let left = MOST_KEYS;
  for (const { path, name, tracks } of trackedMaps(id)) {
    const [want, was, is] = [at(wanted, path), before === undefined ? undefined : at(before, path), at(after, path)];
    if (!isObject(want) || !isObject(is)) continue;
    const ours = claim.written[name] ?? {};
    const said: Readonly<Record<string, string>> = sent?.keys[name] ?? {};
    const asked = sent === undefined ? undefined : at(sent.object, path);
    const keys = new Map<string, string>();
    for (const key of Object.keys(want)) {
      if (keys.size >= left) break;
      if (!tracks(key) || !Object.hasOwn(is, key)) continue;
      const value = isObject(asked) ? own(asked, key) : undefined;
      const isAsSent = Object.hasOwn(said, key) && equal(value, is[key]);
      const digest = isAsSent ? (said[key] as string) : digestOf(is[key]);
      const theirs = isObject(was) && Object.hasOwn(was, key) && digestOf(was[key]) === digest;
      if (!theirs || Object.hasOwn(ours, key)) keys.set(key, digest);
    }
    left -= keys.size;
    if (keys.size > 0) written[name] = Object.fromEntries(keys);
  }
  return written;
}

/** Works out what {@link writtenKeys} takes most of its time for, of values that are no texts, where there is time for it. */
export function digestKeys({ id, object }: Pick<Manifest, 'id' | 'object'>): void {
  for (const { path, tracks } of trackedMaps(id)) {
    const map = at(object, path);
    if (!isObject(map)) continue;
    for (const [key, value] of Object.entries(map)) if (typeof value === 'object' && tracks(key)) digestOf(value);
  }
}

interface TrackedMap {
  readonly path: readonly string[];
  /** The path with dots, as the inventory has it. */
  readonly name: string;
  readonly tracks: (key: string) => boolean;
}

/** What says what an object is, and what is told apart below, is no key of ours. */
const NEVER = new Set(['apiVersion', 'kind', 'metadata', 'status']);

const tracked = new Map<string, readonly TrackedMap[]>();

/** Maps whose keys are tracked. Of a Secret that is metadata alone: whoever may read inventories could try what a digest is of. */
function trackedMaps(id: ObjectId): readonly TrackedMap[] {
  const known = tracked.get(kindOf(id));
  if (known !== undefined) return known;
  // No release takes the spec out of a definition.
  const paths = keyedPaths(id).filter((path) => path.length > 0 || !isDefinition({ id }));
  const maps = paths
    .filter((path) => kindOf(id) !== 'Secret.' || path[0] === 'metadata')
    .map((path) => {
      const name = path.join('.');
      const below = paths.filter((one) => one.length === path.length + 1 && one.slice(0, -1).join('.') === name);
      const inner = new Set(below.map((one) => one.at(-1) as string));
      const isAnnotations = name === 'metadata.annotations';
      const tracks = (key: string): boolean =>
        !inner.has(key) && !(path.length === 0 && NEVER.has(key)) && !(isAnnotations && key === MADE_BY);
      return { path, name, tracks };
    });
  // Foreign payloads bring as many kinds as they like.
  if (tracked.size < MOST_KINDS) tracked.set(kindOf(id), maps);
  return maps;
}

/** Those of the written keys that still have the value that was written. */
function standing(live: JsonObject, written: WrittenKeys): WrittenKeys {
  const kept: Record<string, Readonly<Record<string, string>>> = {};
  for (const [name, keys] of Object.entries(written)) {
    const map: Json | undefined = at(live, name === '' ? [] : name.split('.'));
    if (!isObject(map)) continue;
    const same = Object.entries(keys).filter(
      ([key, digest]) => Object.hasOwn(map, key) && digestOf(map[key]) === digest,
    );
    if (same.length > 0) kept[name] = Object.fromEntries(same);
  }
  return kept;
}

function union(a: WrittenKeys, b: WrittenKeys): WrittenKeys {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return Object.fromEntries(names.map((name) => [name, { ...a[name], ...b[name] }]));
}

/** Whether an object says that an owner made it. */
export function isMarked(live: JsonObject, owner: ApplyOwner | undefined): boolean {
  if (owner === undefined) return false;
  return textIn(objectIn(objectIn(live, 'metadata'), 'annotations'), MADE_BY) === owner.name || isOwnedBy(live, owner);
}
