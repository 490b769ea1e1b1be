import { CostLimitError, EvaluationError } from './expression-errors.ts';
import type { Expression } from './expression-tree.ts';
import { matches, type Type } from './expression-types.ts';
import type { Value } from './expression-values.ts';

/** The types of variables by name. */
export type Declarations = ReadonlyMap<string, Type>;

/** The values of variables during one evaluation, and the steps that it may still take. */
export interface Activation {
  readonly values: ReadonlyMap<string, Value>;
  readonly cost: { left: number };
}

/** A type-checked expression. `run` throws `EvaluationError`. */
export interface CheckedNode {
  readonly type: Type;
  readonly run: (activation: Activation) => Value;
}

/** Type-checks an expression. Throws `ExpressionError`. */
export type Compile = (of: Expression, declarations: Declarations) => CheckedNode;

/** An activation with more variables. */
export function withVariables(
  { values, cost }: Activation,
  more: readonly (readonly [name: string, value: Value])[],
): Activation {
  return { values: new Map([...values, ...more]), cost };
}

/** Counts one step. Throws `CostLimitError`. */
export function spend({ cost }: Activation): void {
  cost.left -= 1;
  if (cost.left < 0) throw new CostLimitError('operation cancelled: actual cost limit exceeded');
}

export const BOOL: Type = { kind: 'bool' };

/** Whether the values of a type can be booleans. */
export function mayBeBoolean(type: Type): boolean {
  return matches(BOOL, type, new Map());
}

/** A boolean value. Throws for others. */
export function asBoolean(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  throw new EvaluationError('no such overload');
}

/** `||` (if true decides) or `&&` of operands, left to right. A deciding operand absorbs the errors of the others. */
export function combined(operands: Iterable<() => Value>, decides: boolean): boolean {
  let failed: EvaluationError | undefined;
  for (const operand of operands) {
    try {
      if (asBoolean(operand()) === decides) return decides;
    } catch (error) {
      if (!(error instanceof EvaluationError) || error instanceof CostLimitError) throw error;
      failed ??= error;
    }
  }
  if (failed !== undefined) throw failed;
  return !decides;
}
