import { Optional } from '@marcbachmann/cel-js';
import { type Add, fault, undecidable } from './fault.ts';
import { sortedBy } from './lists.ts';
import { entriesOf, equal } from './order.ts';

// What the library gives to a macro (lib/macros.js): trees, a checker of types, an evaluator, and the variables around.
interface Tree {
  readonly op: string;
  readonly args: unknown;
}
interface Checker {
  check(tree: Tree, scope: Scope): unknown;
  getType(name: string): unknown;
}
interface Evaluator {
  run(tree: Tree, scope: Scope): unknown;
}
interface Scope {
  forkWithVariable(name: string, type: unknown): Inner;
}
interface Inner extends Scope {
  reuse(around: Scope): Inner;
  setIterValue(value: unknown, evaluator: Evaluator): Inner;
}
interface Call {
  readonly args: readonly Tree[];
  readonly receiver: Tree;
}
interface Macro extends Call {
  scopes?: readonly Inner[];
}

/** Evaluates an argument of a macro with its variables set. */
type Run = (argument: Tree, ...values: readonly unknown[]) => unknown;

/** Adds one macro: its first arguments are `variables` names. */
function macro(
  add: Add,
  signature: string,
  variables: number,
  act: (over: unknown, run: Run, trees: readonly Tree[]) => unknown,
): void {
  const type = signature.slice(signature.lastIndexOf(' ') + 1);
  add(signature, ({ args, receiver }: Call) => {
    const names = args.slice(0, variables).map((tree) => {
      if (tree.op !== 'id' || typeof tree.args !== 'string') throw undecidable('a macro without a variable');
      return tree.args;
    });
    const trees = args.slice(variables);
    return {
      args,
      receiver,
      async: false,
      typeCheck(checker: Checker, self: Macro, scope: Scope): unknown {
        checker.check(receiver, scope);
        const scopes: Inner[] = [];
        for (const name of names) scopes.push((scopes.at(-1) ?? scope).forkWithVariable(name, checker.getType('dyn')));
        self.scopes = scopes;
        for (const tree of trees) checker.check(tree, scopes.at(-1) ?? scope);
        return checker.getType(type);
      },
      evaluate(evaluator: Evaluator, { scopes = [] }: Macro, scope: Scope): unknown {
        const over = evaluator.run(receiver, scope);
        return act(
          over,
          (tree, ...values) => {
            let inner = scope;
            for (const [at, made] of scopes.entries()) inner = made.reuse(inner).setIterValue(values[at], evaluator);
            return evaluator.run(tree, inner);
          },
          trees,
        );
      },
    };
  });
}

/** Macros that the library lacks: those with two variables (cel-go, ext/comprehensions.go), `sortBy` (ext/lists.go), and those of optional values (cel/library.go). */
export function addMacros(add: Add): void {
  macro(add, 'list.all(ast, ast, ast): bool', 2, (over, run, [test]) => !some(over, run, test, false));
  macro(add, 'list.exists(ast, ast, ast): bool', 2, (over, run, [test]) => some(over, run, test, true));
  macro(add, 'list.exists_one(ast, ast, ast): bool', 2, (over, run, [test]) => {
    return pairsOf(over).filter((pair) => isTrue(test, run, pair)).length === 1;
  });
  for (const filtered of [false, true]) {
    const parameters = Array(filtered ? 4 : 3)
      .fill('ast')
      .join(', ');
    const kept = (over: unknown, run: Run, trees: readonly Tree[]): (readonly [Pair, Tree])[] => {
      const [made, test] = filtered ? [trees[1], trees[0]] : [trees[0], undefined];
      if (made === undefined) return [];
      // One after the other: what is kept is made before the next is asked for, and its error comes first.
      return pairsOf(over).flatMap((pair) =>
        test === undefined || isTrue(test, run, pair) ? [[pair, made] as const] : [],
      );
    };
    macro(add, `list.transformList(${parameters}): list`, 2, (over, run, trees) =>
      kept(over, run, trees).map(([pair, made]) => run(made, ...pair)),
    );
    macro(add, `list.transformMap(${parameters}): map`, 2, (over, run, trees) => {
      return new Map(kept(over, run, trees).map(([pair, made]) => [pair[0], run(made, ...pair)]));
    });
    macro(add, `list.transformMapEntry(${parameters}): map`, 2, (over, run, trees) => {
      const all = new Map<unknown, unknown>();
      for (const [pair, made] of kept(over, run, trees))
        for (const [key, value] of entriesOf(run(made, ...pair)) ?? []) {
          if (all.has(key)) throw fault('a key that is there already');
          all.set(key, value);
        }
      return all;
    });
  }
  macro(add, 'list.sortBy(ast, ast): list', 1, (over, run, [by]) => {
    if (!Array.isArray(over) || by === undefined) throw undecidable('something else than a list');
    return sortedBy(
      over,
      over.map((item) => run(by, item)),
    );
  });
  macro(add, 'optional.optMap(ast, ast): optional', 1, (over, run, [made]) => {
    const held = optional(over);
    return made === undefined || !held.hasValue() ? Optional.none() : Optional.of(run(made, held.value()));
  });
  macro(add, 'optional.optFlatMap(ast, ast): optional', 1, (over, run, [made]) => {
    const held = optional(over);
    return made === undefined || !held.hasValue() ? Optional.none() : run(made, held.value());
  });
}

/** Functions of optional values that the library lacks. */
export function addOptionals(add: Add): void {
  add('optional == optional', (a: Optional, b: Optional) =>
    a.hasValue() && b.hasValue() ? equal(a.value(), b.value()) : a.hasValue() === b.hasValue(),
  );
  add('OptionalNamespace.ofNonZeroValue(dyn): optional', (_space: unknown, value: unknown) =>
    isZero(value) ? Optional.none() : Optional.of(value),
  );
  add('list.first(): optional', (list: readonly unknown[]) => Optional.of(list[0]));
  add('list.last(): optional', (list: readonly unknown[]) => Optional.of(list.at(-1)));
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return [null, 0n, 0, '', false].includes(value as null) || entriesOf(value)?.size === 0;
}

type Pair = readonly [unknown, unknown];

/** Of a list its positions and items, of a map its keys and values. */
function pairsOf(over: unknown): readonly Pair[] {
  if (Array.isArray(over)) return over.map((item, at) => [BigInt(at), item]);
  const entries = entriesOf(over);
  if (entries === undefined) throw undecidable('something else than a list or a map');
  return [...entries];
}

/** An error counts only where no other item decides. */
function some(over: unknown, run: Run, test: Tree | undefined, sought: boolean): boolean {
  let error: unknown;
  for (const pair of pairsOf(over)) {
    try {
      if (isTrue(test, run, pair) === sought) return true;
    } catch (thrown) {
      error ??= thrown;
    }
  }
  if (error !== undefined) throw error;
  return false;
}

function isTrue(test: Tree | undefined, run: Run, pair: Pair): boolean {
  const answer = test === undefined ? undefined : run(test, ...pair);
  if (typeof answer !== 'boolean') throw undecidable('a test that is neither true nor false');
  return answer;
}

function optional(value: unknown): Optional {
  if (!(value instanceof Optional)) throw undecidable('something else than an optional value');
  return value;
}
