import { withDigitsOf } from '../../json/exact-integers.ts';
import { isObject, type JsonObject, put } from './json.ts';

/** A structural schema (`openAPIV3Schema`). CEL rules are the business of whoever plugs in a kind's rules. */
export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly multipleOf?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
}

/** A place whose structure is only that of its JSON. */
export const UNKNOWN: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

/** The schema of a field that is declared by name. */
export function declaredField({ properties }: Schema, key: string): Schema | undefined {
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** The schema of a key of an object: undefined when it is not declared. */
export function keySchema(schema: Schema, key: string): Schema | undefined {
  const declared = declaredField(schema, key);
  if (declared !== undefined) return declared;
  if (isObject(schema.additionalProperties)) return schema.additionalProperties as Schema;
  if (schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true) return UNKNOWN;
  return undefined;
}

/** The schema of a list's items. */
export function itemSchema(schema: Schema): Schema {
  return schema.items ?? UNKNOWN;
}

/** The keys by which a list is a map; undefined for other lists. */
export function mapKeys(schema: Schema): readonly string[] | undefined {
  return schema['x-kubernetes-list-type'] === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : undefined;
}

/** What every object says of itself, also inside of another one; set by `kinds.ts`, which knows the schema of metadata. */
export const EMBEDDED: Map<string, Schema> = new Map();

/** What `settle` made of a value. */
export interface Settled {
  readonly value: JsonObject;
  /** Paths of the fields that no schema declares. */
  readonly unknown: readonly string[];
}

/**
 * What becomes of a null where none is allowed and no default takes its place: it is dropped; after an apply it stays, and is refused; in Kubernetes' own
 * types it is the empty value, which matters for texts in maps.
 */
export type Nulls = 'drop' | 'keep' | 'empty';

/** Drops undeclared fields, deals with nulls, then fills in defaults, as the server does on every write. */
export function settle(object: JsonObject, schema: Schema, nulls: Nulls): Settled {
  const unknown: string[] = [];
  return { value: settled(object, schema, '', unknown, nulls) as JsonObject, unknown };
}

const defaulted = new WeakMap<Schema, readonly (readonly [string, Schema])[]>();

/** The fields of a schema that have defaults: few, where a schema has thousands. */
function defaultedFields(schema: Schema): readonly (readonly [string, Schema])[] {
  if (schema.properties === undefined) return [];
  const known = defaulted.get(schema);
  if (known !== undefined) return known;
  const fields = Object.entries(schema.properties).filter(([, of]) => of.default !== undefined);
  defaulted.set(schema, fields);
  return fields;
}

function settled(value: unknown, schema: Schema, path: string, unknown: string[], nulls: Nulls): unknown {
  if (Array.isArray(value)) {
    const items = itemSchema(schema);
    const list = value.map((item, at) => settled(item, items, `${path}[${at}]`, unknown, nulls));
    return withDigitsOf(list, value);
  }
  // What should be something else is left for the validation to find.
  if (!isObject(value) || (schema.type !== undefined && schema.type !== 'object')) return value;
  const out: Record<string, unknown> = {};
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  for (const [key, inner] of Object.entries(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    const of = (embedded ? EMBEDDED.get(key) : undefined) ?? keySchema(schema, key);
    if (of === undefined) unknown.push(at);
    else if (
      inner !== null ||
      of.nullable === true ||
      (declaredField(schema, key) === undefined &&
        of.type === undefined &&
        of['x-kubernetes-preserve-unknown-fields'] === true)
    ) {
      const kept = nulls === 'keep' && path === '' && key === 'metadata' ? 'drop' : nulls;
      put(out, key, settled(inner, of, at, unknown, kept));
    } else if (of.default === undefined && nulls === 'keep') put(out, key, null);
    else if (of.type === 'string' && isObject(schema.additionalProperties) && nulls === 'empty') put(out, key, '');
  }
  for (const [key, of] of defaultedFields(schema)) {
    if (!Object.hasOwn(out, key)) put(out, key, settled(of.default, of, key, unknown, nulls));
  }
  return withDigitsOf(out, value);
}
