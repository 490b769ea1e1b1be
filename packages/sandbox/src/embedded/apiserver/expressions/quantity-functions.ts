import { parseQuantity, type Quantity } from '../resource-quantity.ts';
import { EvaluationError } from './expression-errors.ts';
import { MAX_INT, MIN_INT, Opaque } from './expression-values.ts';
import { type Functions, orderFunctions } from './function-overloads.ts';
import { order } from './value-comparison.ts';

/** Quantities are kept as multiples of 10⁻⁹. */
const UNIT = 1_000_000_000n;

const opaque = (quantity: Quantity): Opaque => new Opaque('quantity', quantity, `${quantity.nanos}`);
const quantityOf = ({ data }: Opaque): Quantity => data as Quantity;
const nanos = (a: Opaque): bigint => quantityOf(a).nanos;
/** A quantity that was written in thousandths is no integer, even if its value is one. */
const isWhole = (a: Opaque): boolean => quantityOf(a).whole;

function isInteger(a: Opaque): boolean {
  const value = nanos(a) / UNIT;
  return isWhole(a) && nanos(a) % UNIT === 0n && value <= MAX_INT && value >= MIN_INT;
}

function parsed(text: string): Opaque {
  const quantity = parseQuantity(text);
  if (quantity !== undefined) return opaque(quantity);
  throw new EvaluationError(
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
}

function sum(a: Opaque, more: bigint, whole: boolean): Opaque {
  return opaque({ nanos: nanos(a) + more, format: 'decimal', whole: isWhole(a) && whole });
}

/** Functions of resource quantities. */
export const QUANTITY_FUNCTIONS: Functions = {
  'isQuantity(string):bool': (text: string) => parseQuantity(text) !== undefined,
  'quantity(string):quantity': parsed,
  'sign(quantity):int': (a: Opaque) => BigInt(order(nanos(a), 0n)),
  'quantity.isInteger():bool': isInteger,
  'quantity.asInteger():int': (a: Opaque) => {
    if (!isInteger(a)) throw new EvaluationError('cannot convert value to integer');
    return nanos(a) / UNIT;
  },
  'quantity.asApproximateFloat():double': (a: Opaque) => Number(nanos(a)) / 1e9,
  'quantity.add(quantity):quantity': (a: Opaque, b: Opaque) => sum(a, nanos(b), isWhole(b)),
  'quantity.add(int):quantity': (a: Opaque, b: bigint) => sum(a, b * UNIT, true),
  'quantity.sub(quantity):quantity': (a: Opaque, b: Opaque) => sum(a, -nanos(b), isWhole(b)),
  'quantity.sub(int):quantity': (a: Opaque, b: bigint) => sum(a, -b * UNIT, true),
  ...orderFunctions('quantity', (a: Opaque, b: Opaque) => order(nanos(a), nanos(b))),
};
