import { schemaAt } from '../diff/cause-rule.ts';
import { isLegal, neutralFor } from '../diff/neutral.ts';
import { valueAt } from '../preflight/preflight-object.ts';
import { equal, headOf, isList, isObject, type Json, type JsonObject, lengthOf } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import type { Cause } from '../validate/cause.ts';
import { placeText, type Quarantined, without, withValue } from './quarantine.ts';

/** One step down. */
export interface Degraded {
  readonly object: JsonObject;
  readonly lost: readonly Quarantined[];
}

/** Where a step down looks. */
export interface Ladder {
  readonly schema: Schema;
  readonly minor: number;
  /** Whether a path, or something below it, must stay as it is. */
  readonly isCore: (path: Path, object: JsonObject) => boolean;
}

/**
 * The smallest loss that takes the fault away: an item of a list, an optional field, a neutral value in a required one, the smallest optional ancestor. undefined: the fault is not in the status, or nothing but
 * what must stay would help. `object` is whole; paths begin with `status`.
 */
export function degrade(object: JsonObject, cause: Cause, ladder: Ladder): Degraded | undefined {
  const { owner, path, keyword } = cause;
  if (owner[0] !== 'status') return undefined;
  const place = keyword === 'required' ? supplied(object, path, ladder) : fitted(object, cause, ladder);
  if (place !== undefined) return place;
  const at = keyword === 'x-kubernetes-list-type' ? path : owner;
  return removed(object, at, keyword, ladder);
}

/** A required field gets a value that says nothing. */
function supplied(object: JsonObject, path: Path, { schema, minor, isCore }: Ladder): Degraded | undefined {
  const of = schemaAt(schema, path)?.schema;
  const value = of === undefined ? undefined : neutralFor(of, minor);
  if (value === undefined || isCore(path.slice(0, -1), object)) return undefined;
  return step(object, withValue(object, path, value), {
    path: placeText(path),
    value: null,
    why: 'required: a neutral value was supplied',
  });
}

/** What is too long is cut, what is too many is reduced to those that matter most. */
function fitted(
  object: JsonObject,
  { owner, keyword }: Cause,
  { schema, minor, isCore }: Ladder,
): Degraded | undefined {
  const of = schemaAt(schema, owner)?.schema;
  const value = valueAt(object, owner);
  if (of === undefined || value === undefined) return undefined;
  const lost = (gone: Json, why: string, suffix = ''): Quarantined => ({
    path: placeText(owner) + suffix,
    value: gone,
    why,
  });
  const mayBeCut = !isCore(owner, object) || isTextOfCondition(owner);
  if (keyword === 'maxLength' && typeof value === 'string' && of.maxLength !== undefined && mayBeCut) {
    const text = shortened(value, of.maxLength).find((short) => isLegal(short, of, minor));
    if (text !== undefined)
      return step(object, withValue(object, owner, text), lost(value, `longer than ${of.maxLength}`));
  }
  if (keyword === 'maxItems' && isList(value) && of.maxItems !== undefined) {
    const kept = keepItems(value, of.maxItems, (index) => isCore([...owner, index], object));
    if (kept === undefined) return undefined;
    const gone = value.filter((_item, index) => !kept.has(index));
    const rest = value.filter((_item, index) => kept.has(index));
    return step(
      object,
      withValue(object, owner, rest),
      ...gone.map((item) => lost(item, `more than ${of.maxItems} items`, '[]')),
    );
  }
  if (keyword === 'maxProperties' && isObject(value) && of.maxProperties !== undefined && !isCore(owner, object)) {
    const needed = new Set(of.required ?? []);
    const free = (key: string): boolean =>
      !needed.has(key) && !isCore([...owner, key], object) && !hasCoreBelow([...owner, key], object, isCore);
    const name = Object.keys(value).toSorted().findLast(free);
    if (name === undefined) return undefined;
    const at = [...owner, name];
    return step(object, without(object, at), {
      path: placeText(at),
      value: value[name] ?? null,
      why: `more than ${of.maxProperties} properties`,
    });
  }
  return undefined;
}

/** What a condition says in words: most of it is better than no status. What it is about, and whether it holds, is never cut. */
function isTextOfCondition(path: Path): boolean {
  const [list, index, field] = path.slice(-3);
  return list === 'conditions' && typeof index === 'number' && (field === 'message' || field === 'reason');
}

/** Takes the node out, or the nearest thing around it that nobody requires. */
function removed(object: JsonObject, at: Path, keyword: string, ladder: Ladder): Degraded | undefined {
  const { schema, minor, isCore } = ladder;
  for (let path = at; path.length > 1; path = path.slice(0, -1)) {
    if (isCore(path, object) || hasCoreBelow(path, object, isCore)) return undefined;
    const value = valueAt(object, path);
    if (value === undefined) continue;
    const last = path.at(-1);
    const why = `the live schema refuses it (${keyword})`;
    const lost: Quarantined = { path: placeText(path), value, why };
    if (typeof last === 'number') return step(object, without(object, path), lost);
    const parent = schemaAt(schema, path.slice(0, -1))?.schema;
    if (parent?.required?.includes(last ?? '') !== true) return step(object, without(object, path), lost);
    const of = schemaAt(schema, path)?.schema;
    const neutral = of === undefined ? undefined : neutralFor(of, minor);
    if (neutral !== undefined && !equal(neutral, value)) return step(object, withValue(object, path, neutral), lost);
  }
  return undefined;
}

function hasCoreBelow(path: Path, object: JsonObject, isCore: Ladder['isCore']): boolean {
  const value = valueAt(object, path);
  if (isList(value)) return value.some((_item, index) => isCore([...path, index], object));
  if (isObject(value)) return Object.keys(value).some((key) => isCore([...path, key], object));
  return false;
}

function step(before: JsonObject, after: Json, ...lost: readonly Quarantined[]): Degraded | undefined {
  return isObject(after) && after !== before ? { object: after, lost } : undefined;
}

/** By code points: at the end of a word where one is near, with an ellipsis; or, for texts that may have none, as many letters as fit, and those up to the last that may end a name. */
function shortened(text: string, most: number): readonly string[] {
  const plain = headOf(text, most);
  const named = plain.replace(/[^A-Za-z0-9]+$/, '');
  if (most < 2) return [plain, named];
  const head = headOf(text, most - 1);
  const space = head.lastIndexOf(' ');
  const cut = space > 0 && lengthOf(head.slice(space)) < 20 ? head.slice(0, space) : head;
  return [`${cut}…`, plain, named];
}

/** Items that stay: what must, the newest that completed, the first of all, then the newest. Lists like a history have the newest first. */
function keepItems(
  list: readonly Json[],
  most: number,
  isCore: (index: number) => boolean,
): ReadonlySet<number> | undefined {
  const completed = list.findIndex((item) => isObject(item) && item['state'] === 'Completed');
  const wanted = [
    ...list.keys().filter(isCore),
    ...(completed < 0 ? [] : [completed]),
    ...(list.some((item) => isObject(item) && Object.hasOwn(item, 'startedTime')) ? [list.length - 1] : []),
    ...list.keys(),
  ];
  const kept = new Set([...new Set(wanted)].slice(0, Math.max(0, most)));
  return [...list.keys()].every((index) => !isCore(index) || kept.has(index)) ? kept : undefined;
}
