import { type SecretExtent, secretExtent, wordsOf } from './secret-names.ts';
import { endOf, endOfLines, endOfQuoted, endOfWord, skip } from './value-ends.ts';

const GONE = '***';

/** A word that may be the name of something, and where it stands. */
interface Name {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Nothing but marks of lists stands before it on its line. */
  readonly first: boolean;
  /** Column of it, or of its line where it is not the first: what belongs to it is indented further. */
  readonly indent: number;
}

/** Between a name and its value: `:`, `=`, `=>`, `%3D`, with the quote that ends the name. */
const ASSIGNED = /(?:\\*["'`]|%2[27]|&(?:quot|#34);)?\]?\s{0,3}(?:[=-]>|:=|={1,2}|:(?!:)|%3[ad])/iy;
/** Between a flag and its value, also as two items of a list. */
const FLAG = /(?:\\*["'`]\s{0,3},\s{0,3}|[ \t]{1,3})(?!-)/y;
/** Between two words of a sentence. */
const BLANK = /[ \t]{1,3}/y;

/**
 * Removes the values of names that announce a secret, in any notation: `name=value`, YAML, headers, JSON and JSON in JSON, flags, sentences. A value ends
 * where its notation says so; one that does not end takes the rest of the text with it. Linear.
 */
export function withoutNamedValues(text: string): string {
  const kept: string[] = [];
  let at = 0;
  let before: Pick<Name, 'text' | 'end'> = { text: '', end: -1 };
  // `name: PASSWORD` was seen, and its `value` was not.
  let announced = false;
  let announcedEnd = 0;
  for (const name of names(text)) {
    // In `name: PASSWORD   value: x` on one line, PASSWORD announces `x`, not the word `value`.
    if (name.start < at || name.start < announcedEnd) continue;
    // `access key` is one name.
    const pair = text.slice(before.end, name.start) === ' ' ? `${before.text} ${name.text}` : name.text;
    before = secretExtent(name.text) === undefined ? name : { text: '', end: -1 };
    const assigned = endOf(ASSIGNED, text, name.end);
    if (assigned !== undefined && /^name$/i.test(name.text)) {
      const named = /[\w.-]+/.exec(text.slice(assigned, assigned + 128));
      announced = secretExtent(named?.[0] ?? '') !== undefined;
      if (announced && named !== null) announcedEnd = assigned + named.index + named[0].length;
      continue;
    }
    const value =
      assigned === undefined
        ? spokenValue(text, name, pair)
        : assignedValue(text, name, assigned, { announced, extent: secretExtent(name.text) ?? secretExtent(pair) });
    if (value === undefined || value.end <= value.start) continue;
    if (/^value$/i.test(name.text)) announced = false;
    kept.push(text.slice(at, value.start), GONE);
    at = value.end;
  }
  return `${kept.join('')}${text.slice(at)}`;
}

function* names(text: string): Generator<Name> {
  let line = 0;
  let next = text.indexOf('\n');
  for (const { 0: found, index } of text.matchAll(/[\w.-]+/g)) {
    // The rest of an escaped character, as in `\\npassword` and `%26password`.
    const sign = text[index - 1];
    const rest = sign === '\\' ? /^(?:u[0-9a-f]{4}|[bfnrt])/i : sign === '%' ? /^[0-9a-f]{2}/i : /^/;
    const word = found.replace(rest, '');
    const start = index + found.length - word.length;
    while (next >= 0 && next < start) {
      line = next + 1;
      next = text.indexOf('\n', line);
    }
    const lead = start - line > 200 ? undefined : text.slice(line, start);
    const first =
      lead !== undefined && !word.startsWith('-') && /^[\s\-?"'`\\{]*(?:(?:export|set|env)\s+)?$/.test(lead);
    const indent = first ? start - line : (/^ */.exec(text.slice(line, line + 200))?.[0].length ?? 0);
    yield { text: word, start, end: start + word.length, first, indent };
  }
}

interface Value {
  readonly start: number;
  readonly end: number;
}

interface Known {
  readonly announced: boolean;
  readonly extent: SecretExtent | undefined;
}

function assignedValue(text: string, name: Name, from: number, { announced, extent }: Known): Value | undefined {
  const start = skip(/[ \t]*/y, text, from);
  const quotedName = /["'`]/.test(text[name.end] ?? '') || text[name.end] === '\\';
  const found =
    extent ??
    (/^value$/i.test(name.text) && (announced || quotedName || name.first) ? 'phrase' : undefined) ??
    // The contents of a Secret or a ConfigMap.
    (name.text === 'data' && /^(?:\r?\n|\\+[rn]|\{|map\[)/.test(text.slice(start, start + 64)) ? 'phrase' : undefined);
  if (found === undefined) return undefined;
  const opened = skip(/\s*(?=\\*["'`]|[[{])/y, text, start);
  const literal = skip(/[a-z@$]{1,2}(?=\\*["'])/iy, text, opened);
  if (/^\\*["'`]/.test(text.slice(literal, literal + 64)) && (found !== 'line' || quotedName))
    return { start, end: endOfQuoted(text, literal) };
  if (/[[{]/.test(text[opened] ?? '')) return { start, end: endOfWord(text, opened) };
  // YAML in a text that was quoted once more: where its line ends nobody can tell.
  const block = /^(?:[|>][-+\d]*(?:\s|\\)|\\+[nr]|\()/.test(text.slice(start, start + 64));
  const empty = /^\r?(?:\n|$)/.test(text.slice(start, start + 2));
  const yaml = name.first && text[from - 1] === ':';
  // `Secret ns/vsphere-creds: not found`, `list secrets: forbidden`: an object that is called so, or its kind.
  const object =
    text[name.start - 1] === '/' ||
    /^secrets?$/i.test(name.text) ||
    /secrets? ["'`]?$/i.test(text.slice(Math.max(0, name.start - 9), name.start));
  const word = found === 'word' || (object && text[from - 1] === ':');
  const end = word && !yaml && !block && !empty ? endOfWord(text, start) : endOfLines(text, start, name.indent);
  return { start, end };
}

const PASSWORD = /(?:passw(?:or)?d|pass(?:phrase|code)|pwd)$/;
/** Words that go on a sentence about a password: any other word behind one may be it. */
const PROSE =
  /^(?:a|again|and|are|as|at|authentication|be|by|can|cannot|change|changed|could|did|does|expired|expires|file|for|from|has|have|in|incorrect|invalid|is|it|login|may|must|no|not|of|on|or|policy|refused|should|that|the|to|too|twice|version|was|were|when|which|will|with|without|would|wrong)[.,;:)]*$/i;

/** The value behind a flag (`--password x`), a scheme (`Bearer x`) or a word of a sentence (`password x`, `token x1`). */
function spokenValue(text: string, name: Name, pair: string): Value | undefined {
  const extent = secretExtent(name.text) ?? secretExtent(pair);
  if (name.text.startsWith('-')) {
    const start = endOf(FLAG, text, name.end);
    if (start === undefined) return undefined;
    const value = {
      start,
      end: /^\\*["'`]/.test(text.slice(start, start + 64)) ? endOfQuoted(text, start) : skip(/\S*/y, text, start),
    };
    const given = text.slice(start, Math.min(value.end, start + 256));
    const login = /^--?u(?:ser)?$/.test(name.text) && given.includes(':');
    return extent !== undefined || login || (name.text === '-p' && !/^[\d:/]/.test(given)) ? value : undefined;
  }
  const blank = endOf(BLANK, text, name.end);
  if (blank === undefined || name.text.endsWith('.')) return undefined;
  const word = (at: number): string => text.slice(at, Math.min(skip(/\S*/y, text, at), at + 256));
  if (/^(?:bearer|basic|negotiate|ntlm)$/i.test(name.text))
    return /^(?:auth|token)/i.test(word(blank)) ? undefined : { start: blank, end: endOfWord(text, blank) };
  let start = blank;
  for (let most = 4; most > 0 && /^(?:(?:as|be|is|to|was)[:=]?|[-–—|>:=]+)$/i.test(word(start)); most -= 1)
    start = skip(/\s*/y, text, start + word(start).length);
  if (PASSWORD.test(wordsOf(name.text).at(-1) ?? '')) {
    // `Password for admin: x`.
    const asked = endOf(/(?:for|of)\b[^\n:]{1,100}:[ \t]+/iy, text, start);
    if (asked !== undefined) return { start: asked, end: endOfWord(text, asked) };
    if (/^\\*["'`]/.test(text.slice(start, start + 64))) return { start, end: endOfQuoted(text, start) };
    return PROSE.test(word(start)) ? undefined : { start, end: endOfWord(text, start) };
  }
  const coded = extent === 'word' && /^["'`]?(?=[^\s]*\d)[\w.+/=~-]{6,}/.test(word(start));
  return coded ? { start, end: skip(/\S*/y, text, start) } : undefined;
}
