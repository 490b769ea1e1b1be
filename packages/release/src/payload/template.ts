import { ReleaseError } from '../errors.ts';

/** What the templates of `manifests/` may name. */
export interface TemplateValues {
  /** Fields, as in `{{.ReleaseImage}}`. */
  readonly fields: Readonly<Record<string, string>>;
  /** Images of components by name, as in `{{index .Images "cli"}}`. */
  readonly images: ReadonlyMap<string, string>;
}

type Value = string | boolean;

/** A stretch of text, or an action. */
interface Piece {
  readonly text: string;
  readonly action?: string;
  readonly line: number;
}

/** Blocks in blocks, and brackets in brackets, at most. */
const MAX_DEPTH = 20;

/**
 * Renders a template of Go's text/template, as far as manifests use it: fields, `index .Images`, `eq`, `ne`, `not`, `and`, `or`, `if` with `else if` and `else`,
 * comments and trimmed spaces. Anything else is an error with its line: what a manifest would become without it, nobody knows.
 */
export function renderTemplate(file: string, text: string, values: TemplateValues): string {
  const pieces = piecesOf(file, text);
  let at = 0;
  const fail = (line: number, what: string): never => {
    throw new ReleaseError('BAD_TEMPLATE', `${file}:${line}: ${what}`);
  };
  /** Up to the end of a block, or of the text. */
  const block = (write: boolean, depth: number): string => {
    if (depth > MAX_DEPTH) fail(pieces[at]?.line ?? 0, `blocks stand in each other more than ${MAX_DEPTH} deep`);
    let out = '';
    for (; at < pieces.length; at += 1) {
      const { text: plain, action, line } = pieces[at] as Piece;
      if (action === undefined) {
        if (write) out += plain;
        continue;
      }
      const [verb = '', ...rest] = wordsOf(action) ?? fail(line, `{{${action}}} cannot be read`);
      if (verb === 'end' || verb === 'else') return out;
      if (verb === 'if') out += branches(rest, write, depth, line);
      else if (write) out += String(valueIn([verb, ...rest], values) ?? fail(line, `{{${action}}} has no value here`));
    }
    return out;
  };
  /** From `if` to its `end`; `at` stands on that when it is over. */
  const branches = (condition: readonly string[], write: boolean, depth: number, line: number): string => {
    let asked: readonly string[] | undefined = condition;
    let taken = false;
    let out = '';
    for (;;) {
      const value: Value | undefined = asked === undefined ? true : valueIn(asked, values);
      if (value === undefined) fail(line, `{{if ${asked?.join(' ')}}} cannot be told`);
      const now: boolean = write && !taken && value !== false && value !== '';
      taken ||= now;
      at += 1;
      out += block(now, depth + 1);
      const words = wordsOf(pieces[at]?.action ?? '') ?? [];
      if (words[0] === 'end') return out;
      if (words[0] !== 'else' || asked === undefined) fail(line, 'an if without its end');
      asked = words[1] === 'if' ? words.slice(2) : undefined;
    }
  };
  const rendered = block(true, 0);
  if (at < pieces.length) fail(pieces[at]?.line ?? 0, `{{${pieces[at]?.action}}} without an if`);
  return rendered;
}

function piecesOf(file: string, text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let line = 1;
  let trim = false;
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf('{{', at);
    const plain = text.slice(at, open < 0 ? undefined : open);
    const [left, begins] = [trim ? plain.trimStart() : plain, line];
    line += plain.split('\n').length - 1;
    if (open < 0) {
      pieces.push({ text: left, line: begins });
      return pieces;
    }
    const close = text.indexOf('}}', open);
    if (close < 0) throw new ReleaseError('BAD_TEMPLATE', `${file}:${line}: {{ without its }}`);
    let action = text.slice(open + 2, close);
    const trimsLeft = /^-\s/.test(action);
    trim = /\s-$/.test(action);
    pieces.push({ text: trimsLeft ? left.trimEnd() : left, line: begins });
    action = action.slice(trimsLeft ? 1 : 0, trim ? -1 : undefined).trim();
    if (!action.startsWith('/*')) pieces.push({ text: '', action, line });
    line += text.slice(open, close).split('\n').length - 1;
    at = close + 2;
  }
  return pieces;
}

/** Words, quoted texts with their quotes, and brackets; undefined where it has anything else. */
function wordsOf(action: string): readonly string[] | undefined {
  const word = /\s*("(?:[^"\\]|\\.)*"|`[^`]*`|[()]|[^\s()"`]+)/y;
  const words: string[] = [];
  while (word.lastIndex < action.length) {
    const [, next] = word.exec(action) ?? [];
    if (next === undefined) return undefined;
    words.push(next);
  }
  return words;
}

/** What an action says; undefined where it has no value. */
function valueIn(words: readonly string[], values: TemplateValues): Value | undefined {
  let at = 0;
  /** A function with its arguments up to the end or a closing bracket, or a single value. */
  const call = (depth: number): Value | undefined => {
    const name = words[at] ?? '';
    if (name === 'index' && words[at + 1] === '.Images') {
      at += 2;
      const key = term(depth);
      return typeof key === 'string' ? values.images.get(key) : undefined;
    }
    const takes = FUNCTIONS[name];
    if (takes === undefined) return term(depth);
    const given: Value[] = [];
    for (at += 1; at < words.length && words[at] !== ')'; ) {
      const next = term(depth);
      if (next === undefined) return undefined;
      given.push(next);
    }
    return takes(given);
  };
  const term = (depth: number): Value | undefined => {
    const word = words[at] ?? '';
    at += 1;
    if (word === '(') {
      const inner = depth < MAX_DEPTH ? call(depth + 1) : undefined;
      at += 1;
      return words[at - 1] === ')' ? inner : undefined;
    }
    if (word === 'true' || word === 'false') return word === 'true';
    if (word.startsWith('`')) return word.slice(1, -1);
    if (word.startsWith('"')) return textIn(word);
    const field = word.slice(1);
    return word.startsWith('.') && Object.hasOwn(values.fields, field) ? values.fields[field] : undefined;
  };
  const value = call(0);
  return at === words.length ? value : undefined;
}

/** Go's escapes beyond those of JSON are in no manifest. */
function textIn(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}

const truth = (value: Value | undefined): boolean => value !== undefined && value !== '' && value !== false;

const FUNCTIONS: Readonly<Record<string, (given: readonly Value[]) => Value | undefined>> = {
  __proto__: null as never,
  eq: ([first, ...others]) => (others.length === 0 ? undefined : others.includes(first as Value)),
  ne: ([first, second, ...more]) => (second === undefined || more.length > 0 ? undefined : first !== second),
  not: ([only, ...more]) => (more.length > 0 || only === undefined ? undefined : !truth(only)),
  and: (given) => given.find((value) => !truth(value)) ?? given.at(-1),
  or: (given) => given.find(truth) ?? given.at(-1),
};
