import { own } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';

/** What everything is kept by. */
export const ANYTHING: Schema = { [PRESERVE]: true };

/** These belong to every resource, whether its schema names them or not. */
const META: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Places of values that one schema of a resource keeps and that are gone once another has pruned them. Empty: what is written through the one and stored through the other is whole. */
export function lostPlaces(of: Schema, by: Schema): readonly string[] {
  const lost = new Set<string>();
  compare(of, by, [], true, lost);
  return [...lost];
}

/** `by` is undefined where the other schema says nothing of the value: objects lose all that they have, scalars and lists of scalars stay. */
function compare(of: Schema, by: Schema | undefined, path: Path, resource: boolean, lost: Set<string>): void {
  if (of === by) return;
  const lose = (at: Path): void => {
    lost.add(schemaPathText(at));
  };
  if (of.nullable === true && by !== undefined && by.nullable !== true) lose(path);
  const keeps = by?.[PRESERVE] === true;
  const additional = by?.additionalProperties;
  if (of.items !== undefined) {
    const items = keeps ? { ...by?.items, [PRESERVE]: true } : by?.items;
    compare(of.items, items, [...path, '[]'], isEmbedded(of.items), lost);
  }
  const others = [...path, '*'];
  const below = (inner: Schema, name: string | undefined, at: Path): void => {
    const next =
      (name === undefined ? undefined : own(by?.properties, name)) ??
      (typeof additional === 'object' ? additional : undefined);
    if (next !== undefined || additional === true) compare(inner, next, at, isEmbedded(inner), lost);
    else if (!keeps) lose(at);
  };
  for (const [name, inner] of Object.entries(of.properties ?? {}))
    if (!resource || !META.has(name)) below(inner, name, [...path, name]);
  const anyKey = typeof of.additionalProperties === 'object' ? of.additionalProperties : keepsKeys(of);
  if (anyKey === undefined) return;
  below(anyKey, undefined, others);
  // Of these keys the other schema may name some, as something else.
  for (const name of Object.keys(by?.properties ?? {}))
    if (own(of.properties, name) === undefined && !(resource && META.has(name))) below(anyKey, name, others);
}

/** What a key may have that a schema does not name; undefined where it keeps no such key. */
function keepsKeys(schema: Schema): Schema | undefined {
  if (schema[PRESERVE] === true) return ANYTHING;
  // Of such a key the server prunes all fields, and a scalar stays.
  return schema.additionalProperties === true ? {} : undefined;
}

function isEmbedded(schema: Schema): boolean {
  return schema['x-kubernetes-embedded-resource'] === true;
}
