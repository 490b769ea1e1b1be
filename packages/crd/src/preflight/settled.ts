import { schemaAt } from '../diff/cause-rule.ts';
import { diffNode } from '../diff/diff-node.ts';
import { canonicalRule } from '../diff/diff-rules.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import type { Doubt } from '../validate/cause.ts';

/** Whether a doubt is one that the definition of now leaves just as open: the rule is the same, and so is all that it can look at. Going to the target then changes nothing about it. */
export function isSettled({ path, rule: text }: Doubt, now: Schema | undefined, target: Schema): boolean {
  const [before, after] = [now, target].map((schema) =>
    schema === undefined ? undefined : schemaAt(schema, path)?.schema,
  );
  const rule = after?.['x-kubernetes-validations']?.find((one) => one.rule === text);
  if (before === undefined || after === undefined || rule === undefined) return false;
  const known = before['x-kubernetes-validations'] ?? [];
  return known.some((one) => canonicalRule(one) === canonicalRule(rule)) && isSameLoss(before, after, path);
}

const answers = new WeakMap<Schema, WeakMap<Schema, boolean>>();

/** Whether two schemas take the same values, whatever rules they have. */
function isSameLoss(before: Schema, after: Schema, path: Path): boolean {
  if (before === after) return true;
  const known = answers.get(before)?.get(after);
  if (known !== undefined) return known;
  const names = path.filter((part) => typeof part === 'string');
  const steps = diffNode(before, after, { version: '', path: names });
  const answer = steps.every(({ keyword }) => keyword === 'x-kubernetes-validations');
  const of = answers.get(before) ?? new WeakMap<Schema, boolean>();
  answers.set(before, of.set(after, answer));
  return answer;
}
