import { masked } from '../cel/names.ts';

const HAS = /(?<![\w.])has\s*\(/g;
/** What the library takes: names alone. */
const CHAIN = /^\s*\w+(?:\s*\.\s*\??\s*\w+)*\s*$/;
const SELECTION = /^([\s\S]*)\.\s*(\w+)\s*$/;

/**
 * A rule whose `has` may select from anything, as CEL has it (langdef.md, "Field selection"): `has(self.list[0].a)` as `cel.bind(held, self.list[0], has(held.a))`, because the library only takes
 * chains of names.
 */
export function withPresence(rule: string): string {
  const text = masked(rule);
  let made = '';
  let done = 0;
  for (const { 0: head, index } of text.matchAll(HAS)) {
    const start = index + head.length;
    const end = closing(text, start);
    // One that lies in the argument of another is written there.
    if (index < done || end === undefined || CHAIN.test(text.slice(start, end))) continue;
    const [, holder, field] = SELECTION.exec(text.slice(start, end)) ?? [];
    if (holder === undefined || field === undefined) continue;
    const value = withPresence(rule.slice(start, start + holder.length));
    made += `${rule.slice(done, index)}cel.bind(held_, ${value}, has(held_.${field}))`;
    done = end + 1;
  }
  return made + rule.slice(done);
}

/** Where the bracket is closed that was opened before a place. */
function closing(text: string, start: number): number | undefined {
  let open = 1;
  for (let at = start; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === '(' || letter === '[' || letter === '{') open += 1;
    if (letter === ')' || letter === ']' || letter === '}') open -= 1;
    if (open === 0) return at;
  }
  return undefined;
}
