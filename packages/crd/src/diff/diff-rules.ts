import type { CelRule, Schema } from '../schema/schema.ts';
import { isTransition } from '../schema/traits.ts';
import { excerpts } from './difference.ts';
import { type Effect, type Place, type RuleId, type Step, stepAt } from './step.ts';

/** Differences in the rules of a node (N15 to N18, N36). Two rules are the same where they differ in white space and in the kind of quotes alone. */
export function diffRules(a: Schema, b: Schema, place: Place): readonly Step[] {
  const [before, after] = [rulesOf(a), rulesOf(b)];
  const steps: Step[] = [];
  const add = (rule: CelRule, effect: Effect): void => {
    const optional = rule.optionalOldSelf === true && effect === 'narrows' ? ` (${NO_OPTIONALS})` : '';
    const what = `rule is ${effect === 'narrows' ? 'added' : 'removed'}${optional}: ${rule.message ?? rule.rule}`;
    steps.push(
      stepAt(place, {
        rule: ruleClass(rule, place, effect),
        effect,
        keyword: 'x-kubernetes-validations',
        what: cut(what),
      }),
    );
  };
  const added = [...after].flatMap(([text, rule]) => (before.has(text) ? [] : [rule]));
  const removed = [...before].flatMap(([text, rule]) => (after.has(text) ? [] : [rule]));
  for (const rule of added) {
    const old = removed.find(({ message }) => message !== undefined && message === rule.message);
    if (old === undefined) {
      add(rule, 'narrows');
      continue;
    }
    // What says the same when it fails is one rule, written otherwise: which of the two takes more nobody tells here.
    removed.splice(removed.indexOf(old), 1);
    const [was, is] = excerpts(canonicalRule(old), canonicalRule(rule));
    const keyword = 'x-kubernetes-validations';
    const what = `rule changes: ${cut(rule.message ?? '')}: ${was} → ${is}`;
    steps.push(stepAt(place, { rule: ruleClass(rule, place, 'narrows'), effect: 'narrows', keyword, what }));
  }
  for (const rule of removed) add(rule, 'widens');
  return steps;
}

/** Servers without ratcheting do not know optional old values (KEP-4008): the rule does not compile. */
export const NO_OPTIONALS = 'a server of era E0 takes no definition with an optional old value';

/** The class of a rule: at the root nothing ratchets, and a name cannot be changed. */
export function ruleClass(rule: CelRule, place: Pick<Place, 'path'>, effect: Effect): RuleId {
  if (/\bself\.metadata\.name\b/.test(rule.rule)) return 'N36';
  if (isTransition(rule)) return effect === 'widens' ? 'N18' : 'N17';
  return place.path.length === 0 ? 'N16' : 'N15';
}

function rulesOf(schema: Schema): ReadonlyMap<string, CelRule> {
  return new Map((schema['x-kubernetes-validations'] ?? []).map((rule) => [canonicalRule(rule), rule]));
}

/** The text of a rule, with one kind of quotes and of white space, and with what else decides. */
export function canonicalRule(rule: CelRule): string {
  const text = rule.rule
    .trim()
    .replaceAll(
      /'((?:[^'"\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\s+/g,
      (all, single: string | undefined) => (/^\s/.test(all) ? ' ' : single === undefined ? all : `"${single}"`),
    );
  return rule.optionalOldSelf === true ? `${text} (optional)` : text;
}

function cut(text: string): string {
  return text.length > 160 ? `${text.slice(0, 159)}…` : text;
}
