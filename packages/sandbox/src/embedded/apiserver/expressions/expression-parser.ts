// CEL expressions as Kubernetes has them: text to tree. Macros are expanded here, because they are part of the syntax.

/** A node of an expression; `at` is its offset in the text, where errors point. */
export type Expression = { readonly at: number } & (
  | { readonly kind: 'constant'; readonly value: Constant; readonly type: ConstantType }
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'field';
      readonly of: Expression;
      readonly field: string;
      readonly test: boolean;
      readonly optional: boolean;
    }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly target: Expression | undefined;
      readonly args: readonly Expression[];
    }
  | { readonly kind: 'list'; readonly items: readonly { readonly value: Expression; readonly optional: boolean }[] }
  | {
      readonly kind: 'map';
      readonly entries: readonly { readonly key: Expression; readonly value: Expression; readonly optional: boolean }[];
    }
  | {
      readonly kind: 'object';
      readonly name: string;
      readonly fields: readonly { readonly name: string; readonly value: Expression }[];
    }
  | {
      readonly kind: 'loop';
      readonly macro: Macro;
      readonly range: Expression;
      readonly names: readonly string[];
      readonly filter: Expression | undefined;
      readonly body: Expression;
    }
  | { readonly kind: 'bind'; readonly name: string; readonly value: Expression; readonly body: Expression }
);

/** Macros over lists and maps. */
export type Macro =
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

export type Constant = string | number | bigint | boolean | null | Uint8Array;
export type ConstantType = 'string' | 'double' | 'int' | 'uint' | 'bool' | 'null' | 'bytes';

/** What does not parse or does not check, where, in the words of the server. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly at: number;

  constructor(at: number, said: string) {
    super(said);
    this.at = at;
  }
}

type Token = { readonly at: number; readonly text: string } & (
  | { readonly kind: 'name' | 'sign' | 'end' | 'quoted' }
  | { readonly kind: 'constant'; readonly value: Constant; readonly type: ConstantType }
);

const SIGNS = [
  '&&',
  '||',
  '==',
  '!=',
  '<=',
  '>=',
  '+',
  '-',
  '*',
  '/',
  '%',
  '<',
  '>',
  '!',
  '?',
  ':',
  '.',
  ',',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
];
const RESERVED = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const space = /^(?:\s+|\/\/[^\n]*)/.exec(rest);
    if (space !== null) {
      at += space[0].length;
      continue;
    }
    const token = stringToken(rest, at) ?? numberToken(rest, at) ?? wordToken(rest, at);
    if (token === undefined)
      throw new ExpressionError(at, `Syntax error: token recognition error at: '${rest[0] ?? ''}'`);
    tokens.push(token);
    at += token.text.length;
  }
  tokens.push({ kind: 'end', at, text: '<EOF>' });
  return tokens;
}

function stringToken(rest: string, at: number): Token | undefined {
  const [text, prefix = '', long, longBody, short, shortBody] =
    /^([rRbB]{0,2})(?:("""|''')([\s\S]*?)(?<!(?<!\\)\\)\2|(["'])((?:\\.|(?!\4)[^\\\n])*)\4)/.exec(rest) ?? [];
  if (text === undefined) return undefined;
  const raw = /r/i.test(prefix);
  const bytes = /b/i.test(prefix);
  const body = (long === undefined ? shortBody : longBody) ?? '';
  void short;
  const value = raw ? body : unescaped(body, at, bytes);
  if (!bytes) return { kind: 'constant', at, text, value, type: 'string' };
  return { kind: 'constant', at, text, value: new Uint8Array(Buffer.from(value, 'utf8')), type: 'bytes' };
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
};

function unescaped(body: string, at: number, _bytes: boolean): string {
  return body.replaceAll(
    /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))/g,
    (_all, ...groups: string[]) => {
      const [hex, short, long, octal, one] = groups;
      const code = hex ?? short ?? long;
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      const meant = ESCAPES[one ?? ''];
      if (meant === undefined)
        throw new ExpressionError(at, `Syntax error: token recognition error at: '\\${one ?? ''}'`);
      return meant;
    },
  );
}

function numberToken(rest: string, at: number): Token | undefined {
  const double = /^(?:\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.\d+(?:[eE][-+]?\d+)?)/.exec(rest);
  if (double !== null) return { kind: 'constant', at, text: double[0], value: Number(double[0]), type: 'double' };
  const whole = /^(0[xX][0-9a-fA-F]+|\d+)([uU]?)/.exec(rest);
  if (whole === null) return undefined;
  return {
    kind: 'constant',
    at,
    text: whole[0],
    value: BigInt(whole[1] ?? '0'),
    type: whole[2] === '' ? 'int' : 'uint',
  };
}

function wordToken(rest: string, at: number): Token | undefined {
  const word = /^[_a-zA-Z][_a-zA-Z0-9]*/.exec(rest)?.[0];
  if (word === 'true' || word === 'false')
    return { kind: 'constant', at, text: word, value: word === 'true', type: 'bool' };
  if (word === 'null') return { kind: 'constant', at, text: word, value: null, type: 'null' };
  if (word !== undefined) return { kind: 'name', at, text: word };
  const quoted = /^`[-_a-zA-Z0-9./ ]+`/.exec(rest)?.[0];
  if (quoted !== undefined) return { kind: 'quoted', at, text: quoted };
  const sign = SIGNS.find((one) => rest.startsWith(one));
  return sign === undefined ? undefined : { kind: 'sign', at, text: sign };
}

const LEVELS: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['<', '<=', '>=', '>', '==', '!=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];

/** How deep an expression may nest; the server's parser has the same limit. */
const DEPTH = 250;

/** Parses an expression. Throws `ExpressionError`. */
export function parseExpression(text: string): Expression {
  const tokens = tokensOf(text);
  let at = 0;
  let depth = 0;

  const peek = (): Token => tokens[at] as Token;
  const take = (): Token => tokens[at++] as Token;
  const is = (sign: string): boolean => {
    const { kind, text: given } = peek();
    return given === sign && (kind === 'sign' || (sign === 'in' && kind === 'name'));
  };
  const accept = (sign: string): boolean => {
    if (!is(sign)) return false;
    at += 1;
    return true;
  };
  const fail = (token: Token, expected: string): ExpressionError =>
    new ExpressionError(token.at, `Syntax error: mismatched input '${token.text}' expecting ${expected}`);
  const expect = (sign: string): Token => {
    const token = take();
    if (token.kind !== 'sign' || token.text !== sign) throw fail(token, `'${sign}'`);
    return token;
  };
  const name = (): Token => {
    const token = take();
    if (token.kind !== 'name') throw fail(token, 'IDENTIFIER');
    return token;
  };

  function expression(): Expression {
    depth += 1;
    if (depth > DEPTH)
      throw new ExpressionError(peek().at, `Syntax error: expression recursion limit exceeded: ${DEPTH}`);
    const condition = binary(0);
    if (!is('?')) {
      depth -= 1;
      return condition;
    }
    const sign = take();
    const yes = binary(0);
    expect(':');
    const no = expression();
    depth -= 1;
    return { kind: 'call', at: sign.at, name: '_?_:_', target: undefined, args: [condition, yes, no] };
  }

  function binary(level: number): Expression {
    const signs = LEVELS[level];
    if (signs === undefined) return unary();
    let left = binary(level + 1);
    for (;;) {
      const sign = signs.find(is);
      if (sign === undefined) return left;
      const token = take();
      const right = binary(level + 1);
      const named = sign === 'in' ? '@in' : `_${sign}_`;
      left = { kind: 'call', at: token.at, name: named, target: undefined, args: [left, right] };
    }
  }

  function unary(): Expression {
    const token = peek();
    if (accept('!')) return { kind: 'call', at: token.at, name: '!_', target: undefined, args: [unary()] };
    if (is('-')) {
      const next = tokens[at + 1];
      if (next?.kind === 'constant' && (next.type === 'int' || next.type === 'double')) {
        at += 2;
        const value = next.type === 'int' ? -(next.value as bigint) : -(next.value as number);
        return members({ kind: 'constant', at: token.at, value, type: next.type });
      }
      at += 1;
      return { kind: 'call', at: token.at, name: '-_', target: undefined, args: [unary()] };
    }
    return members(primary());
  }

  function members(start: Expression): Expression {
    let of = start;
    for (;;) {
      const sign = peek();
      if (accept('.')) {
        const optional = accept('?');
        const token = take();
        if (token.kind !== 'name' && token.kind !== 'quoted') throw fail(token, 'IDENTIFIER');
        const field = token.kind === 'quoted' ? token.text.slice(1, -1) : token.text;
        if (!optional && token.kind === 'name' && is('(')) of = call(of, token, take());
        else if (is('{') && dotted(of) !== undefined && /^[A-Z]/.test(field))
          of = object(`${dotted(of)}.${field}`, token.at);
        else of = { kind: 'field', at: sign.at, of, field, test: false, optional };
      } else if (accept('[')) {
        const optional = accept('?');
        const index = expression();
        expect(']');
        of = { kind: 'call', at: sign.at, name: optional ? '_[?_]' : '_[_]', target: undefined, args: [of, index] };
      } else return of;
    }
  }

  function dotted(of: Expression): string | undefined {
    if (of.kind === 'name') return of.name;
    if (of.kind !== 'field' || of.optional) return undefined;
    const left = dotted(of.of);
    return left === undefined ? undefined : `${left}.${of.field}`;
  }

  function list(end: string): Expression[] {
    const items: Expression[] = [];
    while (!is(end)) {
      items.push(expression());
      if (!accept(',')) break;
    }
    expect(end);
    return items;
  }

  function primary(): Expression {
    const token = take();
    if (token.kind === 'constant') return { kind: 'constant', at: token.at, value: token.value, type: token.type };
    if (token.kind === 'sign') {
      if (token.text === '(') {
        const inner = expression();
        expect(')');
        return inner;
      }
      if (token.text === '[') return listLiteral(token.at);
      if (token.text === '{') return mapLiteral(token.at);
      if (token.text === '.') return named(name());
    }
    if (token.kind === 'name') return named(token);
    const expected =
      "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
    throw fail(token, expected);
  }

  function named(token: Token): Expression {
    if (RESERVED.has(token.text))
      throw new ExpressionError(token.at, `Syntax error: reserved identifier: ${token.text}`);
    if (is('(')) return call(undefined, token, take());
    if (is('{') && /^[A-Z]/.test(token.text)) return object(token.text, token.at);
    return { kind: 'name', at: token.at, name: token.text };
  }

  function listLiteral(start: number): Expression {
    const items: { value: Expression; optional: boolean }[] = [];
    while (!is(']')) {
      const optional = accept('?');
      items.push({ value: expression(), optional });
      if (!accept(',')) break;
    }
    expect(']');
    return { kind: 'list', at: start, items };
  }

  function mapLiteral(start: number): Expression {
    const entries: { key: Expression; value: Expression; optional: boolean }[] = [];
    while (!is('}')) {
      const optional = accept('?');
      const key = expression();
      expect(':');
      entries.push({ key, value: expression(), optional });
      if (!accept(',')) break;
    }
    expect('}');
    return { kind: 'map', at: start, entries };
  }

  function object(type: string, start: number): Expression {
    expect('{');
    const fields: { name: string; value: Expression }[] = [];
    while (!is('}')) {
      const field = name().text;
      expect(':');
      fields.push({ name: field, value: expression() });
      if (!accept(',')) break;
    }
    expect('}');
    return { kind: 'object', at: start, name: type, fields };
  }

  function call(target: Expression | undefined, { text: called, at: from }: Token, open: Token): Expression {
    const args = list(')');
    return macro(target, called, args, from) ?? { kind: 'call', at: open.at, name: called, target, args };
  }

  const variable = (of: Expression | undefined): string => {
    if (of?.kind === 'name') return of.name;
    throw new ExpressionError(of?.at ?? 0, 'argument must be a simple name');
  };

  function macro(
    target: Expression | undefined,
    called: string,
    args: readonly Expression[],
    from: number,
  ): Expression | undefined {
    const [first, second, third, fourth] = args;
    if (target === undefined) {
      if (called !== 'has' || args.length !== 1 || first === undefined) return undefined;
      if (first.kind !== 'field' || first.optional)
        throw new ExpressionError(first.at, 'invalid argument to has() macro');
      return { ...first, test: true };
    }
    if (called === 'bind' && target.kind === 'name' && target.name === 'cel' && args.length === 3) {
      if (second === undefined || third === undefined) return undefined;
      return { kind: 'bind', at: from, name: variable(first), value: second, body: third };
    }
    const loop = (macro_: Macro, names: readonly string[], body: Expression, filter?: Expression): Expression => ({
      kind: 'loop',
      at: from,
      macro: macro_,
      range: target,
      names,
      filter,
      body,
    });
    switch (called) {
      case 'all':
      case 'exists':
      case 'exists_one':
      case 'existsOne': {
        const kind = called === 'existsOne' ? 'exists_one' : called;
        if (args.length === 2 && second !== undefined) return loop(kind, [variable(first)], second);
        if (args.length === 3 && third !== undefined) return loop(kind, [variable(first), variable(second)], third);
        return undefined;
      }
      case 'filter':
        return args.length === 2 && second !== undefined ? loop('filter', [variable(first)], second) : undefined;
      case 'map':
        if (args.length === 2 && second !== undefined) return loop('map', [variable(first)], second);
        if (args.length === 3 && third !== undefined) return loop('map', [variable(first)], third, second);
        return undefined;
      case 'optMap':
      case 'optFlatMap':
        return args.length === 2 && second !== undefined ? loop(called, [variable(first)], second) : undefined;
      case 'transformList':
      case 'transformMap':
      case 'transformMapEntry':
        if (args.length === 3 && third !== undefined) return loop(called, [variable(first), variable(second)], third);
        if (args.length === 4 && fourth !== undefined) {
          return loop(called, [variable(first), variable(second)], fourth, third);
        }
        return undefined;
      default:
        return undefined;
    }
  }

  const whole = expression();
  const end = peek();
  if (end.kind !== 'end') {
    throw new ExpressionError(end.at, `Syntax error: extraneous input '${end.text}' expecting <EOF>`);
  }
  return whole;
}

/** An error with its line, as the server prints it. */
export function pointed(text: string, { at, message }: ExpressionError): string {
  const before = text.slice(0, at).split('\n');
  const column = before.at(-1)?.length ?? 0;
  const line = text.split('\n')[before.length - 1] ?? '';
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
