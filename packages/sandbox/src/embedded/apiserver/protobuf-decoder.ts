import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { badRequest } from './api-failure.ts';

/*
 * Reads objects of Kubernetes' own kinds in protobuf, which kubectl sends. The answer is always JSON: clients of protobuf read it too.
 *
 *     "k8s\0" + Unknown { 1: { 1: apiVersion, 2: kind }, 2: the object }
 *
 * `src/recording/record-protobuf.ts` records the messages.
 */

/** `[number, name in JSON, type, flags]`. */
type Field = readonly [number, string, string, number];

const REPEATED = 1;
const POINTER = 2;
const INLINE = 4;
const MAP = 8;

const MAGIC = Buffer.from('k8s\0');
/** Deeper messages are refused, as Go's decoder does. */
const DEEPEST = 100;

let recorded: Readonly<Record<string, readonly Field[]>> | undefined;
const byNumber = new Map<string, ReadonlyMap<number, Field>>();

function fieldsOf(message: string): ReadonlyMap<number, Field> | undefined {
  const known = byNumber.get(message);
  if (known !== undefined) return known;
  recorded ??= JSON.parse(
    brotliDecompressSync(readFileSync(join(import.meta.dirname, 'recorded/protobuf-messages.json.br'))).toString(),
  ) as Readonly<Record<string, readonly Field[]>>;
  const fields = recorded[message];
  if (fields === undefined) return undefined;
  const map = new Map(fields.map((field) => [field[0], field]));
  byNumber.set(message, map);
  return map;
}

/** The packages of groups whose kinds are not in `k8s.io.api.GROUP.VERSION`. */
const PACKAGES: Readonly<Record<string, string>> = {
  '': 'k8s.io.api.core',
  'apiextensions.k8s.io': 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions',
  'apiregistration.k8s.io': 'k8s.io.kube_aggregator.pkg.apis.apiregistration',
  'meta.k8s.io': 'k8s.io.apimachinery.pkg.apis.meta',
};

/** Whether a body is in the envelope of Kubernetes. */
export function isProtobuf(bytes: Buffer): boolean {
  return bytes.subarray(0, MAGIC.length).equals(MAGIC);
}

/** The object of a body, as JSON has it. Throws 400 for what is none. */
export function decodeProtobuf(bytes: Buffer, kind: string): Readonly<Record<string, unknown>> {
  const unreadable = (why: string): Error =>
    badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why}`);
  if (!isProtobuf(bytes)) {
    const shown = bytes.length === 0 ? '<empty>' : bytes.subarray(0, 30).toString('hex');
    throw unreadable(
      `provided data does not appear to be a protobuf message, expected prefix [${[...MAGIC].join(' ')}] (${shown})`,
    );
  }
  try {
    const envelope = [...entries(bytes.subarray(MAGIC.length))];
    const bytesOf = (number: number): Buffer => envelope.find((one) => one.number === number)?.bytes ?? Buffer.alloc(0);
    const meta = [...entries(bytesOf(1))];
    const [apiVersion, given] = [1, 2].map(
      (number) => meta.find((one) => one.number === number)?.bytes?.toString() ?? '',
    );
    const message = messageOf(apiVersion ?? '', given ?? '');
    if (message === undefined)
      throw unreadable(`no kind ${JSON.stringify(given)} is registered for ${JSON.stringify(apiVersion)}`);
    return { kind: given, apiVersion, ...(decodeMessage(message, bytesOf(2), 0) as object) };
  } catch (error) {
    if (error instanceof RangeError) throw unreadable(error.message);
    throw error;
  }
}

function messageOf(apiVersion: string, kind: string): string | undefined {
  const slash = apiVersion.indexOf('/');
  const [group, version] = slash === -1 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  const pkg = PACKAGES[group] ?? `k8s.io.api.${group.split('.', 1)[0]}`;
  const names = [`${pkg}.${version}.${kind}`, `k8s.io.apimachinery.pkg.apis.meta.v1.${kind}`];
  return names.find((name) => fieldsOf(name) !== undefined);
}

interface Entry {
  readonly number: number;
  readonly value: bigint;
  /** Of what has a length. */
  readonly bytes?: Buffer;
}

function* entries(bytes: Buffer): Generator<Entry> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) throw new RangeError('unexpected EOF');
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new RangeError('proto: integer overflow');
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, wire] = [Math.floor(tag / 8), tag % 8];
    if (wire === 0) yield { number, value: varint() };
    else if (wire === 2) {
      const length = Number(varint());
      if (at + length > bytes.length) throw new RangeError('unexpected EOF');
      yield { number, value: 0n, bytes: bytes.subarray(at, at + length) };
      at += length;
    } else if (wire === 1 || wire === 5) {
      const length = wire === 1 ? 8 : 4;
      if (at + length > bytes.length) throw new RangeError('unexpected EOF');
      yield { number, value: BigInt(bytes.readUIntLE(at, 4)) };
      at += length;
    } else throw new RangeError(`proto: illegal wireType ${wire}`);
  }
}

type Decode = (bytes: Buffer) => unknown;

const PREFIX = 'k8s.io.apimachinery.pkg';

/** Messages that JSON writes as something other than an object. `undefined` leaves the field out. */
const SPECIAL: Readonly<Record<string, Decode>> = {
  [`${PREFIX}.apis.meta.v1.Time`]: (bytes) => timeOf(bytes, false),
  [`${PREFIX}.apis.meta.v1.MicroTime`]: (bytes) => timeOf(bytes, true),
  [`${PREFIX}.apis.meta.v1.Duration`]: (bytes) => goDuration(numberOf(bytes, 1)),
  [`${PREFIX}.apis.meta.v1.FieldsV1`]: jsonOf,
  [`${PREFIX}.apis.meta.v1.Verbs`]: textsOf,
  [`${PREFIX}.api.resource.Quantity`]: (bytes) => textOf(bytes, 1),
  [`${PREFIX}.util.intstr.IntOrString`]: (bytes) => (numberOf(bytes, 1) === 0 ? numberOf(bytes, 2) : textOf(bytes, 3)),
  [`${PREFIX}.runtime.RawExtension`]: jsonOf,
  'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON': jsonOf,
};

function textOf(bytes: Buffer, number: number): string {
  return [...entries(bytes)].find((one) => one.number === number)?.bytes?.toString() ?? '';
}

function numberOf(bytes: Buffer, number: number): number {
  return Number(BigInt.asIntN(64, [...entries(bytes)].find((one) => one.number === number)?.value ?? 0n));
}

function textsOf(bytes: Buffer): readonly string[] {
  return [...entries(bytes)].map((one) => one.bytes?.toString() ?? '');
}

function jsonOf(bytes: Buffer): unknown {
  const text = textOf(bytes, 1);
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new RangeError('a field holds no JSON');
  }
}

function timeOf(bytes: Buffer, micro: boolean): string | undefined {
  if (bytes.length === 0) return undefined;
  const [seconds, nanos] = [numberOf(bytes, 1), numberOf(bytes, 2)];
  const at = new Date(seconds * 1000);
  if (Number.isNaN(at.getTime())) throw new RangeError('a time is out of range');
  const whole = at.toISOString().slice(0, 19);
  return micro ? `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : `${whole}Z`;
}

function goDuration(nanos: number): string {
  if (nanos === 0) return '0s';
  const seconds = Math.abs(nanos) / 1e9;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = `${Number((seconds % 60).toFixed(9))}s`;
  const sign = nanos < 0 ? '-' : '';
  return `${sign}${hours > 0 ? `${hours}h${minutes}m` : minutes > 0 ? `${minutes}m` : ''}${rest}`;
}

function decodeMessage(message: string, bytes: Buffer, depth: number): unknown {
  const special = SPECIAL[message];
  if (special !== undefined) return special(bytes);
  if (depth > DEEPEST) throw new RangeError('it is nested too deep');
  const fields = fieldsOf(message);
  if (fields === undefined) throw new RangeError(`the message ${message} is not known`);
  const only = fields.get(1);
  // Go names such lists to tell an empty one from none; JSON has the list itself.
  if (fields.size === 1 && only?.[1] === 'items' && only[2] === 's') return textsOf(bytes);
  const object: Record<string, unknown> = {};
  for (const entry of entries(bytes)) {
    const field = fields.get(entry.number);
    if (field !== undefined) put(object, field, entry, depth);
  }
  return object;
}

function put(object: Record<string, unknown>, [, name, type, flags]: Field, entry: Entry, depth: number): void {
  if ((flags & MAP) !== 0) {
    const pair = [...entries(entry.bytes ?? Buffer.alloc(0))];
    const key = pair.find((one) => one.number === 1)?.bytes?.toString() ?? '';
    const value = pair.find((one) => one.number === 2) ?? { number: 2, value: 0n, bytes: Buffer.alloc(0) };
    const map = (object[name] ?? {}) as Record<string, unknown>;
    object[name] = map;
    Object.defineProperty(map, key, {
      value: fieldValue(type, value, depth),
      enumerable: true,
      configurable: true,
      writable: true,
    });
    return;
  }
  const value = fieldValue(type, entry, depth);
  if ((flags & REPEATED) !== 0) {
    const list = (object[name] ?? []) as unknown[];
    list.push(value);
    object[name] = list;
  } else if ((flags & INLINE) !== 0) Object.assign(object, value);
  else if (value !== undefined && ((flags & POINTER) !== 0 || !isZero(value))) object[name] = value;
}

/** What Go leaves out of JSON, unless it is behind a pointer. */
function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false;
}

function fieldValue(type: string, entry: Entry, depth: number): unknown {
  const bytes = entry.bytes ?? Buffer.alloc(0);
  switch (type) {
    case 's':
      return bytes.toString();
    case 'y':
      return bytes.toString('base64');
    case 'b':
      return entry.value !== 0n;
    case 'i':
      return Number(BigInt.asIntN(64, entry.value));
    default:
      return decodeMessage(type, bytes, depth + 1);
  }
}
