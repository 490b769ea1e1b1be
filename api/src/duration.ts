/** Nanoseconds of the units of Go's durations (time.ParseDuration). */
const GO_UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const INT64 = 2n ** 63n - 1n;

/** The nanoseconds of a duration as Go writes it, such as `1m30s`, `.5s` or `100us` (time.ParseDuration); undefined for anything else. */
export function goDuration(text: string): bigint | undefined {
  if (/^[+-]?0$/.test(text)) return 0n;
  if (!/^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return undefined;
  let sum = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(/(\d*)(?:\.(\d*))?([a-zµμ]+)/g)) {
    const of = GO_UNITS[unit] ?? 0n;
    if (whole.replace(/^0+/, '').length > 19) return undefined;
    sum += BigInt(whole === '' ? 0 : whole) * of + fractionOf(fraction, of);
  }
  if (sum > INT64) return undefined;
  return text.startsWith('-') ? -sum : sum;
}

/** As Go computes it, in floating point: a third of an hour is twenty minutes. Digits that do not fit into 63 bits are left out. */
function fractionOf(digits: string, unit: bigint): bigint {
  let [read, scale] = [0n, 1];
  for (const digit of digits) {
    const next = read * 10n + BigInt(digit);
    if (next > INT64) break;
    read = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(read) * (Number(unit) / scale)));
}

/** The same in ms, for durations that cannot be negative. */
export function durationMs(text: string): number | undefined {
  const nanos = goDuration(text);
  return nanos === undefined || nanos < 0n ? undefined : Number(nanos) / 1e6;
}
