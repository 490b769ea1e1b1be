import { isObject, type JsonObject, Undecodable, withDigitsOf } from '@drydock/kube/testing/api-server';
import { type RecordedSchema, recordedTypes, refOf } from './recorded.ts';
import { canonicalQuantity } from './resource-quantity.ts';

// Kubernetes' own kinds are Go structs: what a client sends is decoded into them and written out again. Which empty values are left out then, and which stand
// there although nobody sent them, is recorded per field.

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const TIME = `${META}Time`;
const MICRO_TIME = `${META}MicroTime`;
const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const INT_OR_STRING = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';

/** Where a value is: the path of field names, as the decoder's errors print it, and the struct that has the field. */
interface Place {
  readonly path: string;
  /** With the indexes of lists and keys of maps, as messages about unknown fields have it. */
  readonly exact: string;
  readonly struct: string;
}

interface Field {
  readonly schema: RecordedSchema;
  readonly ref: string | undefined;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
  readonly pointer: boolean;
  /** As errors print it, without the pointer. */
  readonly type: string;
}

interface Struct {
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** What stands there although nobody sent it. */
  readonly always: readonly (readonly [name: string, empty: () => unknown])[];
}

const structs = new Map<string, Struct>();

function structOf(name: string): Struct {
  const known = structs.get(name);
  if (known !== undefined) return known;
  const { schemas, go } = recordedTypes();
  const types = go[name] ?? {};
  const fields = new Map<string, Field>();
  for (const [key, schema] of Object.entries(schemas[name]?.properties ?? {})) {
    const [, flags = '', star = '', type = ''] = /^([oz]*)(\*?)(.*)$/.exec(types[key] ?? 'ostring') ?? [];
    fields.set(key, {
      schema,
      ref: refOf(schema),
      omitEmpty: flags.includes('o'),
      omitZero: flags.includes('z'),
      pointer: star !== '',
      type,
    });
  }
  const always: [string, () => unknown][] = [];
  for (const [key, field] of fields) {
    const empty = emptyOf(field);
    if (key !== 'apiVersion' && key !== 'kind' && empty !== undefined) always.push([key, empty]);
  }
  const struct = { name: name.split('.').at(-1) ?? '', fields, always };
  structs.set(name, struct);
  return struct;
}

/** What an absent field is written as; undefined: it is left out. */
function emptyOf({ schema, ref, omitEmpty, omitZero, pointer }: Field): (() => unknown) | undefined {
  if (pointer) return omitEmpty ? undefined : () => null;
  if (ref !== undefined) {
    if (omitZero) return undefined;
    if (ref === TIME || ref === MICRO_TIME) return () => null;
    if (ref === QUANTITY) return () => '0';
    if (ref === INT_OR_STRING) return () => 0;
    const isStruct = recordedTypes().schemas[ref]?.properties !== undefined;
    if (isStruct) return () => decodeStruct({}, structOf(ref), { path: '', exact: '', struct: '' }, []);
    return omitEmpty ? undefined : () => null;
  }
  if (omitEmpty) return undefined;
  switch (schema.type) {
    case 'string':
      return schema.format === 'byte' ? () => null : () => '';
    case 'boolean':
      return () => false;
    case 'integer':
    case 'number':
      return () => 0;
    default:
      return () => null;
  }
}

/** Decodes an object of a type: known fields with the types of Go, written as Go writes them. Unknown fields are dropped, their paths added to `unknown`. */
export function decodeObject(object: JsonObject, type: string, unknown: string[]): JsonObject {
  firstMistake = undefined;
  const value = decodeStruct(object, structOf(type), { path: '', exact: '', struct: '' }, unknown) as JsonObject;
  if (firstMistake !== undefined) throw firstMistake;
  return value;
}

/** What Go's decoder says in the end about values of a wrong type: it goes on to where a type's own decoder fails, which ends it at once. */
let firstMistake: Undecodable | undefined;

function noted(mistake: Undecodable): undefined {
  firstMistake ??= mistake;
  return undefined;
}

function decodeStruct(value: unknown, struct: Struct, place: Place, unknown: string[]): unknown {
  if (!isObject(value)) return noted(mistyped(value, place, `v1.${struct.name}`));
  const out: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const field = struct.fields.get(key);
    const at = (path: string): string => (path === '' ? key : `${path}.${key}`);
    if (field === undefined) {
      unknown.push(at(place.exact));
      continue;
    }
    if (inner === null) continue;
    const made = decodeField(
      inner,
      field,
      { path: at(place.path), exact: at(place.exact), struct: struct.name },
      unknown,
    );
    if (made !== undefined && !(field.omitEmpty && !field.pointer && isEmpty(made, field)))
      out[key] = stored(made, field);
  }
  for (const [key, empty] of struct.always) if (!(key in out)) out[key] = empty();
  return withDigitsOf(out, value);
}

/** What is stored as protobuf knows no empty list. */
function stored(value: unknown, { omitEmpty, pointer, type }: Field): unknown {
  const empty = Array.isArray(value) && value.length === 0 && type.startsWith('[]');
  return empty && !omitEmpty && !pointer ? null : value;
}

/** What `omitempty` leaves out: never a struct. */
function isEmpty(value: unknown, { ref, schema }: Field): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isObject(value)) return ref === undefined && schema.properties === undefined && Object.keys(value).length === 0;
  if (ref === QUANTITY || ref === INT_OR_STRING) return false;
  return value === '' || value === 0 || value === false;
}

function decodeField(value: unknown, field: Field, place: Place, unknown: string[]): unknown {
  const { schema, ref, type } = field;
  if (ref !== undefined) return decodeRef(value, ref, place, unknown);
  return decodeValue(value, schema, type, place, unknown);
}

function decodeRef(value: unknown, ref: string, place: Place, unknown: string[]): unknown {
  switch (ref) {
    case TIME:
      return time(value, false);
    case MICRO_TIME:
      return time(value, true);
    case QUANTITY: {
      if (typeof value !== 'string' && typeof value !== 'number') throw new Undecodable(QUANTITY_WRONG);
      const canonical = canonicalQuantity(String(value));
      if (canonical === undefined) throw new Undecodable(QUANTITY_WRONG);
      return canonical;
    }
    case INT_OR_STRING: {
      if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) > 2 ** 31)
        throw mistyped(value, place, 'int32', `number ${value}`);
      if (typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))) return value;
      throw mistyped(value, place, typeof value === 'number' ? 'int32' : 'string');
    }
    default: {
      const schema = recordedTypes().schemas[ref];
      if (schema?.properties !== undefined) return decodeStruct(value, structOf(ref), place, unknown);
      // Raw JSON, such as `RawExtension`.
      return value;
    }
  }
}

const QUANTITY_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function decodeValue(value: unknown, schema: RecordedSchema, type: string, place: Place, unknown: string[]): unknown {
  switch (schema.type) {
    case 'string':
      if (schema.format === 'byte' && Array.isArray(value)) return byteList(value, place);
      if (typeof value !== 'string') return noted(mistyped(value, place, type.replace(/\bbyte$/, 'uint8')));
      if (schema.format === 'byte') return bytes(value);
      return value;
    case 'boolean':
      if (typeof value !== 'boolean') return noted(mistyped(value, place, type));
      return value;
    case 'integer':
      if (typeof value !== 'number') return noted(mistyped(value, place, type));
      if (!Number.isInteger(value) || (schema.format === 'int32' && Math.abs(value) > 2 ** 31)) {
        return noted(mistyped(value, place, type, `number ${value}`));
      }
      return value;
    case 'number':
      if (typeof value !== 'number') return noted(mistyped(value, place, type));
      return value;
    case 'array': {
      if (!Array.isArray(value)) return noted(mistyped(value, place, type));
      const { items = {} } = schema;
      const inner = type.replace(/^\[\]/, '');
      const made = value.map((item, at) =>
        decodeInner(item, items, inner, { ...place, exact: `${place.exact}[${at}]` }, unknown),
      );
      return withDigitsOf(made, value);
    }
    case 'object': {
      if (!isObject(value)) return noted(mistyped(value, place, type));
      const { additionalProperties } = schema;
      if (!isObject(additionalProperties)) return value;
      const inner = type.replace(/^map\[\w+\]/, '');
      const made = Object.fromEntries(
        Object.entries(value).map(([key, one]) => {
          const at = { ...place, path: place.path, exact: `${place.exact}.${key}` };
          return [key, decodeInner(one, additionalProperties as RecordedSchema, inner, at, unknown)];
        }),
      );
      return withDigitsOf(made, value);
    }
    default:
      return value;
  }
}

/** An element of a list or map: a null is its zero value. */
function decodeInner(value: unknown, schema: RecordedSchema, type: string, place: Place, unknown: string[]): unknown {
  const ref = refOf(schema);
  if (value === null) {
    const empty = emptyOf({ schema, ref, omitEmpty: false, omitZero: false, pointer: false, type });
    return empty?.() ?? null;
  }
  return ref === undefined ? decodeValue(value, schema, type, place, unknown) : decodeRef(value, ref, place, unknown);
}

function mistyped(value: unknown, { struct, path }: Place, type: string, given: string = goName(value)): Undecodable {
  const where = path === '' ? 'Go value' : `Go struct field ${struct}.${path}`;
  return new Undecodable(`json: cannot unmarshal ${given} into ${where} of type ${type}`);
}

function goName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** Go reads bytes from a list of numbers, too. */
function byteList(list: readonly unknown[], place: Place): string | undefined {
  const wrong = list.find((one) => typeof one !== 'number');
  if (wrong !== undefined) return noted(mistyped(wrong, place, 'uint8'));
  return Buffer.from(list as readonly number[]).toString('base64');
}

function bytes(value: string): string | undefined {
  const bare = value.replaceAll(/[\r\n]/g, '');
  const wrong =
    /[^A-Za-z0-9+/=]/.exec(bare)?.index ?? (bare.length % 4 === 0 ? undefined : bare.length - (bare.length % 4));
  if (wrong !== undefined) return noted(new Undecodable(`illegal base64 data at input byte ${wrong}`));
  return bare;
}

/** A text as Go's package of times quotes it: byte by byte. */
function quoted(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
      return byte < 0x20 || byte >= 0x80 ? `\\x${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte);
    })
    .join('');
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

function time(value: unknown, micro: boolean): string {
  if (typeof value !== 'string')
    throw new Undecodable(`json: cannot unmarshal ${goName(value)} into Go value of type string`);
  const at = RFC3339.test(value) ? new Date(value.replace(/(\.\d{3})\d*/, '$1')) : new Date(Number.NaN);
  if (Number.isNaN(at.getTime())) {
    const layout = micro ? '2006-01-02T15:04:05.000000Z07:00' : '2006-01-02T15:04:05Z07:00';
    const shown = quoted(value);
    throw new Undecodable(`parsing time "${shown}" as "${layout}": cannot parse "${shown}" as "2006"`);
  }
  const whole = at.toISOString().slice(0, 19);
  if (!micro) return `${whole}Z`;
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? '';
  return `${whole}.${fraction.padEnd(6, '0').slice(0, 6)}Z`;
}
