import { conversionError, EvaluationError } from './expression-errors.ts';

export const NANOS_PER_SECOND: bigint = 1_000_000_000n;

/** A point in time in nanoseconds since 1970. */
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

/** The first and the last second of the years 1 to 9999. */
const MIN_SECOND = -62_135_596_800n;
const MAX_SECOND = 253_402_300_799n;

/** The result of a computation as a timestamp, if its year has up to four digits. */
export function timestampAt(nanos: bigint): Timestamp {
  const second = nanos / NANOS_PER_SECOND;
  if (second < MIN_SECOND || second > MAX_SECOND) throw new EvaluationError('timestamp overflow');
  return new Timestamp(nanos);
}

/** Parses RFC 3339. */
export function parseTimestamp(text: string): Timestamp {
  const [, base, fraction = ''] =
    /^(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2})(\.\d+)?(?:[Zz]|[-+]\d{2}:\d{2})$/.exec(text) ?? [];
  const millis = base === undefined ? Number.NaN : Date.parse(text.replace(/\.\d+/, '').toUpperCase());
  // Date.parse accepts hour 24 and 30 February.
  const hourIsValid = base !== undefined && Number(base.slice(11, 13)) < 24;
  const [year = 0, month = 1, day = 1] = (base ?? '').slice(0, 10).split('-').map(Number);
  if (!hourIsValid || new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day || Number.isNaN(millis))
    throw conversionError('string', 'google.protobuf.Timestamp');
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
    throw conversionError('string', 'google.protobuf.Duration');
  }
  let nanos = 0n;
  for (const [, digits = '0', fraction = '', unit = 's'] of parts) {
    const size = UNITS[unit] ?? 0n;
    nanos += BigInt(digits) * size;
    if (fraction !== '') nanos += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  return new Duration(sign === '-' ? -nanos : nanos);
}

const fractionText = (nanos: bigint): string =>
  nanos === 0n ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;

/** RFC 3339 without trailing zeros in the fraction. */
export function timestampText({ nanos }: Timestamp): string {
  const fraction = ((nanos % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  const seconds = new Date(Number((nanos - fraction) / 1_000_000n)).toISOString().slice(0, 19);
  return `${seconds}${fractionText(fraction)}Z`;
}

/** Seconds, as protobuf writes durations. */
export function durationText({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos;
  return `${nanos < 0n ? '-' : ''}${size / NANOS_PER_SECOND}${fractionText(size % NANOS_PER_SECOND)}s`;
}
