/** A pattern that Go's regexp package rejects, with its message. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** RE2 syntax that JavaScript spells in another way. */
const REPLACEMENTS = [
  ['\\A', '^'],
  ['\\z', '$'],
  ['(?P<', '(?<'],
  ['[[:space:]]', '\\s'],
  ['[:alpha:]', 'A-Za-z'],
  ['[:alnum:]', 'A-Za-z0-9'],
  ['[:digit:]', '0-9'],
] as const;

const compiled = new Map<string, RegExp | PatternError>();

/** Compiles a pattern of Go's regexp package, as far as JavaScript has its syntax. */
export function compilePattern(pattern: string): RegExp | PatternError {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const made = compile(pattern);
  compiled.set(pattern, made);
  return made;
}

function compile(pattern: string): RegExp | PatternError {
  const [prefix = '', flags = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  const body = REPLACEMENTS.reduce((text, [re2, script]) => text.replaceAll(re2, script), pattern.slice(prefix.length));
  // Only the mode without `u` allows some of the escapes that Go allows.
  for (const mode of ['u', '']) {
    try {
      return new RegExp(body, mode + flags);
    } catch {}
  }
  const count = (letter: string): number => pattern.split(letter).length;
  const problem = count('(') > count(')') ? 'missing closing )' : 'invalid or unsupported syntax';
  return new PatternError(`error parsing regexp: ${problem}: \`${pattern}\``);
}
