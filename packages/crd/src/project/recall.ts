import { schemaAt } from '../diff/cause-rule.ts';
import { equal, isList, isObject, type Json, type JsonObject } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { isSameItem, withKeyed } from './keyed.ts';
import { type Loss, losses } from './losses.ts';

/**
 * A status with what was left out of it: what a writer must start from that derives the next status from the last one. Fields and items return only where what was written in their place still
 * stands, so that nobody's later change is undone. `schema` is of the whole object; with it, items are told apart by their keys: one does not return beside another of the same keys, what an item has lost returns to what has become of
 * it, and where a list or a map was left out whole, whoever wrote it anew has taken none of its items away.
 */
export function recall(status: JsonObject, lost: readonly Loss[], schema?: Schema): JsonObject {
  return recalled(status, lost, schema?.properties?.['status']);
}

/** The same of any object, with its own schema. */
function recalled(value: JsonObject, lost: readonly Loss[], schema: Schema | undefined): JsonObject {
  let next: Json = value;
  for (const [, those] of Map.groupBy(lost, ({ at }) =>
    JSON.stringify(typeof at.at(-1) === 'number' ? at.slice(0, -1) : at),
  )) {
    const [first] = those;
    if (first === undefined) continue;
    const inList = typeof first.at.at(-1) === 'number';
    const path = inList ? first.at.slice(0, -1) : first.at;
    const at = schema === undefined ? undefined : schemaAt(schema, path)?.schema;
    next = changed(next, path, (now) => (inList ? withItems(now, those, at) : field(now, first, at)));
  }
  return isObject(next) ? next : value;
}

/** Another value in the place of one; what is not there is undefined. Objects on the way are made, anything else in the way stays. */
function changed(value: Json, path: Path, put: (now: Json | undefined) => Json | undefined): Json {
  const [part, ...rest] = path;
  if (part === undefined) return put(value) ?? value;
  if (!isObject(value)) return value;
  const key = String(part);
  const now = Object.hasOwn(value, key) ? value[key] : undefined;
  const next = rest.length === 0 ? put(now) : changed(now ?? {}, rest, put);
  // An object that nothing came into is not made.
  if (next === undefined || (now === undefined && rest.length > 0 && equal(next, {}))) return value;
  return { ...value, [key]: next };
}

/** Somebody else's value stays; what was written there and is gone was taken away by somebody. */
function field(now: Json | undefined, { value, instead }: Loss, schema: Schema | undefined): Json | undefined {
  if (equal(now, instead)) return value;
  return now === undefined || instead !== undefined ? now : withKeyed(now, value, schema);
}

function withItems(now: Json | undefined, unsorted: readonly Loss[], schema: Schema | undefined): Json | undefined {
  if (now !== undefined && !isList(now)) return now;
  const list = now ?? [];
  const lost = unsorted.toSorted((a, b) => indexOf(a) - indexOf(b));
  // The write was taken, and only the ledger has not been tidied up.
  if (lost.every((loss) => equal(list[indexOf(loss)], loss.value))) return now;
  return restored(list, lost, schema?.['x-kubernetes-list-map-keys']) ?? merged(list, lost, schema);
}

function indexOf({ at }: Loss): number {
  const last = at.at(-1);
  return typeof last === 'number' ? last : -1;
}

/** The list that was meant, where it still is the one that was written; else undefined. */
function restored(list: readonly Json[], lost: readonly Loss[], keys: readonly string[] | undefined): Json | undefined {
  let [dropped, next] = [0, list];
  for (const loss of lost) {
    const index = indexOf(loss) - dropped;
    if (loss.instead === undefined) dropped += 1;
    else if (equal(list[index], loss.instead)) next = next.with(index, loss.value);
    else return undefined;
  }
  const back = lost.filter(({ instead }) => instead === undefined);
  if (back.some(({ value }) => next.some((item) => equal(item, value) || isSameItem(item, value, keys))))
    return undefined;
  if (back.some((loss) => indexOf(loss) > list.length + dropped)) return undefined;
  return back.reduce((all, loss) => all.toSpliced(indexOf(loss), 0, loss.value), next);
}

/** A list that somebody has changed: each item returns unless it is there, or another of its keys; what was taken from an item returns to the one of its keys. */
function merged(list: readonly Json[], lost: readonly Loss[], schema: Schema | undefined): Json {
  const keys = schema?.['x-kubernetes-list-map-keys'];
  let next = list;
  for (const loss of lost) {
    const { value, instead } = loss;
    if (list.some((item) => equal(item, value))) continue;
    if (instead !== undefined) {
      const place = next.findIndex((item) => equal(item, instead));
      next = place >= 0 ? next.with(place, value) : withTaken(next, { value, instead }, schema);
    } else if (!next.some((item) => isSameItem(item, value, keys)))
      next = next.toSpliced(Math.min(indexOf(loss), next.length), 0, value);
  }
  return next;
}

/** The list in which the item of these keys, whatever it says now, has again what it had lost. */
function withTaken(
  list: readonly Json[],
  { value, instead }: { readonly value: Json; readonly instead: Json },
  schema: Schema | undefined,
): readonly Json[] {
  const keys = schema?.['x-kubernetes-list-map-keys'];
  const place = isSameItem(value, instead, keys) ? list.findIndex((item) => isSameItem(item, value, keys)) : -1;
  const item = list[place];
  return isObject(item) ? list.with(place, recalled(item, losses(value, instead), schema?.items)) : list;
}
