import { isList, isObject, type Json, type JsonObject, own } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import type { Cause, Doubt } from './cause.ts';

/**
 * Checks resources within an object (`x-kubernetes-embedded-resource`), as a server does at a creation and at a write of the object, whatever was there before; not at a write of the status
 * (apiextensions-apiserver, pkg/apiserver/schema/objectmeta).
 */
export function checkEmbedded(
  value: Json,
  schema: Schema,
  path: Path,
  into: { readonly causes: Cause[]; readonly doubts: Doubt[] },
): void {
  if (!traitsOf(schema).embedded) return;
  const { additionalProperties: additional, items, properties } = schema;
  if (isList(value)) {
    if (items !== undefined)
      for (const [index, item] of value.entries()) checkEmbedded(item, items, [...path, index], into);
    return;
  }
  if (!isObject(value)) return;
  if (schema['x-kubernetes-embedded-resource'] === true) checkResource(value, path, into);
  for (const key of Object.keys(value)) {
    const of = own(properties, key) ?? (typeof additional === 'object' ? additional : undefined);
    if (of !== undefined) checkEmbedded(value[key] as Json, of, [...path, key], into);
  }
}

const HEAD: Readonly<Record<string, RegExp>> = {
  apiVersion: /^[^/]+(?:\/[^/]*)?$|^\/[^/]*$/,
  kind: /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/i,
};

function checkResource(
  value: JsonObject,
  owner: Path,
  { causes, doubts }: { readonly causes: Cause[]; readonly doubts: Doubt[] },
): void {
  for (const [name, right] of Object.entries(HEAD)) {
    const text = own(value, name);
    const path = [...owner, name];
    const keyword = 'x-kubernetes-embedded-resource';
    if (text === undefined)
      causes.push({ reason: 'FieldValueRequired', path, owner, keyword, message: 'Required value' });
    else if (typeof text !== 'string' || !right.test(text))
      causes.push({ reason: 'FieldValueInvalid', path, owner: path, keyword, message: `is no ${name} of a resource` });
  }
  const metadata = own(value, 'metadata');
  if (metadata !== undefined && !isOrdinary(metadata))
    doubts.push({
      path: [...owner, 'metadata'],
      keyword: 'metadata',
      why: 'the metadata of a resource within is checked by the server alone',
    });
}

/** What every server takes: names, labels and annotations without anything odd. */
function isOrdinary(metadata: Json): boolean {
  const word = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/i;
  const label = /^(?:[a-z0-9](?:[-\w.]{0,61}[a-z0-9])?)?$/i;
  if (!isObject(metadata)) return false;
  return Object.entries(metadata).every(([key, value]) => {
    if (key === 'name' || key === 'namespace')
      return typeof value === 'string' && word.test(value) && value === value.toLowerCase();
    if (key === 'creationTimestamp') return value === null;
    if (key !== 'labels' && key !== 'annotations') return false;
    return (
      isObject(value) &&
      Object.entries(value).every(
        ([name, text]) =>
          name !== '' && label.test(name) && typeof text === 'string' && (key === 'annotations' || label.test(text)),
      )
    );
  });
}
