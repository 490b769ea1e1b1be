import { isInteger } from '../schema/json.ts';

/** Keywords that bound a number. */
export const BOUNDS = ['maximum', 'minimum'] as const;

/** See {@link BOUNDS}. */
export type Bound = (typeof BOUNDS)[number];

/** The keyword that takes the bound itself out. */
export const EXCLUSIVE = { maximum: 'exclusiveMaximum', minimum: 'exclusiveMinimum' } as const;

const FIRST = -(2n ** 63n);
const PAST = 2n ** 63n;

/** Whether a server takes a number for an integer: what does not fit into 64 bits is a fraction. */
export function isInt64(value: number | bigint): boolean {
  return isInteger(value) && value >= FIRST && value < PAST;
}

/** Whether a number is beyond a bound. A server cuts the fraction off the bound of an integer (kube-openapi, MaximumNativeType), so 2 is not below an exclusive maximum of 2.5. Undefined: it depends on the server's processor. */
export function isBeyond(
  value: number | bigint,
  bound: number,
  keyword: Bound,
  exclusive: boolean,
): boolean | undefined {
  const whole = isInt64(value);
  const edge = whole ? Math.trunc(bound) : bound;
  if (whole && (edge < FIRST || edge >= PAST)) return undefined;
  if (keyword === 'maximum') return exclusive ? value >= edge : value > edge;
  return exclusive ? value <= edge : value < edge;
}

/** Whether a server takes a number for a multiple of a factor: of an integer for a factor without its fraction, which must be something; of a fraction if the quotient is nearly whole. */
export function isMultiple(value: number | bigint, factor: number): boolean {
  if (isInt64(value)) {
    const whole = Math.trunc(factor);
    return whole > 0 && (typeof value === 'number' ? value % whole === 0 : value % BigInt(whole) === 0n);
  }
  return isNearlyWhole(factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor);
}

/** Whether a server takes a number for an integer when it asks for its type. */
export function isWhole(value: number | bigint): boolean {
  return isInt64(value) || (typeof value === 'number' && isNearlyWhole(value));
}

/** IsFloat64AJSONInteger of go-openapi: a fraction that is hardly above an integer is one. */
function isNearlyWhole(value: number): boolean {
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  const below = Math.trunc(value);
  return below === value || (below > 0 && (value - below) / (value + below) < 1e-9);
}
