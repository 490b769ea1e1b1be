import { goDuration } from '@drydock/api/duration';
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { isDay } from '../text/times.ts';
import { Cidr, Ip } from './addresses.ts';
import { type Add, decided, fault, undecidable } from './fault.ts';

const MOST = 2n ** 63n - 1n;
const LEAST = -(2n ** 63n);

/** Conversions between types as a server makes them (cel-go, common/types); what cannot be converted is an error there, and mostly something else in the library. */
export function addConversions(add: Add): void {
  add('our_int(dyn): int', toInt);
  add('our_double(dyn): double', toDouble);
  add('our_string(dyn): string', (value: unknown) => decided(textOf(value)));
  add('our_duration(dyn): google.protobuf.Duration', toDuration);
  add('our_timestamp(dyn): google.protobuf.Timestamp', toMoment);
}

function toInt(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') {
    if (!(value > -(2 ** 63) && value < 2 ** 63)) throw fault('a number that is no integer of 64 bits');
    return BigInt(Math.trunc(value));
  }
  if (typeof value === 'string') {
    if (!/^[+-]?\d+$/.test(value)) throw fault('a text that is no integer');
    const digits = value.replace(/^[+-]?0*(?=\d)/, '');
    if (digits.length > 19) throw fault('an integer of more than 64 bits');
    const whole = value.startsWith('-') ? -BigInt(digits) : BigInt(digits);
    if (whole > MOST || whole < LEAST) throw fault('an integer of more than 64 bits');
    return whole;
  }
  if (value instanceof Date) return BigInt(Math.floor(value.getTime() / 1000));
  if (value instanceof Duration) return value.seconds * 1_000_000_000n + BigInt(value.nanos);
  throw undecidable('a conversion that is not made here');
}

function toDouble(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'string') throw undecidable('a conversion that is not made here');
  // strconv.ParseFloat: underscores stand between digits.
  const plain = value.replaceAll(/(?<=\d)_(?=\d)/g, '');
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(plain)) {
    if (!Number.isFinite(Number(plain))) throw fault('a number that is too large');
    return Number(plain);
  }
  if (/^[+-]?inf(?:inity)?$/i.test(value))
    return value.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (/^nan$/i.test(value)) return Number.NaN;
  if (/^[+-]?0[xX].*[pP]/.test(value)) throw undecidable('a number in another notation');
  throw fault('a text that is no number');
}

function toDuration(value: unknown): Duration {
  if (value instanceof Duration) return value;
  if (typeof value !== 'string') throw undecidable('a conversion that is not made here');
  const nanos = goDuration(value);
  if (nanos === undefined) throw fault('a text that is no duration');
  return new Duration(nanos / 1_000_000_000n, Number(nanos % 1_000_000_000n));
}

function toMoment(value: unknown): Date {
  if (value instanceof Date) return value;
  if (typeof value === 'bigint') {
    if (value < -62_135_596_800n || value > 253_402_300_799n) throw fault('a moment outside of four-digit years');
    return new Date(Number(value) * 1000);
  }
  if (typeof value !== 'string') throw undecidable('a conversion that is not made here');
  // time.RFC3339 of Go.
  const found = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})$/.exec(value);
  if (found === null) throw fault('a text that is no moment');
  const [, day = '', time = '', fraction = '', zone = ''] = found;
  const [hour = '', minute = '', second = ''] = time.split(':');
  if (!isDay(day) || hour > '23' || minute > '59' || second > '59') throw fault('a text that is no moment');
  if (zone !== 'Z' && (zone.slice(1, 3) > '23' || zone.slice(4) > '59')) throw undecidable('an odd zone');
  if (/[1-9]/.test(fraction.slice(3)) || day.startsWith('0000'))
    throw undecidable('a moment that milliseconds do not tell exactly');
  return new Date(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
}

/** A value as `string` writes it; undefined: not known here. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || typeof value === 'boolean') return `${value}`;
  if (typeof value === 'number') return doubleText(value);
  if (value instanceof Date)
    return value.toISOString().replace(/\.(\d*?)0+Z$/, (_all, kept: string) => (kept === '' ? 'Z' : `.${kept}Z`));
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Uint8Array) {
    const text = Buffer.from(value).toString();
    if (!Buffer.from(text).equals(Buffer.from(value))) throw fault('bytes that are no text');
    return text;
  }
  return value instanceof Ip || value instanceof Cidr ? value.text : undefined;
}

/** strconv.FormatFloat of Go with 'g' and the shortest precision. */
function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const [mantissa = '', power = ''] = value.toExponential().split('e');
  const exponent = Number(power);
  const digits = mantissa.replace(/[-.]/g, '').length;
  if (exponent < -4 || exponent >= 6)
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${`${Math.abs(exponent)}`.padStart(2, '0')}`;
  return value.toFixed(Math.max(0, digits - 1 - exponent));
}

/** Seconds with their fraction. */
function durationText(value: Duration): string {
  const nanos = value.seconds * 1_000_000_000n + BigInt(value.nanos);
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = `${size % 1_000_000_000n}`.padStart(9, '0').replace(/0+$/, '');
  return `${nanos < 0n ? '-' : ''}${size / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}s`;
}
