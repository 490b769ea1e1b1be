import { ExpressionError } from './expression-errors.ts';
import { RESERVED_WORDS } from './expression-fields.ts';
import { expandMacro } from './expression-macros.ts';
import { type Token, tokensOf } from './expression-tokens.ts';
import type { Entry, Expression, Item } from './expression-tree.ts';

/** Parses an expression and expands its macros. Throws `ExpressionError`. */
export function parseExpression(text: string): Expression {
  return new Parser(tokensOf(text)).parse();
}

/** Binary operators, from the loosest to the tightest. */
const PRECEDENCE: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['<', '<=', '>=', '>', '==', '!=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];

/** The recursion limit of the server's parser. */
const MAX_DEPTH = 250;

const PRIMARY =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

const isTypeName = (name: string): boolean => /^[A-Z]/.test(name);

function mismatch({ at, text }: Token, expected: string): ExpressionError {
  return new ExpressionError(at, `Syntax error: mismatched input '${text}' expecting ${expected}`);
}

function operator(at: number, name: string, ...args: readonly Expression[]): Expression {
  return { kind: 'call', at, name, target: undefined, args };
}

/** The dotted name that a chain of fields spells; undefined for other expressions. */
function dottedName(of: Expression): string | undefined {
  if (of.kind === 'identifier') return of.name;
  if (of.kind !== 'select' || of.optional) return undefined;
  const left = dottedName(of.of);
  return left === undefined ? undefined : `${left}.${of.field}`;
}

/** A recursive-descent parser. */
class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Expression {
    const whole = this.#expression();
    const { kind, at, text } = this.#peek();
    if (kind === 'end') return whole;
    throw new ExpressionError(at, `Syntax error: extraneous input '${text}' expecting <EOF>`);
  }

  #peek(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #take(): Token {
    this.#at += 1;
    return this.#tokens[this.#at - 1] as Token;
  }

  #is(sign: string): boolean {
    const { kind, text } = this.#peek();
    return text === sign && (kind === 'sign' || (sign === 'in' && kind === 'identifier'));
  }

  #accept(sign: string): boolean {
    const accepted = this.#is(sign);
    if (accepted) this.#at += 1;
    return accepted;
  }

  #expect(sign: string): void {
    const token = this.#take();
    if (token.kind !== 'sign' || token.text !== sign) throw mismatch(token, `'${sign}'`);
  }

  #identifier(): Token {
    const token = this.#take();
    if (token.kind !== 'identifier') throw mismatch(token, 'IDENTIFIER');
    return token;
  }

  /** Items between commas up to a closing sign; a trailing comma is allowed. */
  #sequence<T>(end: string, item: () => T): T[] {
    const items: T[] = [];
    while (!this.#is(end)) {
      items.push(item());
      if (!this.#accept(',')) break;
    }
    this.#expect(end);
    return items;
  }

  #expression(): Expression {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) {
      throw new ExpressionError(this.#peek().at, `Syntax error: expression recursion limit exceeded: ${MAX_DEPTH}`);
    }
    const condition = this.#binary(0);
    const { at } = this.#peek();
    const whole = this.#accept('?') ? this.#conditional(at, condition) : condition;
    this.#depth -= 1;
    return whole;
  }

  #conditional(at: number, condition: Expression): Expression {
    const yes = this.#binary(0);
    this.#expect(':');
    return operator(at, '_?_:_', condition, yes, this.#expression());
  }

  #binary(level: number): Expression {
    const signs = PRECEDENCE[level];
    if (signs === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const sign = signs.find((one) => this.#is(one));
      if (sign === undefined) return left;
      const { at } = this.#take();
      left = operator(at, sign === 'in' ? '@in' : `_${sign}_`, left, this.#binary(level + 1));
    }
  }

  #unary(): Expression {
    const { at } = this.#peek();
    if (this.#accept('!')) return operator(at, '!_', this.#unary());
    if (!this.#accept('-')) return this.#members(this.#primary());
    const next = this.#peek();
    if (next.kind !== 'constant' || (next.type !== 'int' && next.type !== 'double')) {
      return operator(at, '-_', this.#unary());
    }
    this.#take();
    const value = -(next.value as bigint | number);
    return this.#members({ kind: 'constant', at, value, type: next.type });
  }

  #members(start: Expression): Expression {
    let of = start;
    for (;;) {
      const { at } = this.#peek();
      if (this.#accept('.')) of = this.#member(of, at);
      else if (this.#accept('[')) {
        const name = this.#accept('?') ? '_[?_]' : '_[_]';
        const index = this.#expression();
        this.#expect(']');
        of = operator(at, name, of, index);
      } else return of;
    }
  }

  #member(of: Expression, at: number): Expression {
    const optional = this.#accept('?');
    const token = this.#take();
    if (token.kind !== 'identifier' && token.kind !== 'quoted') throw mismatch(token, 'IDENTIFIER');
    if (!optional && token.kind === 'identifier' && this.#is('(')) return this.#call(of, token);
    const field = token.kind === 'quoted' ? token.text.slice(1, -1) : token.text;
    const scope = dottedName(of);
    if (this.#is('{') && scope !== undefined && isTypeName(field)) return this.#object(`${scope}.${field}`, token.at);
    return { kind: 'select', at, of, field, test: false, optional };
  }

  #primary(): Expression {
    const token = this.#take();
    const { at } = token;
    if (token.kind === 'constant') return { kind: 'constant', at, value: token.value, type: token.type };
    if (token.kind === 'identifier') return this.#named(token);
    switch (token.kind === 'sign' ? token.text : '') {
      case '(': {
        const inner = this.#expression();
        this.#expect(')');
        return inner;
      }
      case '[':
        return { kind: 'list', at, items: this.#sequence(']', () => this.#item()) };
      case '{':
        return { kind: 'map', at, entries: this.#sequence('}', () => this.#entry()) };
      case '.':
        return this.#named(this.#identifier());
      default:
        throw mismatch(token, PRIMARY);
    }
  }

  #item(): Item {
    const optional = this.#accept('?');
    return { value: this.#expression(), optional };
  }

  #entry(): Entry {
    const { value: key, optional } = this.#item();
    this.#expect(':');
    return { key, value: this.#expression(), optional };
  }

  #named(token: Token): Expression {
    const { at, text: name } = token;
    if (RESERVED_WORDS.has(name)) throw new ExpressionError(at, `Syntax error: reserved identifier: ${name}`);
    if (this.#is('(')) return this.#call(undefined, token);
    return this.#is('{') && isTypeName(name) ? this.#object(name, at) : { kind: 'identifier', at, name };
  }

  #call(target: Expression | undefined, { text: name, at: start }: Token): Expression {
    const { at } = this.#take();
    const args = this.#sequence(')', () => this.#expression());
    return expandMacro(target, name, args, start) ?? { kind: 'call', at, name, target, args };
  }

  #object(name: string, at: number): Expression {
    this.#expect('{');
    this.#sequence('}', () => {
      this.#identifier();
      this.#expect(':');
      this.#expression();
    });
    return { kind: 'object', at, name };
  }
}
