import { type JsonObject, objectOf } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { badRequest } from './refusal.ts';

/** Whether an object is selected. */
export type Matcher = (object: JsonObject) => boolean;

type Labels = Readonly<Record<string, unknown>>;

const REQUIREMENT =
  /^\s*(?:!\s*(?<absent>[^\s=!<>,()]+)|(?<key>[^\s=!<>,()]+)(?:\s*(?<op>==|=|!=|>|<)\s*(?<value>[^\s=!<>,()]*)|\s+(?<in>in|notin)\s*\((?<values>[^()]*)\))?)\s*(?:,|$)/;

/** Parses a label selector: `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `n>1`, `n<2`, joined by commas. 400 for anything else. */
export function labelMatcher(selector: string): Matcher {
  const requirements: ((labels: Labels) => boolean)[] = [];
  for (let rest = selector; rest.trim() !== ''; ) {
    const match = REQUIREMENT.exec(rest);
    if (match === null)
      throw badRequest(`unable to parse requirement: found '${rest}', expected: ',' or 'end of string'`);
    requirements.push(requirement(match.groups ?? {}));
    rest = rest.slice(match[0].length);
  }
  return (object) => {
    const labels = objectOf(objectOf(object['metadata'])['labels']);
    return requirements.every((one) => one(labels));
  };
}

function requirement(groups: Readonly<Record<string, string | undefined>>): (labels: Labels) => boolean {
  const { absent, key = '', op, value = '', values } = groups;
  if (absent !== undefined) return (labels) => !(absent in labels);
  if (values !== undefined) {
    const set = values.split(',').map((one) => one.trim());
    const inside = groups['in'] === 'in';
    return (labels) => (key in labels ? set.includes(String(labels[key])) === inside : !inside);
  }
  switch (op) {
    case undefined:
      return (labels) => key in labels;
    case '!=':
      return (labels) => labels[key] !== value;
    case '>':
      return (labels) => key in labels && Number(labels[key]) > Number(value);
    case '<':
      return (labels) => key in labels && Number(labels[key]) < Number(value);
    default:
      return (labels) => labels[key] === value;
  }
}

/** Parses a field selector on `metadata.name`, `metadata.namespace` and what the kind lets be selected; 400 for other fields. */
export function fieldMatcher(selector: string, kind: ServedKind): Matcher {
  const matchers = selector
    .split(',')
    .filter((one) => one !== '')
    .map((one): Matcher => {
      const [, field = '', op, value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(one.trim()) ?? [];
      if (op === undefined) {
        throw badRequest(`invalid selector: '${selector}'; can't understand '${one}'`);
      }
      const read = fieldReader(field, kind);
      return (object) => (read(object) === value) === (op !== '!=');
    });
  return (object) => matchers.every((one) => one(object));
}

function fieldReader(field: string, { group, rules }: ServedKind): (object: JsonObject) => string {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  if (field === 'metadata.name') return (object) => text(objectOf(object['metadata'])['name']);
  if (field === 'metadata.namespace') return (object) => text(objectOf(object['metadata'])['namespace']);
  const known = rules?.fields?.({}) ?? {};
  if (field in known) return (object) => rules?.fields?.(object)[field] ?? '';
  if (field === 'reportingController' && group === 'events.k8s.io')
    return (object) => text(object['reportingController']);
  if (group === '' || rules?.read === undefined) throw badRequest(`field label not supported: ${field}`);
  throw badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
}
