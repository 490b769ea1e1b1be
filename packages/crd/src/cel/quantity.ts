import { type Add, fault, undecidable } from './fault.ts';

/**
 * An amount as k8s.io/apimachinery has it (pkg/api/resource): an integer of 64 bits with a power of ten, or, where that does not hold it, a number of any size, which is never an integer for a rule. Both count in billionths
 * here; `scale` is that of the first.
 */
export class Quantity {
  readonly nanos: bigint;
  /** Undefined: a number of any size. */
  readonly scale: number | undefined;

  constructor(nanos: bigint, scale: number | undefined) {
    this.nanos = nanos;
    this.scale = scale;
  }
}

const NANO = 9;
const ONE = 10n ** 9n;
const MOST = 2n ** 63n - 1n;

/** k8s.io/apiserver, pkg/cel/library/quantity.go. */
export function addQuantities(add: Add): void {
  add('quantity(string): Quantity', (text: string) => {
    const read = readQuantity(text);
    if (read === undefined) throw fault('a text that is no quantity');
    return read;
  });
  add('isQuantity(string): bool', (text: string) => readQuantity(text) !== undefined);
  add('Quantity == Quantity', (a: Quantity, b: Quantity) => a.nanos === b.nanos);
  add('sign(Quantity): int', sign);
  add('Quantity.sign(): int', sign);
  add('Quantity.isGreaterThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos > b.nanos);
  add('Quantity.isLessThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos < b.nanos);
  add('Quantity.compareTo(Quantity): int', (a: Quantity, b: Quantity) =>
    a.nanos === b.nanos ? 0n : a.nanos < b.nanos ? -1n : 1n,
  );
  add('Quantity.isInteger(): bool', (one: Quantity) => wholeOf(one) !== undefined);
  add('Quantity.asInteger(): int', (one: Quantity) => {
    const whole = wholeOf(one);
    if (whole === undefined) throw fault('a quantity that is no integer');
    return whole;
  });
  add('Quantity.asApproximateFloat(): double', ({ nanos }: Quantity) => Number(`${nanos}e-9`));
  add('Quantity.add(Quantity): Quantity', sum);
  add('Quantity.add(int): Quantity', (one: Quantity, more: bigint) => sum(one, new Quantity(more * ONE, 0)));
  add('Quantity.sub(Quantity): Quantity', (one: Quantity, less: Quantity) =>
    sum(one, new Quantity(-less.nanos, less.scale)),
  );
  add('Quantity.sub(int): Quantity', (one: Quantity, less: bigint) => sum(one, new Quantity(-less * ONE, 0)));
}

function sign({ nanos }: Quantity): bigint {
  return nanos === 0n ? 0n : nanos < 0n ? -1n : 1n;
}

function wholeOf({ nanos, scale }: Quantity): bigint | undefined {
  if (scale === undefined || scale < 0) return undefined;
  const whole = nanos / ONE;
  return isInt64(whole) ? whole : undefined;
}

function sum(a: Quantity, b: Quantity): Quantity {
  const nanos = a.nanos + b.nanos;
  if (a.scale === undefined || b.scale === undefined) return new Quantity(nanos, undefined);
  if (a.nanos === 0n || b.nanos === 0n) return new Quantity(nanos, a.nanos === 0n ? b.scale : a.scale);
  const scale = Math.min(a.scale, b.scale);
  const unit = 10n ** BigInt(scale + NANO);
  return new Quantity(nanos, isInt64(nanos / unit) ? scale : undefined);
}

function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** resource.ParseQuantity; undefined: it is none. */
function readQuantity(text: string): Quantity | undefined {
  const found = /^([+-]?)(\d*)(?:\.(\d*))?(?:(n|u|m|k|M|G|T|P|E|[KMGTPE]i|)|[eE]([+-]?\d+))$/.exec(text);
  if (found === null || text === '') return undefined;
  const [, minus = '', digits = '', fraction = '', suffix = '', power] = found;
  const number = digits.replace(/^0+/, '');
  const shift = BINARY[suffix];
  const exponent = power === undefined ? (DECIMAL[suffix] ?? 0) : Number(power);
  if (Math.abs(exponent) > 1000 || digits.length + fraction.length > 1000) throw undecidable('an odd quantity');
  const mantissa = BigInt(`0${number}${fraction}`) << BigInt(shift ?? 0);
  const scale = (shift === undefined ? exponent : 0) - fraction.length;
  const size = (number === '' ? 1 : number.length) + fraction.length;
  const room = shift === undefined ? 18 - size : fraction === '' ? 15 - size - Math.trunc((shift * 3) / 10) - 1 : -1;
  const simple = room >= 0 && scale >= -NANO && isInt64(mantissa);
  let nanos = scaled(mantissa, scale + NANO);
  if (!simple && shift !== undefined && nanos > MOST * ONE) nanos = MOST * ONE;
  return new Quantity(minus === '-' ? -nanos : nanos, simple ? scale : undefined);
}

/** Rounded up to what can be told. */
function scaled(value: bigint, power: number): bigint {
  if (power >= 0) return value * 10n ** BigInt(power);
  const unit = 10n ** BigInt(-power);
  return (value + unit - 1n) / unit;
}
