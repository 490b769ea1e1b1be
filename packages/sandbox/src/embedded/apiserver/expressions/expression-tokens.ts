import { ExpressionError } from './expression-errors.ts';
import type { Constant } from './expression-tree.ts';

/** A token; the last one is the end of the text. */
export type Token = { readonly at: number; readonly text: string } & (
  | { readonly kind: 'identifier' | 'quoted' | 'sign' | 'end' }
  | Pick<Constant, 'kind' | 'value' | 'type'>
);

/** Longer signs come first. */
const SIGNS = [...['&&', '||', '==', '!=', '<=', '>='], ...Array.from('+-*/%<>!?:.,()[]{}')];

/** Splits an expression into tokens. Throws `ExpressionError`. */
export function tokensOf(text: string): readonly Token[] {
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
  const [text, prefix = '', , longBody, , shortBody = ''] =
    /^([rRbB]{0,2})(?:("""|''')([\s\S]*?)(?<!(?<!\\)\\)\2|(["'])((?:\\.|(?!\4)[^\\\n])*)\4)/.exec(rest) ?? [];
  if (text === undefined) return undefined;
  const body = longBody ?? shortBody;
  const value = /r/i.test(prefix) ? body : unescaped(body, at);
  if (!/b/i.test(prefix)) return { kind: 'constant', at, text, value, type: 'string' };
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

function unescaped(body: string, at: number): string {
  return body.replaceAll(
    /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))/g,
    (_all, ...groups: string[]) => {
      const [hex, short, long, octal, one] = groups;
      const code = hex ?? short ?? long;
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      const letter = ESCAPES[one ?? ''];
      if (letter !== undefined) return letter;
      throw new ExpressionError(at, `Syntax error: token recognition error at: '\\${one ?? ''}'`);
    },
  );
}

function numberToken(rest: string, at: number): Token | undefined {
  const double = /^(?:\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.\d+(?:[eE][-+]?\d+)?)/.exec(rest)?.[0];
  if (double !== undefined) return { kind: 'constant', at, text: double, value: Number(double), type: 'double' };
  const [text, digits = '', suffix] = /^(0[xX][0-9a-fA-F]+|\d+)([uU]?)/.exec(rest) ?? [];
  if (text === undefined) return undefined;
  return { kind: 'constant', at, text, value: BigInt(digits), type: suffix === '' ? 'int' : 'uint' };
}

function wordToken(rest: string, at: number): Token | undefined {
  const word = /^[_a-zA-Z][_a-zA-Z0-9]*/.exec(rest)?.[0];
  if (word === 'true' || word === 'false') {
    return { kind: 'constant', at, text: word, value: word === 'true', type: 'bool' };
  }
  if (word === 'null') return { kind: 'constant', at, text: word, value: null, type: 'null' };
  if (word !== undefined) return { kind: 'identifier', at, text: word };
  const quoted = /^`[-_a-zA-Z0-9./ ]+`/.exec(rest)?.[0];
  if (quoted !== undefined) return { kind: 'quoted', at, text: quoted };
  const sign = SIGNS.find((one) => rest.startsWith(one));
  return sign === undefined ? undefined : { kind: 'sign', at, text: sign };
}
