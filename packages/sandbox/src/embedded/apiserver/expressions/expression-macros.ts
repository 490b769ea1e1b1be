import { ExpressionError } from './expression-errors.ts';
import type { Expression, Macro } from './expression-tree.ts';

interface MacroForm {
  readonly macro: Macro;
  /** How many arguments at the front are names of variables. */
  readonly variables: 1 | 2;
  /** Whether a filter precedes the body. */
  readonly filter: boolean;
}

const form = (macro: Macro, variables: 1 | 2, filter = false): MacroForm => ({ macro, variables, filter });

/** The forms of macros by name and number of arguments. */
const FORMS: Readonly<Record<string, MacroForm>> = {
  'all/2': form('all', 1),
  'all/3': form('all', 2),
  'exists/2': form('exists', 1),
  'exists/3': form('exists', 2),
  'exists_one/2': form('exists_one', 1),
  'exists_one/3': form('exists_one', 2),
  'existsOne/2': form('exists_one', 1),
  'existsOne/3': form('exists_one', 2),
  'filter/2': form('filter', 1),
  'map/2': form('map', 1),
  'map/3': form('map', 1, true),
  'optMap/2': form('optMap', 1),
  'optFlatMap/2': form('optFlatMap', 1),
  'transformList/3': form('transformList', 2),
  'transformList/4': form('transformList', 2, true),
  'transformMap/3': form('transformMap', 2),
  'transformMap/4': form('transformMap', 2, true),
  'transformMapEntry/3': form('transformMapEntry', 2),
  'transformMapEntry/4': form('transformMapEntry', 2, true),
};

/** Expands the call of a macro at an offset; undefined for other calls. */
export function expandMacro(
  target: Expression | undefined,
  name: string,
  args: readonly Expression[],
  at: number,
): Expression | undefined {
  const [first, second, third] = args;
  if (target === undefined) {
    if (name !== 'has' || args.length !== 1 || first === undefined) return undefined;
    if (first.kind === 'select' && !first.optional) return { ...first, test: true };
    throw new ExpressionError(first.at, 'invalid argument to has() macro');
  }
  if (name === 'bind' && target.kind === 'identifier' && target.name === 'cel' && args.length === 3) {
    if (second === undefined || third === undefined) return undefined;
    return { kind: 'bind', at, name: variable(first), value: second, body: third };
  }
  const body = args.at(-1);
  const { macro, variables, filter } = FORMS[`${name}/${args.length}`] ?? {};
  if (body === undefined || macro === undefined) return undefined;
  return {
    ...{ kind: 'comprehension', at, macro, range: target, body },
    variables: args.slice(0, variables).map(variable),
    filter: filter === true ? args.at(-2) : undefined,
  };
}

function variable(of: Expression | undefined): string {
  if (of?.kind === 'identifier') return of.name;
  throw new ExpressionError(of?.at ?? 0, 'argument must be a simple name');
}
