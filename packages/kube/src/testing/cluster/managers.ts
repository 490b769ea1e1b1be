import { jsonEqual } from '../../json/json-equal.ts';
import {
  decode,
  difference,
  encode,
  type FieldSet,
  intersection,
  pathOf,
  reaches,
  spoken,
  union,
} from './field-set.ts';
import { isObject, type JsonObject, listOf, objectOf, without } from './json.ts';
import { Refusal } from './refusal.ts';
import type { Schema } from './schema.ts';
import { cut, declaredParents, differenceOf, fieldsOf, overlay } from './structure.ts';

/** Who writes: one entry of `metadata.managedFields`. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
}

interface Entry extends Manager {
  readonly time: string;
  readonly fields: FieldSet;
}

/** What is nobody's: the server keeps it, or it names the object. */
const UNOWNED = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];

/** The part of an object that can be owned. */
function ownable(object: JsonObject): JsonObject {
  const metadata = without(objectOf(object['metadata']), ...UNOWNED);
  const rest = without(object, 'apiVersion', 'kind', 'metadata');
  return Object.keys(metadata).length === 0 ? rest : { ...rest, metadata };
}

/** Of objects that are compared: `metadata` itself is always there, so nobody owns it. */
function compared(object: JsonObject): JsonObject {
  return { metadata: {}, ...ownable(object) };
}

function entriesOf(object: JsonObject): Entry[] {
  return listOf(objectOf(object['metadata'])['managedFields']).map((raw) => {
    const entry = objectOf(raw);
    return {
      ...(entry as unknown as Entry),
      time: (entry['time'] as string | undefined) ?? '',
      fields: decode(entry['fieldsV1']),
    };
  });
}

function withEntries(object: JsonObject, entries: readonly Entry[]): JsonObject {
  const managedFields = entries
    .filter((entry) => entry.fields.size > 0)
    .toSorted((a, b) => rank(a).localeCompare(rank(b)))
    .map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
      manager,
      operation,
      apiVersion,
      // The server keeps no time for what is scaled.
      ...(time === '' ? {} : { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: encode(fields),
      ...(subresource === undefined ? {} : { subresource }),
    }));
  const metadata = without(objectOf(object['metadata']), 'managedFields');
  return { ...object, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } };
}

const rank = (entry: Entry): string => [entry.operation, entry.time, entry.manager, entry.subresource ?? ''].join(' ');

function isSame(a: Manager, b: Manager): boolean {
  return (
    a.manager === b.manager &&
    a.operation === b.operation &&
    a.subresource === b.subresource &&
    (a.operation === 'Apply' || a.apiVersion === b.apiVersion)
  );
}

/** Keeps the time of an entry whose fields did not change, so that a write that changes nothing stays one. */
function entry(as: Manager, fields: FieldSet, old: Entry | undefined, now: string): Entry {
  const unchanged = old !== undefined && jsonEqual(encode(old.fields), encode(fields));
  const time = as.subresource === 'scale' ? '' : now;
  return { ...as, fields, time: unchanged ? old.time : time };
}

/** Records what an ordinary write changed: the writer owns it now, and nobody else does. */
export function recordUpdate(live: JsonObject, next: JsonObject, schema: Schema, as: Manager, now: string): JsonObject {
  const { changed, removed } = differenceOf(compared(live), compared(next), schema);
  const entries = entriesOf(live);
  // What began without an owner stays so until somebody applies it.
  if (isObject(live['metadata']) && entries.length === 0) return withEntries(next, []);
  const lost = union(changed, removed);
  const own = entries.find((one) => isSame(one, as));
  const others = entries.filter((one) => one !== own).map((one) => ({ ...one, fields: difference(one.fields, lost) }));
  const fields = union(difference(own?.fields ?? new Set(), removed), changed);
  return withEntries(next, [...others, entry(as, fields, own, now)]);
}

/**
 * Server-side apply. The applier owns exactly what it names; what it named before and names no more goes, unless somebody else
 * owns it; a changed field of another owner is a conflict unless forced. `want` must be valid against the schema. `half` is what can be applied here of
 * an existing object: all of it becomes somebody's where nobody owned anything.
 */
export function applied(
  live: JsonObject,
  want: JsonObject,
  schema: Schema,
  as: Manager & { readonly force: boolean },
  now: string,
  half: JsonObject = {},
): JsonObject {
  const entries = entriesOf(live);
  if (entries.length === 0) {
    const { changed } = differenceOf(compared({}), compared(half), schema);
    entries.push({
      manager: 'before-first-apply',
      operation: 'Update',
      apiVersion: as.apiVersion,
      time: now,
      fields: changed,
    });
  }
  const own = entries.find((one) => isSame(one, as));
  const others = entries.filter((one) => one !== own);
  const fields = fieldsOf(ownable(want), schema);
  const merged = objectOf(overlay(live, { ...want, metadata: appliedMetadata(live, want) }, schema));
  const next = objectOf(
    cut(merged, schema, abandoned(merged, schema, own?.fields, [fields, ...others.map((one) => one.fields)])),
  );
  const { changed, removed } = differenceOf(compared(live), compared(next), schema);
  const conflicts = others.map((one) => intersection(one.fields, changed));
  if (!as.force && conflicts.some((one) => one.size > 0)) throw applyConflict(others, conflicts);
  const left = others.map((one, at) => ({
    ...one,
    fields: difference(difference(one.fields, conflicts[at] ?? new Set()), removed),
  }));
  const { manager, operation, apiVersion, subresource } = as;
  return withEntries(next, [...left, entry({ manager, operation, apiVersion, subresource }, fields, own, now)]);
}

function appliedMetadata(live: JsonObject, want: JsonObject): JsonObject {
  const { name, namespace } = objectOf(live['metadata']);
  const given = without(objectOf(want['metadata']), ...UNOWNED);
  return { ...given, ...(name === undefined ? {} : { name }), ...(namespace === undefined ? {} : { namespace }) };
}

/** What the applier owned and gives up, as far as nobody else owns it or something below it; of an item of a list what is below does not count. */
function abandoned(
  merged: JsonObject,
  schema: Schema,
  last: FieldSet | undefined,
  owned: readonly FieldSet[],
): FieldSet {
  if (last === undefined) return new Set();
  const candidates = union(last, declaredParents(last, merged, schema));
  const all = union(...owned);
  const isItem = (path: string): boolean => pathOf(path).at(-1)?.startsWith('k:') === true;
  return new Set([...candidates].filter((path) => !(isItem(path) ? all.has(path) : reaches(all, path))));
}

function applyConflict(others: readonly Entry[], conflicts: readonly FieldSet[]): Refusal {
  const named = others.flatMap((one, at) => {
    const fields = spoken(conflicts[at] ?? new Set());
    const using = one.operation === 'Update' ? ` using ${one.apiVersion}` : '';
    const subresource = one.subresource === undefined ? '' : ` with subresource "${one.subresource}"`;
    return fields.length === 0 ? [] : [{ who: `"${one.manager}"${subresource}${using}`, fields }];
  });
  const causes = named.flatMap(({ who, fields }) =>
    fields.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  const list = named.map(({ who, fields }) => `conflicts with ${who}:\n${fields.map((one) => `- ${one}`).join('\n')}`);
  const only = causes.length === 1 ? causes[0] : undefined;
  const said =
    only === undefined
      ? `${causes.length} conflicts: ${list.join('\n')}`
      : `1 conflict: ${only.message}: ${only.field}`;
  return new Refusal({ code: 409, reason: 'Conflict', message: `Apply failed with ${said}`, details: { causes } });
}

/** Whether two states are the same but for what every write changes. */
export function isUnchanged(before: JsonObject, after: JsonObject): boolean {
  const bare = (object: JsonObject): JsonObject => {
    const metadata = objectOf(object['metadata']);
    const managedFields = listOf(metadata['managedFields']).map((one) => (isObject(one) ? without(one, 'time') : one));
    return { ...object, metadata: { ...without(metadata, 'resourceVersion'), managedFields } };
  };
  return jsonEqual(bare(before), bare(after));
}
