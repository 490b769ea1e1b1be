import { EvaluationError } from './expression-errors.ts';
import { matchesOf, patternOf } from './expression-patterns.ts';
import { List } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';
import { formatted } from './string-format.ts';

/** Code points: CEL counts in them. */
const letters = (text: string): string[] => Array.from(text);

function checkedIndex(at: bigint, length: number = Number.POSITIVE_INFINITY): number {
  if (at < 0n || at > length) throw new EvaluationError(`index out of range: ${at}`);
  return Number(at);
}

/** The indexes at which a text contains another text. */
function indexesOf(text: string, part: string): number[] {
  const [all, wanted] = [letters(text), letters(part)];
  return Array.from({ length: Math.max(0, all.length - wanted.length + 1) }, (_none, at) => at).filter((at) =>
    wanted.every((letter, offset) => all[at + offset] === letter),
  );
}

function indexOf(text: string, part: string, from = 0n): bigint {
  const least = checkedIndex(from);
  return BigInt(indexesOf(text, part).find((at) => at >= least) ?? -1);
}

function lastIndexOf(text: string, part: string, from: bigint): bigint {
  const most = checkedIndex(from);
  if (most >= letters(text).length) return -1n;
  return BigInt(indexesOf(text, part).findLast((at) => at <= most) ?? -1);
}

function substring(text: string, from: bigint, to?: bigint): string {
  if (to !== undefined && from > to) {
    throw new EvaluationError(`invalid substring range. start: ${from}, end: ${to}`);
  }
  const all = letters(text);
  const start = checkedIndex(from, all.length);
  return all.slice(start, to === undefined ? all.length : checkedIndex(to, all.length)).join('');
}

/** A negative limit means no limit. */
function replace(text: string, part: string, replacement: string, limit = -1n): string {
  let left = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit);
  return text.replaceAll(part, (found) => (left-- > 0 ? replacement : found));
}

function split(text: string, separator: string, limit = -1n): List {
  if (limit === 0n) return List.of([]);
  const parts = separator === '' ? letters(text) : text.split(separator);
  if (limit < 0n || BigInt(parts.length) <= limit) return List.of(parts);
  const last = Number(limit) - 1;
  return List.of([...parts.slice(0, last), parts.slice(last).join(separator)]);
}

function findAll(text: string, pattern: string, limit = -1n): List {
  const found = matchesOf(text, pattern);
  return List.of(limit < 0n ? found : found.slice(0, Number(limit)));
}

const isMatch = (text: string, pattern: string): boolean => patternOf(pattern).test(text);

/** Functions of strings. */
export const STRING_FUNCTIONS: Functions = {
  'string.contains(string):bool': (a: string, b: string) => a.includes(b),
  'string.startsWith(string):bool': (a: string, b: string) => a.startsWith(b),
  'string.endsWith(string):bool': (a: string, b: string) => a.endsWith(b),
  'string.matches(string):bool': isMatch,
  'matches(string,string):bool': isMatch,
  'string.find(string):string': (a: string, b: string) => patternOf(b).exec(a)?.[0] ?? '',
  'string.findAll(string):list<string>': findAll,
  'string.findAll(string,int):list<string>': findAll,
  'string.charAt(int):string': (a: string, at: bigint) => letters(a)[checkedIndex(at, letters(a).length)] ?? '',
  'string.indexOf(string):int': indexOf,
  'string.indexOf(string,int):int': indexOf,
  'string.lastIndexOf(string):int': (a: string, b: string) => BigInt(indexesOf(a, b).at(-1) ?? -1),
  'string.lastIndexOf(string,int):int': lastIndexOf,
  'string.lowerAscii():string': (a: string) => a.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
  'string.upperAscii():string': (a: string) => a.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()),
  'string.replace(string,string):string': replace,
  'string.replace(string,string,int):string': replace,
  'string.split(string):list<string>': split,
  'string.split(string,int):list<string>': split,
  'string.substring(int):string': substring,
  'string.substring(int,int):string': substring,
  'string.trim():string': (a: string) => a.trim(),
  'string.reverse():string': (a: string) => letters(a).reverse().join(''),
  'strings::quote(string):string': (a: string) => JSON.stringify(a),
  'string.format(list<dyn>):string': (a: string, list: List) => formatted(a, list.items),
};
