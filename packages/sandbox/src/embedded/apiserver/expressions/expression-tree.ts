/** The syntax tree of an expression. `at` is a node's offset in the text, where errors point. */
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

type Node<Kind extends string, Fields> = { readonly at: number; readonly kind: Kind } & Readonly<Fields>;

export type ConstantType = 'string' | 'double' | 'int' | 'uint' | 'bool' | 'null' | 'bytes';
type Value = string | number | bigint | boolean | null | Uint8Array;

export type Constant = Node<'constant', { value: Value; type: ConstantType }>;
export type Identifier = Node<'identifier', { name: string }>;
/** `of.field`, `of.?field`, or `has(of.field)`. */
export type Select = Node<'select', { of: Expression; field: string; test: boolean; optional: boolean }>;
/** Operators are calls of `_+_` and the like. */
export type Call = Node<'call', { name: string; target: Expression | undefined; args: readonly Expression[] }>;
export type Bind = Node<'bind', { name: string; value: Expression; body: Expression }>;

/** `?value` in a literal is left out if it has no value. */
export interface Item {
  readonly value: Expression;
  readonly optional: boolean;
}
export interface Entry extends Item {
  readonly key: Expression;
}
export type ListLiteral = Node<'list', { items: readonly Item[] }>;
export type MapLiteral = Node<'map', { entries: readonly Entry[] }>;
/** A literal such as `Type{field: value}`. No type can be constructed, so its fields are not kept. */
export type ObjectLiteral = Node<'object', { name: string }>;

/** A macro that evaluates `body` for each element of `range`. */
export type Comprehension = Node<
  'comprehension',
  {
    macro: Macro;
    range: Expression;
    variables: readonly string[];
    filter: Expression | undefined;
    body: Expression;
  }
>;

export type Macro = PlainMacro | 'optMap' | 'optFlatMap' | 'transformList' | 'transformMap' | 'transformMapEntry';
type PlainMacro = 'all' | 'exists' | 'exists_one' | 'map' | 'filter';
