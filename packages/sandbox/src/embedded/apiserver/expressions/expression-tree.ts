/** The syntax tree of an expression. `at` is the node's offset in the text; errors point there. */
export type Expression =
  | Constant
  | Identifier
  | Select
  | Call
  | ListLiteral
  | MapLiteral
  | ObjectLiteral
  | Comprehension
  | Bind;

interface Node {
  readonly at: number;
}

export type ConstantType = 'string' | 'double' | 'int' | 'uint' | 'bool' | 'null' | 'bytes';

export interface Constant extends Node {
  readonly kind: 'constant';
  readonly value: string | number | bigint | boolean | null | Uint8Array;
  readonly type: ConstantType;
}

export interface Identifier extends Node {
  readonly kind: 'identifier';
  readonly name: string;
}

/** `of.field`, `of.?field`, or `has(of.field)`. */
export interface Select extends Node {
  readonly kind: 'select';
  readonly of: Expression;
  readonly field: string;
  readonly test: boolean;
  readonly optional: boolean;
}

/** `_+_` and the like are the names of operators. */
export interface Call extends Node {
  readonly kind: 'call';
  readonly name: string;
  readonly target: Expression | undefined;
  readonly args: readonly Expression[];
}

export interface ListLiteral extends Node {
  readonly kind: 'list';
  readonly items: readonly { readonly value: Expression; readonly optional: boolean }[];
}

export interface MapLiteral extends Node {
  readonly kind: 'map';
  readonly entries: readonly { readonly key: Expression; readonly value: Expression; readonly optional: boolean }[];
}

/** A message literal such as `Type{field: value}`. No type can be constructed, so its fields are not kept. */
export interface ObjectLiteral extends Node {
  readonly kind: 'object';
  readonly name: string;
}

/** A macro that evaluates `body` for each element of `range`. */
export interface Comprehension extends Node {
  readonly kind: 'comprehension';
  readonly macro: ComprehensionMacro;
  readonly range: Expression;
  readonly variables: readonly string[];
  readonly filter: Expression | undefined;
  readonly body: Expression;
}

/** `cel.bind(name, value, body)`. */
export interface Bind extends Node {
  readonly kind: 'bind';
  readonly name: string;
  readonly value: Expression;
  readonly body: Expression;
}

export type ComprehensionMacro =
  | 'all'
  | 'exists'
  | 'exists_one'
  | 'map'
  | 'filter'
  | 'optMap'
  | 'optFlatMap'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry';
