// Kubernetes' quantities: decimal numbers with a suffix, written in one canonical form.

/** A suffix or a point alone is zero, as in the server's parser. */
const PARTS = /^([+-]?)(\d*\.?\d*)(?:(Ki|Mi|Gi|Ti|Pi|Ei)|(n|u|m|k|M|G|T|P|E)|[eE]([+-]?\d+))?$/;
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/** A quantity as a multiple of 10⁻⁹, rounded up, as the server keeps it. */
export interface Quantity {
  readonly nanos: bigint;
  readonly format: 'binary' | 'decimal' | 'exponent';
  /** It was written without parts of one. */
  readonly whole: boolean;
}

const NANO = 1_000_000_000n;

/** Parses a quantity; undefined for what is none. */
export function parseQuantity(text: string): Quantity | undefined {
  const [, sign, number, binary, decimal = '', exponent] = PARTS.exec(text) ?? [];
  if (number === undefined || text === '' || text === sign) return undefined;
  const [whole = '', fraction = ''] = number.split('.');
  if (fraction.length > 60 || whole.length > 60) return undefined;
  let numerator = BigInt(whole + fraction || '0');
  let scale = -fraction.length;
  if (binary !== undefined) numerator *= 1024n ** BigInt(BINARY.indexOf(binary));
  else scale += exponent === undefined ? (DECIMAL[decimal] ?? 0) : Math.max(-40, Math.min(40, Number(exponent)));
  const shift = scale + 9;
  const nanos = shift >= 0 ? numerator * 10n ** BigInt(shift) : ceiling(numerator, 10n ** BigInt(-shift));
  return {
    nanos: sign === '-' ? -nanos : nanos,
    format: binary !== undefined ? 'binary' : exponent !== undefined ? 'exponent' : 'decimal',
    whole: binary !== undefined || scale >= 0,
  };
}

function ceiling(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** The form in which the server writes a quantity; undefined for what is none. */
export function canonicalQuantity(text: string): string | undefined {
  const quantity = parseQuantity(text);
  return quantity === undefined ? undefined : quantityText(quantity);
}

/** The canonical form: no fraction, and the largest suffix that allows it. */
export function quantityText({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0';
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  if (format === 'binary' && size % NANO === 0n && size >= 1024n * NANO) {
    let whole = size / NANO;
    let at = 0;
    while (whole % 1024n === 0n && at < BINARY.length - 1) {
      whole /= 1024n;
      at += 1;
    }
    return `${sign}${whole}${BINARY[at]}`;
  }
  let mantissa = size;
  let power = -9;
  while (mantissa % 1000n === 0n && power < 18) {
    mantissa /= 1000n;
    power += 3;
  }
  if (format === 'exponent') return `${sign}${mantissa}${power === 0 ? '' : `e${power}`}`;
  const suffix = Object.entries(DECIMAL).find(([, of]) => of === power)?.[0] ?? '';
  return `${sign}${mantissa}${suffix}`;
}
