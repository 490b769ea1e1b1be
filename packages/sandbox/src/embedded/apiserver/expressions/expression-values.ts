import { isObject, type JsonObject, type Schema } from '@drydock/kube/testing/api-server';
import { EvaluationError } from './expression-errors.ts';
import { fieldsOf } from './expression-fields.ts';
import { Duration, durationText, parseDuration, parseTimestamp, Timestamp, timestampText } from './expression-times.ts';
import { FORMATS, type Simple, TYPE_NAMES } from './expression-types.ts';

/** A value of an expression. Integers are bigints, doubles are numbers. */
export type Value =
  | null
  | boolean
  | string
  | bigint
  | number
  | Uint8Array
  | Unsigned
  | List
  | Dictionary
  | Optional
  | Timestamp
  | Duration
  | Opaque
  | TypeValue;

export const MAX_INT: bigint = (1n << 63n) - 1n;
export const MIN_INT: bigint = -(1n << 63n);

/** An integer, if it fits into 64 bits. */
export function int(value: bigint): bigint {
  if (value > MAX_INT || value < MIN_INT) throw new EvaluationError('integer overflow');
  return value;
}

/** An unsigned integer. */
export class Unsigned {
  readonly value: bigint;

  constructor(value: bigint) {
    if (value < 0n || value >= 1n << 64n) throw new EvaluationError('unsigned integer overflow');
    this.value = value;
  }
}

/** A value that may be absent. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** A value of one of Kubernetes' own types: a quantity, an address, a URL, a version, a named format. */
export class Opaque {
  readonly kind: Simple;
  readonly data: unknown;
  /** Its string form; values of one kind with the same text are equal. */
  readonly text: string;

  constructor(kind: Simple, data: unknown, text: string) {
    this.kind = kind;
    this.data = data;
    this.text = text;
  }
}

/** A type as a value. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A list. Its items are converted on first access; its schema says whether it is a set or a map list. */
export class List {
  readonly schema: Schema | undefined;
  readonly length: number;
  readonly #raw: readonly unknown[];
  #items: Value[] | undefined;

  private constructor(raw: readonly unknown[], schema: Schema | undefined, items: Value[] | undefined) {
    this.#raw = raw;
    this.schema = schema;
    this.length = raw.length;
    this.#items = items;
  }

  static of(items: readonly Value[], schema?: Schema): List {
    return new List(items, schema, [...items]);
  }

  static from(raw: readonly unknown[], schema: Schema): List {
    return new List(raw, schema, undefined);
  }

  get items(): readonly Value[] {
    const { items = {} } = this.schema ?? {};
    this.#items ??= this.#raw.map((one) => fromJson(one, items));
    return this.#items;
  }

  get listType(): 'atomic' | 'set' | 'map' {
    const type = this.schema?.['x-kubernetes-list-type'];
    return type === 'set' || type === 'map' ? type : 'atomic';
  }

  /** The key of an item of a map list. */
  keyOf(item: Value): string {
    const keys = this.schema?.['x-kubernetes-list-map-keys'] ?? [];
    return keys.map((key) => (item instanceof Dictionary ? display(item.get(key) ?? null) : '')).join('\u0000');
  }
}

/** A map, or an object whose fields a schema declares. */
export class Dictionary {
  readonly #entries: ReadonlyMap<string, readonly [key: Value, value: Value]>;
  readonly #raw: JsonObject | undefined;
  readonly #schema: Schema | undefined;

  private constructor(entries: ReadonlyMap<string, readonly [Value, Value]>, raw?: JsonObject, schema?: Schema) {
    this.#entries = entries;
    this.#raw = raw;
    this.#schema = schema;
  }

  /** A map literal. */
  static of(entries: readonly (readonly [Value, Value])[]): Dictionary {
    const byId = new Map<string, readonly [Value, Value]>();
    for (const entry of entries) {
      const id = keyId(entry[0]);
      if (byId.has(id)) throw new EvaluationError(`insert failed: key ${display(entry[0])} already exists`);
      byId.set(id, entry);
    }
    return new Dictionary(byId);
  }

  /** A JSON object by its schema: a map, or declared fields under their escaped names. */
  static from(raw: JsonObject, schema: Schema): Dictionary {
    return new Dictionary(new Map(), raw, schema);
  }

  get isObject(): boolean {
    return this.#schema !== undefined && this.#schema.additionalProperties === undefined;
  }

  get(key: Value): Value | undefined {
    if (this.#raw === undefined || this.#schema === undefined) return this.#entries.get(keyId(key))?.[1];
    if (typeof key !== 'string') return undefined;
    const { additionalProperties } = this.#schema;
    if (additionalProperties !== undefined) {
      if (!Object.hasOwn(this.#raw, key)) return undefined;
      return fromJson(this.#raw[key], isObject(additionalProperties) ? (additionalProperties as Schema) : {});
    }
    const field = fieldsOf(this.#schema).get(key);
    if (field === undefined || !Object.hasOwn(this.#raw, field.name)) return undefined;
    const value = this.#raw[field.name];
    if (value === null && field.schema.nullable !== true) return undefined;
    return fromJson(value, field.schema);
  }

  get keys(): readonly Value[] {
    if (this.#raw === undefined || this.#schema === undefined)
      return Array.from(this.#entries.values(), ([key]) => key);
    if (this.#schema.additionalProperties !== undefined) return Object.keys(this.#raw);
    return [...fieldsOf(this.#schema).keys()].filter((key) => this.get(key) !== undefined);
  }

  get size(): number {
    return this.keys.length;
  }
}

function keyId(key: Value): string {
  if (typeof key === 'number' && Number.isInteger(key)) return `bigint ${key}`;
  if (key instanceof Unsigned) return `bigint ${key.value}`;
  if (typeof key === 'string' || typeof key === 'bigint' || typeof key === 'boolean') return `${typeof key} ${key}`;
  throw new EvaluationError(`unsupported key type: ${typeName(key)}`);
}

/** A JSON value as a schema types it. */
export function fromJson(value: unknown, schema: Schema): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (schema.type === 'number') return value;
    return Number.isInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === 'string') {
    const format = schema.type === 'string' ? FORMATS[schema.format ?? ''] : undefined;
    if (format === 'timestamp') return parseTimestamp(schema.format === 'date' ? `${value}T00:00:00Z` : value);
    if (format === 'duration') return parseDuration(value);
    if (format === 'bytes') return new Uint8Array(Buffer.from(value, 'base64'));
    return value;
  }
  if (Array.isArray(value)) return List.from(value as readonly unknown[], schema);
  if (isObject(value)) {
    const open =
      schema.properties === undefined && schema.additionalProperties === undefined && schema.type === undefined;
    return Dictionary.from(value, open ? { additionalProperties: true } : schema);
  }
  return null;
}

type Kind = Simple | 'list' | 'map' | 'optional';

const PRIMITIVE_KINDS: Readonly<Record<string, Kind>> = {
  boolean: 'bool',
  string: 'string',
  bigint: 'int',
  number: 'double',
};
const CLASS_KINDS = [
  [Uint8Array, 'bytes'],
  [Unsigned, 'uint'],
  [List, 'list'],
  [Dictionary, 'map'],
  [Optional, 'optional'],
  [Timestamp, 'timestamp'],
  [Duration, 'duration'],
] as const;

/** The kind of a value, in the notation of signatures. */
export function kindOf(value: Value): Kind {
  if (value === null) return 'null';
  if (value instanceof Opaque) return value.kind;
  return PRIMITIVE_KINDS[typeof value] ?? CLASS_KINDS.find(([type]) => value instanceof type)?.[1] ?? 'type';
}

/** The name of a value's type. */
export function typeName(value: Value): string {
  const kind = kindOf(value);
  if (kind === 'null' || kind === 'optional') return `${kind}_type`;
  return TYPE_NAMES[kind] ?? kind;
}

/** A value as messages show it. */
export function display(value: Value): string {
  if (value === null) return 'null';
  if (value instanceof Unsigned) return String(value.value);
  if (value instanceof List) return `[${value.items.map(display).join(', ')}]`;
  if (value instanceof Dictionary) {
    return `{${value.keys.map((key) => `${display(key)}: ${display(value.get(key) ?? null)}`).join(', ')}}`;
  }
  if (value instanceof Opaque) return value.text;
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (value instanceof Optional) {
    return value.value === undefined ? 'optional.none()' : `optional(${display(value.value)})`;
  }
  return String(value);
}
