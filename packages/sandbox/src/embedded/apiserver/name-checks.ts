import {
  isObject,
  labelValueProblem,
  listOf,
  nameProblem,
  objectOf,
  qualifiedNameProblems,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { forbidden, required, unsupported, wrong } from './checks.ts';

// Checks of names, labels and selectors that many kinds have in common, in the words of the server.

/** A name that is a DNS subdomain. */
export function subdomain(field: string, value: unknown): readonly StatusCause[] {
  const problem = nameProblem(String(value), undefined);
  return problem === undefined ? [] : [wrong(field, value, problem)];
}

/** A name with an optional prefix, as keys of labels have it. */
export function qualifiedName(field: string, value: unknown, shown: unknown = value): readonly StatusCause[] {
  return qualifiedNameProblems(String(value)).map((problem) => wrong(field, shown, problem));
}

/** Labels as a map. */
export function labelMap(field: string, labels: unknown): readonly StatusCause[] {
  return Object.entries(objectOf(labels)).flatMap(([key, value]) => {
    const problem = labelValueProblem(String(value));
    return [...qualifiedName(field, key), ...(problem === undefined ? [] : [wrong(field, value, problem)])];
  });
}

/** A label selector with `matchLabels` and `matchExpressions`. */
export function labelSelector(field: string, selector: unknown): readonly StatusCause[] {
  if (!isObject(selector)) return [];
  const expressions = listOf(selector['matchExpressions']).map(objectOf);
  return [
    ...labelMap(`${field}.matchLabels`, selector['matchLabels']),
    ...expressions.flatMap((expression, at) => selectorRequirement(`${field}.matchExpressions[${at}]`, expression)),
  ];
}

function selectorRequirement(
  field: string,
  { key, operator, values }: Readonly<Record<string, unknown>>,
): StatusCause[] {
  const list = listOf(values);
  const causes: StatusCause[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (list.length === 0)
      causes.push(required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (list.length > 0)
      causes.push(forbidden(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else causes.push(wrong(`${field}.operator`, operator, 'not a valid selector operator'));
  causes.push(...qualifiedName(`${field}.key`, key ?? ''));
  for (const [at, value] of list.entries()) {
    const problem = labelValueProblem(String(value));
    if (problem !== undefined) causes.push(wrong(`${field}.values[${at}]`, value, problem));
  }
  return causes;
}

/** One of few texts, in the order in which the server lists them. */
export function oneOf(field: string, value: unknown, allowed: readonly string[]): readonly StatusCause[] {
  return allowed.includes(String(value)) ? [] : [unsupported(field, value, allowed)];
}

/** What may not change once it is stored. */
export function unchanged(field: string, value: unknown, before: unknown): readonly StatusCause[] {
  const same = JSON.stringify(value ?? null) === JSON.stringify(before ?? null);
  return same ? [] : [wrong(field, value, 'field is immutable')];
}
