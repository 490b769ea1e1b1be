import { RE2JS } from 're2js';

const compiled = new Map<string, RE2JS | undefined>();

/** Whether a text contains a match, by the rules of RE2, which are not JavaScript's; undefined: the expression is none for RE2. */
export function matches(pattern: string, text: string): boolean | undefined {
  return compile(pattern)?.matcher(text).find();
}

/** The first match in a text, '' where there is none; undefined as in {@link matches}. */
export function find(pattern: string, text: string): string | undefined {
  const matcher = compile(pattern)?.matcher(text);
  if (matcher === undefined) return undefined;
  return matcher.find() ? (matcher.group() ?? '') : '';
}

/** All matches in a text one after the other, at most so many of them (below zero: all); undefined as in {@link matches}. */
export function findAll(pattern: string, text: string, most: number): readonly string[] | undefined {
  const matcher = compile(pattern)?.matcher(text);
  if (matcher === undefined) return undefined;
  const all: string[] = [];
  let end = -1;
  while ((most < 0 || all.length < most) && matcher.find()) {
    // Go leaves out an empty match right behind another.
    if (!(matcher.start() === matcher.end() && matcher.start() === end)) all.push(matcher.group() ?? '');
    end = matcher.end();
  }
  return all;
}

function compile(pattern: string): RE2JS | undefined {
  let expression = compiled.get(pattern);
  if (expression === undefined && !compiled.has(pattern)) {
    try {
      expression = RE2JS.compile(pattern);
    } catch {
      // Stays undefined: an API server would not have taken the schema.
    }
    compiled.set(pattern, expression);
  }
  return expression;
}
