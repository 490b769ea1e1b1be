import { find, findAll, matches } from '../text/pattern.ts';
import { type Add, decided, fault } from './fault.ts';
import { formatText } from './string-format.ts';

/** Functions on texts: cel-go, ext/strings.go up to its version 2, and k8s.io/apiserver, pkg/cel/library/regex.go. Positions count characters. */
export function addStrings(add: Add): void {
  add('string.charAt(int): string', (text: string, at: bigint) => {
    const letters = Array.from(text);
    if (at < 0n || at > letters.length) throw fault('a position outside of the text');
    return letters[Number(at)] ?? '';
  });
  add('string.our_indexOf(string): int', (text: string, part: string) => indexOf(text, part, 0n));
  add('string.our_indexOf(string, int): int', indexOf);
  add('string.our_lastIndexOf(string): int', (text: string, part: string) => {
    const size = BigInt(Array.from(text).length);
    if (part === '') return size;
    return size === 0n ? -1n : lastIndexOf(text, part, size - 1n);
  });
  add('string.our_lastIndexOf(string, int): int', lastIndexOf);
  add('string.our_lowerAscii(): string', (text: string) => text.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase()));
  add('string.our_upperAscii(): string', (text: string) => text.replaceAll(/[a-z]+/g, (part) => part.toUpperCase()));
  add('string.our_trim(): string', (text: string) =>
    text.replaceAll(/^[\u0085\s]+|[\u0085\s]+$/g, (part) => trimmed(part)),
  );
  add('string.replace(string, string): string', (text: string, old: string, by: string) => replace(text, old, by, -1n));
  add('string.replace(string, string, int): string', replace);
  add('string.our_split(string): list<string>', (text: string, by: string) => split(text, by, -1n));
  add('string.our_split(string, int): list<string>', split);
  add('string.our_substring(int): string', (text: string, from: bigint) => substring(text, from));
  add('string.our_substring(int, int): string', substring);
  add('strings_quote(string): string', quote);
  add('string.format(list): string', formatText);
  add('list.our_join(): string', (list: readonly unknown[]) => join(list, ''));
  add('list.our_join(string): string', join);
  const decidedMatch = (text: string, pattern: string): boolean => decided(matches(pattern, text));
  add('string.our_matches(string): bool', decidedMatch);
  add('our_matches(string, string): bool', decidedMatch);
  add('string.find(string): string', (text: string, pattern: string) => decided(find(pattern, text)));
  add('string.our_findAll(string): list<string>', (text: string, pattern: string) =>
    decided(findAll(pattern, text, -1)),
  );
  add('string.our_findAll(string, int): list<string>', (text: string, pattern: string, most: bigint) =>
    decided(findAll(pattern, text, Number(most))),
  );
}

function indexOf(text: string, part: string, from: bigint): bigint {
  if (part === '') return from;
  if (from < 0n) throw fault('a position outside of the text');
  const letters = Array.from(text);
  const sought = Array.from(part);
  for (let at = Number(from); at + sought.length <= letters.length; at += 1)
    if (sought.every((letter, index) => letters[at + index] === letter)) return BigInt(at);
  return -1n;
}

function lastIndexOf(text: string, part: string, from: bigint): bigint {
  if (part === '') return from;
  if (from < 0n) throw fault('a position outside of the text');
  const letters = Array.from(text);
  const sought = Array.from(part);
  if (from >= letters.length) return -1n;
  for (let at = Math.min(Number(from), letters.length - sought.length); at >= 0; at -= 1)
    if (sought.every((letter, index) => letters[at + index] === letter)) return BigInt(at);
  return -1n;
}

function substring(text: string, from: bigint, to?: bigint): string {
  const letters = Array.from(text);
  const end = to ?? BigInt(letters.length);
  if (from < 0n || from > end || end > letters.length) throw fault('a position outside of the text');
  return letters.slice(Number(from), Number(end)).join('');
}

/** strings.Replace of Go: where nothing is sought it is found before each character and at the end. */
function replace(text: string, old: string, by: string, most: bigint): string {
  const times = most < 0n ? Number.POSITIVE_INFINITY : Number(most);
  if (old === '') {
    const letters = [...Array.from(text), ''];
    return letters.map((letter, at) => (at < times ? `${by}${letter}` : letter)).join('');
  }
  const parts = text.split(old);
  const first = parts.slice(0, Math.min(times, parts.length - 1) + 1).join(by);
  return [first, ...parts.slice(times + 1)].join(old);
}

/** strings.SplitN of Go. */
function split(text: string, by: string, most: bigint): readonly string[] {
  if (most === 0n) return [];
  const parts = by === '' ? Array.from(text) : text.split(by);
  if (most < 0n || parts.length <= most) return parts;
  const kept = Number(most) - 1;
  return [...parts.slice(0, kept), parts.slice(kept).join(by)];
}

function join(list: readonly unknown[], by: string): string {
  if (!list.every((item) => typeof item === 'string')) throw fault('only texts can be joined');
  return list.join(by);
}

/** What unicode.IsSpace of Go takes off; JavaScript's white space has one character more. */
function trimmed(space: string): string {
  const mark = space.indexOf('\ufeff');
  return mark < 0 ? '' : space.slice(mark, space.lastIndexOf('\ufeff') + 1);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

function quote(text: string): string {
  return `"${Array.from(text)
    .map((letter) => ESCAPES[letter] ?? letter)
    .join('')}"`;
}
