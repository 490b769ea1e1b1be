import { compilePattern, PatternError } from '@drydock/kube/testing/api-server';
import { EvaluationError } from './expression-errors.ts';

/** Compiles a pattern. Throws `EvaluationError`. */
export function patternOf(text: string): RegExp {
  const pattern = compilePattern(text);
  if (pattern instanceof PatternError) throw new EvaluationError(pattern.message);
  return pattern;
}

/** All matches of a pattern. */
export function matchesOf(text: string, pattern: string): string[] {
  const compiled = patternOf(pattern);
  const found: string[] = [];
  let end = -1;
  for (const match of text.matchAll(new RegExp(compiled, `${compiled.flags}g`))) {
    // Go does not count an empty match that adjoins another match.
    if (match[0] === '' && match.index === end) continue;
    found.push(match[0]);
    end = match.index + match[0].length;
  }
  return found;
}
