import type { Crd } from '../schema/schema.ts';
import { isTransition } from '../schema/traits.ts';
import { diff } from './diff.ts';
import type { RuleId, Step } from './step.ts';

/** Rules for authors of definitions who want a way back. */
export type AuthoringRule = 'R-a' | 'R-b' | 'R-c' | 'R-d' | 'R-e' | 'R-f' | 'R-g';

/** A rule that a new definition does not keep. */
export interface Advice {
  readonly rule: AuthoringRule;
  readonly version: string;
  readonly path: string;
  /** What to do instead, as a sentence. */
  readonly advice: string;
}

const ADVICE: Readonly<Record<AuthoringRule, string>> = {
  'R-a':
    'Keep the status open: no closed enum, no new required field at its root, no tighter bound. An older schema must be able to hold it.',
  'R-b': 'Let a release read a new value before any release writes it, so that the release before knows it.',
  'R-c': 'Guard a rule at the root by has(), and let no rule relate spec and status: nothing ratchets there.',
  'R-d': 'Make a list that grows one of type map: items of other lists are compared as a whole.',
  'R-e': 'Keep the default: objects whose bytes lack the field read as absent without it.',
  'R-f': 'Store a new version only two releases after it is served.',
  'R-g': 'Keep a field for two releases after its deprecation: pruning takes its value away.',
};

const ENUMS: readonly RuleId[] = ['N1', 'N2', 'N3', 'N4', 'N5'];

/** What the author of `after` should reconsider. It looks in both directions: what widens going forward narrows on the way back. */
export function authoring(before: Crd, after: Crd): readonly Advice[] {
  const found = new Map<string, Advice>();
  const add = (rule: AuthoringRule, { version, path }: Pick<Step, 'version' | 'path'>): void => {
    found.set(`${rule} ${version} ${path}`, { rule, version, path, advice: ADVICE[rule] });
  };
  for (const step of diff(before, after).steps) for (const rule of forward(step)) add(rule, step);
  for (const step of diff(after, before).steps)
    if (step.half === 'status' && step.effect === 'narrows' && step.rule !== 'N12') add('R-a', step);
  for (const { name, schema } of after.versions) {
    const known = new Set(
      before.versions.find((one) => one.name === name)?.schema?.['x-kubernetes-validations']?.map((one) => one.rule),
    );
    for (const rule of schema?.['x-kubernetes-validations'] ?? [])
      if (!known.has(rule.rule) && !isTransition(rule)) add('R-c', { version: name, path: '<root>' });
  }
  const storage = (of: Crd): string | undefined => of.versions.find((one) => one.storage)?.name;
  const [from, to] = [storage(before), storage(after)];
  if (to !== undefined && from !== to && before.versions.find((one) => one.name === to)?.served !== true)
    add('R-f', { version: to, path: '' });
  return [...found.values()].toSorted((a, b) =>
    a.rule === b.rule ? (a.path < b.path ? -1 : 1) : a.rule < b.rule ? -1 : 1,
  );
}

function forward(step: Step): readonly AuthoringRule[] {
  const { rule, effect, half } = step;
  if (half === 'status' && effect === 'narrows' && rule !== 'N12') return ['R-a'];
  if (ENUMS.includes(rule) && effect === 'widens') return rule === 'N2' && half === 'status' ? ['R-b', 'R-d'] : ['R-b'];
  if (rule === 'N21') return ['R-e'];
  if (rule === 'N12' && effect === 'narrows') return ['R-g'];
  return [];
}
