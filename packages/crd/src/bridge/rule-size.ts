import { own, showJson } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import type { Reach } from '../validate/cel-reach.ts';
import { escapeName } from '../validate/cel-value.ts';

/** A request of this size is the largest that a server takes (k8s.io/apiserver, pkg/cel, MaxRequestSizeBytes). */
const MOST_BYTES = 3 * 1024 * 1024;

/** How often a rule is evaluated at most: what the lists and maps around it hold together. undefined: they have no bound. */
export type Cardinality = number | undefined;

/** The cardinality below a list or a map. */
export function below(schema: Schema, cardinality: Cardinality): Cardinality {
  const most =
    schema.type === 'array'
      ? schema.maxItems
      : typeof schema.additionalProperties === 'object'
        ? schema.maxProperties
        : 1;
  return cardinality === undefined || most === undefined ? undefined : cardinality * most;
}

/** How many values of a schema a server expects in one object, from their number or, where nothing bounds it, from their smallest size (k8s.io/apiserver, pkg/cel, MaxCardinality). */
export function timesOf(schema: Schema, cardinality: Cardinality): number {
  return cardinality ?? Math.floor(MOST_BYTES / (leastBytes(schema) + 1));
}

/**
 * Whether nothing that a rule can see may be larger than in another schema. A server estimates the cost of a rule from these sizes alone, and the cost never falls when one of them grows: what is within the budget there is
 * within it here (k8s.io/apiserver, pkg/cel/common, SchemaDeclType).
 */
export function isNoLarger(schema: Schema, than: Schema, reach: Reach): boolean {
  // Only whether it is there.
  if (reach !== true && reach.size === 0) return true;
  if (mostElements(schema) > mostElements(than)) return false;
  const { additionalProperties: additional, items } = than;
  if (items !== undefined && (schema.items === undefined || !isNoLarger(schema.items, items, true))) return false;
  if (typeof additional === 'object')
    return typeof schema.additionalProperties === 'object' && isNoLarger(schema.additionalProperties, additional, true);
  return Object.entries(than.properties ?? {}).every(([name, other]) => {
    const seen = reach === true ? true : (reach.get(escapeName(name)) ?? reach.get(name));
    if (seen === undefined) return true;
    const one = own(schema.properties, name);
    return one !== undefined && isNoLarger(one, other, seen);
  });
}

function mostElements(schema: Schema): number {
  if (schema['x-kubernetes-int-or-string'] === true) return MOST_BYTES - 2;
  switch (schema.type) {
    case 'array':
      return schema.maxItems ?? Math.floor((MOST_BYTES - 2) / (leastBytes(schema.items ?? {}) + 1));
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? (schema.maxProperties ?? Math.floor((MOST_BYTES - 2) / (leastBytes(schema.additionalProperties) + 6)))
        : 1;
    case 'string':
      return mostLetters(schema);
    default:
      return 1;
  }
}

/** Formats whose values are no longer than a line. */
const SHORT: ReadonlySet<string> = new Set(['date', 'date-time', 'duration']);

function mostLetters({ enum: values, format = '', maxLength }: Schema): number {
  if (SHORT.has(format)) return 32;
  if (maxLength !== undefined) return 4 * maxLength;
  if (values === undefined || values.length === 0) return MOST_BYTES - 2;
  return Math.max(...values.map((value) => Buffer.byteLength(showJson(value)) - 2));
}

const least = new WeakMap<Schema, number>();

/** The smallest JSON of a value. */
function leastBytes(schema: Schema): number {
  const known = least.get(schema);
  if (known !== undefined) return known;
  const bytes = measure(schema);
  least.set(schema, bytes);
  return bytes;
}

function measure(schema: Schema): number {
  switch (schema.type) {
    case 'boolean':
      return 4;
    case 'string':
    case 'array':
      return 2;
    case 'object':
      return (schema.required ?? []).reduce((sum, name) => {
        const property = own(schema.properties, name);
        // A default is filled in: nobody needs to send it.
        if (property === undefined || property.default !== undefined) return sum;
        return sum + name.length + leastBytes(property) + 4;
      }, 2);
    default:
      return 1;
  }
}
