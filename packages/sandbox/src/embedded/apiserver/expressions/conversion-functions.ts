import { conversionError, EvaluationError } from './expression-errors.ts';
import {
  type Duration,
  NANOS_PER_SECOND,
  parseDuration,
  parseTimestamp,
  type Timestamp,
  timestampAt,
} from './expression-times.ts';
import { display, int, MAX_INT, MIN_INT, TypeValue, typeName, Unsigned, type Value } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';

const IDENTITIES: Functions = Object.fromEntries(
  ['int', 'uint', 'double', 'string', 'bytes', 'bool', 'timestamp', 'duration'].map((type) => [
    `${type}(${type}):${type}`,
    (a: Value) => a,
  ]),
);

const TO_STRING: Functions = Object.fromEntries(
  ['int', 'uint', 'bool', 'bytes', 'timestamp', 'duration', 'ip', 'cidr', 'quantity', 'url', 'semver'].map((type) => [
    `string(${type}):string`,
    display,
  ]),
);

/** A double as Go prints it: with an exponent from a million on, and below a ten-thousandth. */
function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/(?<=e[-+])\d$/, '0$&');
}

function parseInt64(text: string): bigint {
  const value = /^[-+]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
  if (value === undefined || value > MAX_INT || value < MIN_INT) throw conversionError('string', 'int');
  return value;
}

function parseDouble(text: string): number {
  const sign = text.startsWith('-') ? -1 : 1;
  if (/^[-+]?(?:inf|infinity)$/i.test(text)) return sign * Number.POSITIVE_INFINITY;
  if (/^nan$/i.test(text)) return Number.NaN;
  if (!/^[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) throw conversionError('string', 'double');
  return Number(text.replaceAll('_', ''));
}

/** Conversions between types. */
export const CONVERSIONS: Functions = {
  ...IDENTITIES,
  ...TO_STRING,
  'string(double):string': doubleText,
  'int(uint):int': (a: Unsigned) => int(a.value),
  'int(double):int': (a: number) => {
    if (!Number.isFinite(a) || Math.abs(a) >= 2 ** 63) throw new EvaluationError('integer overflow');
    return BigInt(Math.trunc(a));
  },
  'int(string):int': parseInt64,
  'int(timestamp):int': (a: Timestamp) => a.nanos / NANOS_PER_SECOND,
  'int(duration):int': (a: Duration) => a.nanos,
  'uint(int):uint': (a: bigint) => new Unsigned(a),
  'uint(double):uint': (a: number) => new Unsigned(Number.isFinite(a) ? BigInt(Math.trunc(a)) : -1n),
  'uint(string):uint': (a: string) => {
    if (!/^\d+$/.test(a)) throw conversionError('string', 'uint');
    return new Unsigned(BigInt(a));
  },
  'double(int):double': (a: bigint) => Number(a),
  'double(uint):double': (a: Unsigned) => Number(a.value),
  'double(string):double': parseDouble,
  'bytes(string):bytes': (a: string) => new Uint8Array(Buffer.from(a, 'utf8')),
  'bool(string):bool': (a: string) => {
    if (['1', 't', 'true', 'TRUE', 'True', 'T'].includes(a)) return true;
    if (['0', 'f', 'false', 'FALSE', 'False', 'F'].includes(a)) return false;
    throw conversionError('string', 'bool');
  },
  'timestamp(string):timestamp': parseTimestamp,
  'timestamp(int):timestamp': (a: bigint) => timestampAt(a * NANOS_PER_SECOND),
  'duration(string):duration': parseDuration,
  'dyn(A):dyn': (a: Value) => a,
  'type(A):type': (a: Value) => new TypeValue(typeName(a)),
};
