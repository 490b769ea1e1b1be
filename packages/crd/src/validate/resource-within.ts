import { isList, isNumber, isObject, type Json, type JsonObject } from '../schema/json.ts';

/** Fields that a resource within another one has in its metadata, and whether a value stays there: a server reads the metadata into a struct, and what is of another type, or says nothing, it does not write back (apiextensions-apiserver, pkg/apiserver/schema/objectmeta). */
const METADATA: ReadonlyMap<string, (value: Json) => boolean> = new Map([
  ...[
    'creationTimestamp',
    'deletionTimestamp',
    'generateName',
    'name',
    'namespace',
    'resourceVersion',
    'selfLink',
    'uid',
  ].map((name) => [name, (value: Json) => typeof value === 'string' && value !== ''] as const),
  ...['finalizers', 'managedFields', 'ownerReferences'].map(
    (name) => [name, (value: Json) => isList(value) && value.length > 0] as const,
  ),
  ...['annotations', 'labels'].map((name) => [name, hasTexts] as const),
  ['deletionGracePeriodSeconds', isNumber],
  ['generation', (value) => isNumber(value) && Number(value) !== 0],
]);

function hasTexts(value: Json): boolean {
  return isObject(value) && Object.values(value).some((text) => typeof text === 'string');
}

/** Whether a server keeps a field of the head of a resource within another one: its version and kind, and by `inMetadata` what its metadata hold. */
export function keepsHead(key: string, value: Json, inMetadata: boolean): boolean {
  if (inMetadata) return METADATA.get(key)?.(value) === true;
  return key === 'metadata' || typeof value === 'string';
}

/** Whether a server keeps all of the head. */
export function keepsWholeHead({ apiVersion = '', kind = '', metadata }: JsonObject): boolean {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return false;
  if (!isObject(metadata)) return true;
  return Object.entries(metadata).every(
    ([key, value]) => keepsHead(key, value, true) && (!TEXTS.has(key) || isAllTexts(value)),
  );
}

/** Maps of texts, of which a server keeps the texts alone. */
export const TEXTS: ReadonlySet<string> = new Set(['annotations', 'labels']);

function isAllTexts(value: Json): boolean {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string');
}
