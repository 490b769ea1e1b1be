import type { Schema } from '@drydock/crd';
import { DEEP } from './depth.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Whether a value holds an integer beyond 2^53, which may have lost digits when it was parsed. Only where the schema lets numbers be is looked: most of an object is text, and most objects have no such number. Nor is
 * looked deeper than an object is judged.
 */
export function holdsRounded(value: unknown, schema: Schema, levels: number = DEEP): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  const places = placesIn(schema);
  if (typeof value !== 'object' || value === null || places === NOWHERE || levels === 0) return false;
  if (Array.isArray(value)) return value.some((item) => holdsRounded(item, schema.items ?? ANY, levels - 1));
  const fields = value as Fields;
  if (places !== EVERYWHERE)
    return places.some(([name, of]) => Object.hasOwn(fields, name) && holdsRounded(fields[name], of, levels - 1));
  const { additionalProperties: additional, properties = {} } = schema;
  const other = typeof additional === 'object' ? additional : ANY;
  return Object.keys(fields).some((key) =>
    holdsRounded(fields[key], (Object.hasOwn(properties, key) ? properties[key] : undefined) ?? other, levels - 1),
  );
}

type Places = readonly (readonly [name: string, of: Schema])[];

/** What nothing is said about. */
const ANY: Schema = { 'x-kubernetes-preserve-unknown-fields': true };
const NOWHERE: Places = [];
/** Here, or under any key. */
const EVERYWHERE: Places = [['', ANY]];
const known = new WeakMap<Schema, Places>();

/** Fields of a schema that may hold numbers. */
function placesIn(schema: Schema): Places {
  let places = known.get(schema);
  if (places === undefined) {
    places = findPlaces(schema);
    known.set(schema, places);
  }
  return places;
}

function findPlaces(schema: Schema): Places {
  const { additionalProperties: additional, items, properties = {}, type } = schema;
  const isHere =
    type === 'integer' ||
    type === 'number' ||
    schema['x-kubernetes-int-or-string'] === true ||
    schema['x-kubernetes-preserve-unknown-fields'] === true ||
    additional === true ||
    [items, additional].some((inner) => typeof inner === 'object' && placesIn(inner) !== NOWHERE);
  if (isHere) return EVERYWHERE;
  const fields = Object.entries(properties).filter(([, of]) => placesIn(of) !== NOWHERE);
  return fields.length === 0 ? NOWHERE : fields;
}
