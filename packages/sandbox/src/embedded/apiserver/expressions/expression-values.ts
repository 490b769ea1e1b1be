import { isObject, type JsonObject, type Schema } from '@drydock/kube/testing/api-server';
import { FORMATS, type Simple } from './expression-types.ts';

/** What evaluating an expression fails with; logical operators may absorb it. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
}

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

/** An unsigned integer. */
export class Unsigned {
  readonly value: bigint;

  constructor(value: bigint) {
    if (value < 0n || value >= 1n << 64n) throw new EvaluationError('unsigned integer overflow');
    this.value = value;
  }
}

/** A point in time, in nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A length of time in nanoseconds. */
export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A value that may be absent. */
export class Optional {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** A quantity, an address, a URL, a version, a named format. `same` compares, `text` is its string form. */
export interface OpaqueParts {
  readonly kind: Simple;
  readonly data: unknown;
  readonly text: string;
}

/** A value of one of Kubernetes' own types. */
export class Opaque {
  readonly kind: Simple;
  readonly data: unknown;
  readonly text: string;

  constructor({ kind, data, text }: OpaqueParts) {
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

/** A list. Its items are converted when they are looked at; a set or a map list is compared and joined as what it is. */
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

  /** What tells the items of a map list apart. */
  keyOf(item: Value): string {
    const keys = this.schema?.['x-kubernetes-list-map-keys'] ?? [];
    return keys.map((key) => (item instanceof Dictionary ? display(item.get(key) ?? null) : '')).join('\u0000');
  }
}

/** A map, or an object whose fields a schema declares. */
export class Dictionary {
  readonly #entries: ReadonlyMap<string, Value> | undefined;
  readonly #raw: JsonObject | undefined;
  readonly #schema: Schema | undefined;
  readonly #kinds: ReadonlyMap<string, Value>;

  private constructor(
    entries: ReadonlyMap<string, Value> | undefined,
    keys: ReadonlyMap<string, Value>,
    raw?: JsonObject,
    schema?: Schema,
  ) {
    this.#entries = entries;
    this.#kinds = keys;
    this.#raw = raw;
    this.#schema = schema;
  }

  /** A map literal. */
  static of(entries: readonly (readonly [Value, Value])[]): Dictionary {
    const keys = new Map<string, Value>();
    const values = new Map<string, Value>();
    for (const [key, value] of entries) {
      const id = keyId(key);
      if (keys.has(id)) throw new EvaluationError(`insert failed: key ${display(key)} already exists`);
      keys.set(id, key);
      values.set(id, value);
    }
    return new Dictionary(values, keys);
  }

  /** A JSON object by its schema: a map, or declared fields under the names that expressions have for them. */
  static from(raw: JsonObject, schema: Schema): Dictionary {
    return new Dictionary(undefined, new Map(), raw, schema);
  }

  get isObject(): boolean {
    return this.#schema !== undefined && this.#schema.additionalProperties === undefined;
  }

  get(key: Value): Value | undefined {
    if (this.#entries !== undefined) return this.#entries.get(keyId(key));
    if (typeof key !== 'string' || this.#raw === undefined || this.#schema === undefined) return undefined;
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
    if (this.#raw === undefined || this.#schema === undefined) return [...this.#kinds.values()];
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

interface Field {
  readonly name: string;
  readonly schema: Schema;
}

const known = new WeakMap<Schema, ReadonlyMap<string, Field>>();

const META: Schema = { type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } };
const TEXT: Schema = { type: 'string' };

/** The fields of an object under the names that expressions have for them. */
export function fieldsOf(schema: Schema): ReadonlyMap<string, Field> {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const own = Object.entries(schema.properties ?? {});
  const embedded: readonly (readonly [string, Schema])[] =
    schema['x-kubernetes-embedded-resource'] === true
      ? [
          ['apiVersion', TEXT],
          ['kind', TEXT],
          ['metadata', META],
        ]
      : [];
  const fields = new Map([...own, ...embedded].map(([name, of]) => [escaped(name), { name, schema: of }] as const));
  known.set(schema, fields);
  return fields;
}

const KEYWORDS = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function escaped(name: string): string {
  if (KEYWORDS.has(name)) return `__${name}__`;
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
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

/** Parses RFC 3339. */
export function parseTimestamp(text: string): Timestamp {
  const [, base, fraction = ''] =
    /^(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2})(\.\d+)?(?:[Zz]|[-+]\d{2}:\d{2})$/.exec(text) ?? [];
  const millis = base === undefined ? Number.NaN : Date.parse(text.replace(/\.\d+/, '').toUpperCase());
  // Hours up to 23, and no 30th of February.
  const shape = base !== undefined && Number(base.slice(11, 13)) < 24;
  const [year = 0, month = 1, day = 1] = (base ?? '').slice(0, 10).split('-').map(Number);
  if (!shape || new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day || Number.isNaN(millis))
    throw new EvaluationError(`type conversion error from 'string' to 'google.protobuf.Timestamp'`);
  return new Timestamp(BigInt(millis) * 1_000_000n + BigInt(fraction.slice(1).padEnd(9, '0').slice(0, 9)));
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Parses Go's notation of durations: `1h30m`. */
export function parseDuration(text: string): Duration {
  const [, sign = '', rest = ''] = /^([-+]?)(.+)$/.exec(text) ?? [];
  const parts = [...rest.matchAll(/(\d+)(?:\.(\d*))?(ns|us|µs|ms|s|m|h)/g)];
  const whole = parts.map(([all]) => all).join('');
  if (rest !== '0' && (whole === '' || whole !== rest)) {
    throw new EvaluationError(`type conversion error from 'string' to 'google.protobuf.Duration'`);
  }
  let nanos = 0n;
  for (const [, digits = '0', fraction = '', unit = 's'] of parts) {
    const size = UNITS[unit] ?? 0n;
    nanos += BigInt(digits) * size;
    if (fraction !== '') nanos += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  return new Duration(sign === '-' ? -nanos : nanos);
}

/** The name of a value's type. */
export function typeName(value: Value): string {
  if (value === null) return 'null_type';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    default:
      break;
  }
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Unsigned) return 'uint';
  if (value instanceof List) return 'list';
  if (value instanceof Dictionary) return 'map';
  if (value instanceof Optional) return 'optional_type';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof TypeValue) return 'type';
  return `kubernetes.${value.kind}`;
}

/** The kind of a value, in the notation of signatures. */
export function kindOf(value: Value): Simple | 'list' | 'map' | 'optional' {
  const name = typeName(value);
  switch (name) {
    case 'null_type':
      return 'null';
    case 'optional_type':
      return 'optional';
    case 'google.protobuf.Timestamp':
      return 'timestamp';
    case 'google.protobuf.Duration':
      return 'duration';
    default:
      return (name.startsWith('kubernetes.') ? name.slice('kubernetes.'.length) : name) as Simple;
  }
}

/** A number of any kind as something that compares; undefined for other values. */
function numeric(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Unsigned ? value.value : undefined;
}

/** Whether two values are equal; values of unlike types are not. */
export function equal(a: Value, b: Value): boolean {
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== undefined || right !== undefined) {
    // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number that are the same number
    return left !== undefined && right !== undefined && left == right;
  }
  if (a instanceof List && b instanceof List) return equalLists(a, b);
  if (a instanceof Dictionary && b instanceof Dictionary) {
    if (a.size !== b.size) return false;
    return a.keys.every((key) => {
      const other = b.get(key);
      const own = a.get(key);
      return other !== undefined && own !== undefined && equal(own, other);
    });
  }
  if (a instanceof Optional && b instanceof Optional) {
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equal(a.value, b.value);
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if ((a instanceof Timestamp && b instanceof Timestamp) || (a instanceof Duration && b instanceof Duration)) {
    return a.nanos === b.nanos;
  }
  if (a instanceof Opaque && b instanceof Opaque) return a.kind === b.kind && a.text === b.text;
  if (a instanceof TypeValue && b instanceof TypeValue) return a.name === b.name;
  return a === b;
}

function equalLists(a: List, b: List): boolean {
  if (a.length !== b.length) return false;
  if (a.listType === 'set') return a.items.every((item) => b.items.some((other) => equal(item, other)));
  if (a.listType === 'map') {
    const others = new Map(b.items.map((item) => [a.keyOf(item), item]));
    return a.items.every((item) => {
      const other = others.get(a.keyOf(item));
      return other !== undefined && equal(item, other);
    });
  }
  return a.items.every((item, at) => equal(item, b.items[at] ?? null));
}

/** -1, 0 or 1. */
export function compare(a: Value, b: Value): number {
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== undefined && right !== undefined) return left < right ? -1 : left > right ? 1 : 0;
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if ((a instanceof Timestamp && b instanceof Timestamp) || (a instanceof Duration && b instanceof Duration)) {
    return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
  }
  throw new EvaluationError('no such overload');
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
  if (value instanceof Optional)
    return value.value === undefined ? 'optional.none()' : `optional(${display(value.value)})`;
  return String(value);
}

/** RFC 3339 with as many digits as there are. */
export function timestampText({ nanos }: Timestamp): string {
  const millis = Number(nanos / 1_000_000n) - (nanos % 1_000_000n < 0n ? 1 : 0);
  const rest = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const base = new Date(millis).toISOString().slice(0, 19);
  const fraction = rest === 0n ? '' : `.${String(rest).padStart(9, '0').replace(/0+$/, '')}`;
  return `${base}${fraction}Z`;
}

/** Seconds, as protobuf writes durations. */
export function durationText({ nanos }: Duration): string {
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = String(size % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${sign}${size / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}s`;
}
