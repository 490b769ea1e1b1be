import { type JsonObject, objectOf } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { type LabelRequirement, parseLabelSelector } from './label-selector-parser.ts';
import { badRequest } from './refusal.ts';

/** Whether an object is selected. */
export type Matcher = (object: JsonObject) => boolean;

type Labels = Readonly<Record<string, unknown>>;

/** Parses a label selector: `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `n>1`, `n<2`, joined by commas. 400 for anything else. */
export function labelMatcher(selector: string): Matcher {
  const requirements = parseLabelSelector(selector).map(requirement);
  return (object) => {
    const labels = objectOf(objectOf(object['metadata'])['labels']);
    return requirements.every((one) => one(labels));
  };
}

function requirement({ key, operator, values }: LabelRequirement): (labels: Labels) => boolean {
  const has = (labels: Labels): boolean => Object.hasOwn(labels, key);
  const [value = ''] = values;
  switch (operator) {
    case '!':
      return (labels) => !has(labels);
    case 'in':
    case '=':
      return (labels) => has(labels) && values.includes(String(labels[key]));
    case 'notin':
    case '!=':
      return (labels) => !has(labels) || !values.includes(String(labels[key]));
    case '>':
      return (labels) => has(labels) && Number(labels[key]) > Number(value);
    case '<':
      return (labels) => has(labels) && Number(labels[key]) < Number(value);
    default:
      return has;
  }
}

/** Refuses what is no field selector, whatever the kind: 400. */
export function checkFieldSelector(selector: string): void {
  for (const one of selector.split(',')) {
    if (one !== '' && !/^[^=!]+(?:==|=|!=).*$/.test(one.trim()))
      throw badRequest(`invalid selector: '${selector}'; can't understand '${one}'`);
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

function fieldReader(field: string, kind: ServedKind): (object: JsonObject) => string {
  const { group, rules } = kind;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  if (field === 'metadata.name') return (object) => text(objectOf(object['metadata'])['name']);
  const clustered = rules?.read === undefined && rules !== undefined && !kind.namespaced;
  if (field === 'metadata.namespace' && !clustered) return (object) => text(objectOf(object['metadata'])['namespace']);
  const known = rules?.fields?.({}) ?? {};
  if (field in known) return (object) => rules?.fields?.(object)[field] ?? '';
  if (field === 'reportingController' && group === 'events.k8s.io')
    return (object) => text(object['reportingController']);
  if (kind.kind === 'Job' && group === 'batch')
    throw badRequest(`field label ${JSON.stringify(field)} not supported for Job`);
  if (kind.kind === 'ResourceSlice' && group === 'resource.k8s.io')
    throw badRequest(`field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`);
  const own = rules?.fields !== undefined || kind.plural === 'replicationcontrollers';
  if (own || rules?.read === undefined) throw badRequest(`field label not supported: ${field}`);
  throw badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
}
