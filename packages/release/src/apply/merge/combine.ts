import { equal, isObject, type Json, type JsonObject, jsonText } from '@drydock/crd';
import { own, withFields } from '../json.ts';

/** How what is wanted and what is there become one value. */
export type Rule =
  /** What the manifest says, or nothing. */
  | { readonly as: 'wanted' }
  /** What is there, where anything is: the server or somebody else decides. */
  | { readonly as: 'live' }
  | {
      readonly as: 'object';
      readonly fields?: Readonly<Record<string, Rule>>;
      /** What the server puts where a manifest says nothing. Where that is there it is kept. */
      readonly defaults?: JsonObject;
      /** What the server fills in by rules of its own: kept where the manifest says nothing. */
      readonly filled?: readonly string[];
      /** Fields that only the live object has stay; else they go. */
      readonly keeps?: true;
    }
  /** In the order of the manifest. `key` tells which items are the same. */
  | { readonly as: 'list'; readonly key: (item: JsonObject, index: number) => string; readonly item: Rule };

/** What the manifest says, or nothing. */
export const WANTED: Rule = { as: 'wanted' };
/** What is there, where anything is. */
export const LIVE: Rule = { as: 'live' };
/** Keys are added and overwritten, never taken away. */
export const KEYED: Rule = { as: 'object', keeps: true };

/** Puts both together. What is equal is taken from the live object, so that its exact integers are sent back. */
export function combine(rule: Rule, wanted: Json | undefined, live: Json | undefined): Json | undefined {
  const want = wanted ?? undefined;
  if (equal(want, live)) return live;
  switch (rule.as) {
    case 'wanted':
      return want === undefined || (live === undefined && isEmpty(want)) ? undefined : want;
    case 'live':
      return live ?? want;
    case 'list':
      return Array.isArray(want) && Array.isArray(live) ? combineLists(rule, want, live) : combine(WANTED, want, live);
    case 'object':
      if (rule.keeps === true && want === undefined) return live;
      if ((want !== undefined && !isObject(want)) || (live !== undefined && !isObject(live)))
        return combine(WANTED, want, live);
      return combineObjects(rule, want, live);
  }
}

function combineObjects(
  { fields = {}, defaults = {}, filled = [], keeps }: Rule & { readonly as: 'object' },
  want: JsonObject | undefined,
  live: JsonObject | undefined,
): Json | undefined {
  if (want === undefined) return undefined;
  const changed = new Map<string, Json | undefined>();
  for (const field of Object.keys(live ?? {})) {
    if (keeps === true || filled.includes(field) || (own(want, field) ?? undefined) !== undefined) continue;
    if (!equal(own(live ?? {}, field), own(defaults, field))) changed.set(field, undefined);
  }
  for (const field of Object.keys(want)) {
    const [wanted, is] = [want[field] ?? undefined, live === undefined ? undefined : own(live, field)];
    if (wanted === undefined || (is === undefined && equal(wanted, own(defaults, field)))) continue;
    const rule = Object.hasOwn(fields, field) ? (fields[field] as Rule) : WANTED;
    const value = combine(rule, wanted, is);
    if (value !== is) changed.set(field, value);
  }
  const merged = withFields(live ?? {}, changed);
  if (live === undefined && Object.keys(merged).length === 0) return Object.keys(want).length === 0 ? want : undefined;
  return merged;
}

function combineLists(
  { key, item }: Rule & { readonly as: 'list' },
  want: readonly Json[],
  live: readonly Json[],
): readonly Json[] {
  const known = new Map<string, Json>();
  for (const [index, one] of live.entries()) {
    const name = isObject(one) ? key(one, index) : jsonText(one);
    if (!known.has(name)) known.set(name, one);
  }
  const merged = want.flatMap((one, index) => {
    const same = known.get(isObject(one) ? key(one, index) : jsonText(one));
    const value = combine(item, one, same);
    return value === undefined ? [] : [value];
  });
  return equal(merged, live) ? live : merged;
}

/** Servers leave out empty texts, lists and maps of their own types, and what is null. */
function isEmpty(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === '' || value === null || (isObject(value) && Object.keys(value).length === 0);
}
