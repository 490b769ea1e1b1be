import { EvaluationError, ExpressionError } from './expression-errors.ts';
import { asBoolean, BOOL, type CheckedNode, combined, mayBeBoolean, spend } from './expression-node.ts';
import type { Call } from './expression-tree.ts';
import { type Bindings, bind, DYN, joined, matches, typeText } from './expression-types.ts';
import { accepts, type Overload } from './function-overloads.ts';

const typeList = (nodes: readonly CheckedNode[]): string => nodes.map(({ type }) => typeText(type)).join(', ');

function noOverload({ name, at }: Call, args: readonly CheckedNode[], target?: CheckedNode): ExpressionError {
  const applied = `${target === undefined ? '' : `${typeText(target.type)}.`}(${typeList(args)})`;
  return new ExpressionError(at, `found no matching overload for '${name}' applied to '${applied}'`);
}

/** Whether the type of a node decides which overload applies. */
function isKnown(node: CheckedNode): boolean {
  return !['dyn', 'parameter'].includes(node.type.kind);
}

/** A call of one of several overloads. If the types do not decide, the values do. */
export function overloadedCall(
  of: Call,
  overloads: readonly Overload[],
  target: CheckedNode | undefined,
  args: readonly CheckedNode[],
): CheckedNode {
  const applicable = overloads.flatMap((overload) => {
    if (overload.args.length !== args.length) return [];
    const bound: Bindings = new Map();
    if (overload.target !== undefined && target !== undefined && !matches(overload.target, target.type, bound)) {
      return [];
    }
    const fits = overload.args.every((wanted, at) => matches(wanted, args[at]?.type ?? DYN, bound));
    return fits ? [{ overload, result: bind(overload.result, bound) }] : [];
  });
  if (applicable.length === 0) throw noOverload(of, args, target);
  const candidates = applicable.map(({ overload }) => overload);
  const all = target === undefined ? args : [target, ...args];
  const decided = all.every((node) => isKnown(node) && node.type.kind !== 'null');
  const only = candidates.length === 1 && decided ? candidates[0] : undefined;
  return {
    type: applicable.map(({ result }) => result).reduce(joined),
    run: (activation) => {
      spend(activation);
      const on = target?.run(activation);
      const values = args.map((arg) => arg.run(activation));
      const overload = only ?? candidates.find((candidate) => accepts(candidate, on, values));
      if (overload === undefined) throw new EvaluationError('no such overload');
      return overload.run(...((on === undefined ? values : [on, ...values]) as unknown as readonly never[]));
    },
  };
}

/** `condition ? yes : no`. */
export function conditional(of: Call, args: readonly CheckedNode[]): CheckedNode {
  const [condition, yes, no] = args;
  if (condition === undefined || yes === undefined || no === undefined)
    throw new ExpressionError(of.at, 'Syntax error');
  const type = joined(yes.type, no.type);
  const differ = isKnown(yes) && isKnown(no) && type.kind === 'dyn';
  if (!mayBeBoolean(condition.type) || differ) throw noOverload(of, args);
  return {
    type,
    run: (activation) => (asBoolean(condition.run(activation)) ? yes : no).run(activation),
  };
}

/** `&&` or `||`. */
export function logical(of: Call, args: readonly CheckedNode[]): CheckedNode {
  for (const [at, { type }] of args.entries()) {
    if (mayBeBoolean(type)) continue;
    throw new ExpressionError(of.args[at]?.at ?? of.at, `expected type 'bool' but found '${typeText(type)}'`);
  }
  const decides = of.name === '_||_';
  return {
    type: BOOL,
    run: (activation) =>
      combined(
        args.map((arg) => () => arg.run(activation)),
        decides,
      ),
  };
}
