import { compilePattern, PatternError } from '@drydock/kube/testing/api-server';
import { conditional, logical, overloadedCall } from './expression-calls.ts';
import { comprehension } from './expression-comprehensions.ts';
import { EvaluationError, ExpressionError, messageWithSource } from './expression-errors.ts';
import { fieldsOf } from './expression-fields.ts';
import { NAMESPACES, overloadsOf } from './expression-functions.ts';
import { BOOL, type CheckedNode, type Declarations, withVariables } from './expression-node.ts';
import { parseExpression } from './expression-parser.ts';
import type { Bind, Call, Expression, Identifier, ListLiteral, MapLiteral, Select } from './expression-tree.ts';
import { DYN, joined, type Type, typeOfSchema, typeText } from './expression-types.ts';
import { Dictionary, List, Optional, TypeValue, Unsigned, type Value } from './expression-values.ts';

/** A type-checked expression. `run` throws `EvaluationError`. */
export interface Compiled {
  readonly type: Type;
  run(values: Readonly<Record<string, Value>>): Value;
}

/** Steps of one evaluation: about what the server's limit per call allows. */
const COST_LIMIT = 1_000_000;

/** Parses and type-checks an expression. Throws `ExpressionError` with the server's message and the line. */
export function compileExpression(text: string, variables: Readonly<Record<string, Type>>): Compiled {
  try {
    const { type, run } = compile(parseExpression(text), new Map(Object.entries(variables)));
    return {
      type,
      run: (values) => run({ values: new Map(Object.entries(values)), cost: { left: COST_LIMIT } }),
    };
  } catch (error) {
    if (error instanceof ExpressionError) throw new ExpressionError(error.at, messageWithSource(text, error));
    throw error;
  }
}

function compile(of: Expression, declarations: Declarations): CheckedNode {
  switch (of.kind) {
    case 'constant': {
      const value = of.type === 'uint' ? new Unsigned(of.value as bigint) : of.value;
      return { type: { kind: of.type }, run: () => value };
    }
    case 'identifier':
      return identifier(of, declarations);
    case 'select':
      return select(of, declarations);
    case 'call':
      return call(of, declarations);
    case 'list':
      return list(of, declarations);
    case 'map':
      return map(of, declarations);
    case 'object':
      throw undeclared(of.at, of.name);
    case 'bind':
      return bindVariable(of, declarations);
    default:
      return comprehension(of, declarations, compile);
  }
}

function undeclared(at: number, name: string): ExpressionError {
  return new ExpressionError(at, `undeclared reference to '${name}' (in container '')`);
}

const TYPE_NAMES: ReadonlySet<string> = new Set([
  ...['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type'],
]);

function identifier({ name, at }: Identifier, declarations: Declarations): CheckedNode {
  const type = declarations.get(name);
  if (type === undefined) {
    if (!TYPE_NAMES.has(name)) throw undeclared(at, name);
    return { type: { kind: 'type' }, run: () => new TypeValue(name) };
  }
  return {
    type,
    run: ({ values }) => {
      const value = values.get(name);
      if (value === undefined) throw new EvaluationError(`no such attribute(s): ${name}`);
      return value;
    },
  };
}

function bindVariable({ name, value: of, body: in_ }: Bind, declarations: Declarations): CheckedNode {
  const value = compile(of, declarations);
  const body = compile(in_, new Map([...declarations, [name, value.type]]));
  return {
    type: body.type,
    run: (activation) => body.run(withVariables(activation, [[name, value.run(activation)]])),
  };
}

function select({ of, field, test, optional, at }: Select, declarations: Declarations): CheckedNode {
  // A variable whose name contains a dot takes precedence over a field.
  const dotted = of.kind === 'identifier' ? `${of.name}.${field}` : '';
  if (declarations.has(dotted) && !test && !optional) {
    return identifier({ kind: 'identifier', name: dotted, at }, declarations);
  }
  const operand = compile(of, declarations);
  const type = fieldType(operand.type.kind === 'optional' ? operand.type.of : operand.type, field, at);
  const read = (value: Value): Value | undefined => {
    if (value instanceof Optional) return value.value === undefined ? undefined : read(value.value);
    if (value instanceof Dictionary) return value.get(field);
    throw new EvaluationError(`no such key: ${field}`);
  };
  if (test) return { type: BOOL, run: (activation) => read(operand.run(activation)) !== undefined };
  if (optional || operand.type.kind === 'optional') {
    return { type: { kind: 'optional', of: type }, run: (activation) => new Optional(read(operand.run(activation))) };
  }
  return {
    type,
    run: (activation) => {
      const value = read(operand.run(activation));
      if (value === undefined) throw new EvaluationError(`no such key: ${field}`);
      return value;
    },
  };
}

function fieldType(of: Type, field: string, at: number): Type {
  switch (of.kind) {
    case 'dyn':
    case 'parameter':
      return DYN;
    case 'map':
      return of.of;
    case 'object': {
      const found = fieldsOf(of.schema).get(field);
      if (found === undefined) throw new ExpressionError(at, `undefined field '${field}'`);
      return typeOfSchema(found.schema, `${of.name}.${field}`);
    }
    default: {
      const name = typeText(of);
      // Kubernetes' own types are objects without fields.
      if (name.startsWith('kubernetes.')) throw new ExpressionError(at, `unexpected failed resolution of '${name}'`);
      throw new ExpressionError(at, `type '${name}' does not support field selection`);
    }
  }
}

const commonType = (types: readonly Type[]): Type => (types.length === 0 ? DYN : types.reduce(joined));

/** The type of an element of a literal; `?element` is unwrapped. */
const elementType = (type: Type, optional: boolean): Type => (optional && type.kind === 'optional' ? type.of : type);

/** An element of a literal; `?element` is left out if it has no value. */
function present(value: Value, optional: boolean): readonly Value[] {
  if (!optional) return [value];
  return value instanceof Optional && value.value !== undefined ? [value.value] : [];
}

function list(of: ListLiteral, declarations: Declarations): CheckedNode {
  const items = of.items.map(({ value, optional }) => ({ node: compile(value, declarations), optional }));
  return {
    type: { kind: 'list', of: commonType(items.map(({ node, optional }) => elementType(node.type, optional))) },
    run: (activation) => List.of(items.flatMap(({ node, optional }) => present(node.run(activation), optional))),
  };
}

function map(of: MapLiteral, declarations: Declarations): CheckedNode {
  const entries = of.entries.map(({ key, value, optional }) => ({
    key: compile(key, declarations),
    value: compile(value, declarations),
    optional,
  }));
  return {
    type: {
      kind: 'map',
      key: commonType(entries.map(({ key }) => key.type)),
      of: commonType(entries.map(({ value, optional }) => elementType(value.type, optional))),
    },
    run: (activation) =>
      Dictionary.of(
        entries.flatMap(({ key, value, optional }) =>
          present(value.run(activation), optional).map((one) => [key.run(activation), one] as const),
        ),
      ),
  };
}

/** Functions whose pattern is checked if it is a constant. */
const PATTERN_FUNCTIONS = ['matches', 'find', 'findAll'];

function call(of: Call, declarations: Declarations): CheckedNode {
  const { name, at } = of;
  if (name === '_?_:_' || name === '_&&_' || name === '_||_') {
    const operands = of.args.map((arg) => compile(arg, declarations));
    return name === '_?_:_' ? conditional(of, operands) : logical(of, operands);
  }
  const namespace = namespaceOf(of, declarations);
  const target = namespace === undefined ? of.target : undefined;
  const overloads = overloadsOf(namespace === undefined ? name : `${namespace}::${name}`)?.filter(
    (overload) => (overload.target === undefined) === (target === undefined),
  );
  if (overloads === undefined || overloads.length === 0) {
    throw undeclared(at, namespace === undefined ? name : `${namespace}.${name}`);
  }
  const receiver = target === undefined ? undefined : compile(target, declarations);
  const args = of.args.map((arg) => compile(arg, declarations));
  if (PATTERN_FUNCTIONS.includes(name)) checkPattern(of.args.at(target === undefined ? 1 : 0));
  return overloadedCall(of, overloads, receiver, args);
}

/** `sets` in `sets.contains(a, b)`; a variable of that name takes precedence. */
function namespaceOf({ target }: Call, declarations: Declarations): string | undefined {
  if (target?.kind !== 'identifier' || declarations.has(target.name)) return undefined;
  return NAMESPACES.has(target.name) ? target.name : undefined;
}

function checkPattern(of: Expression | undefined): void {
  if (of?.kind !== 'constant' || typeof of.value !== 'string') return;
  if (compilePattern(of.value) instanceof PatternError) throw new ExpressionError(of.at, 'invalid matches argument');
}
