import { EvaluationError } from './expression-errors.ts';

const patterns = new Map<string, RegExp>();

/** RE2 syntax that JavaScript spells in another way. */
const REPLACEMENTS = [
  ['\\A', '^'],
  ['\\z', '$'],
  ['(?P<', '(?<'],
  ['[[:alpha:]]', '[A-Za-z]'],
  ['[[:alnum:]]', '[A-Za-z0-9]'],
  ['[[:digit:]]', '[0-9]'],
  ['[[:space:]]', '\\s'],
  ['[:alnum:]', 'A-Za-z0-9'],
  ['[:digit:]', '0-9'],
  ['[:alpha:]', 'A-Za-z'],
] as const;

/** Compiles an RE2 pattern, as far as JavaScript has its syntax. Throws `EvaluationError`. */
export function patternOf(text: string): RegExp {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  const [, flags = ''] = /^\(\?([ims]+)\)/.exec(text) ?? [];
  const body = REPLACEMENTS.reduce(
    (source, [re2, script]) => source.replaceAll(re2, script),
    flags === '' ? text : text.slice(flags.length + 3),
  );
  try {
    const made = new RegExp(body, flags);
    patterns.set(text, made);
    return made;
  } catch {
    throw new EvaluationError(`error parsing regexp: invalid or unsupported syntax: \`${text}\``);
  }
}

export function isPattern(text: string): boolean {
  try {
    patternOf(text);
    return true;
  } catch {
    return false;
  }
}

/** All matches of a pattern. */
export function matchesOf(text: string, pattern: string): string[] {
  const { source, flags } = patternOf(pattern);
  const found: string[] = [];
  let end = -1;
  for (const match of text.matchAll(new RegExp(source, `${flags}gu`))) {
    // Go does not count an empty match that adjoins another match.
    if (match[0] === '' && match.index === end) continue;
    found.push(match[0]);
    end = match.index + match[0].length;
  }
  return found;
}
