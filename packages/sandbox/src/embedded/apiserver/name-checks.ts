import {
  dnsSubdomainProblems,
  isObject,
  labelValueProblems,
  listOf,
  objectOf,
  qualifiedNameProblems,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { forbidden, invalidValue, required } from './field-errors.ts';

// Checks of names, labels and selectors that many kinds have in common, in the words of the server.

/** A name that is a DNS subdomain. */
export function subdomain(field: string, value: unknown): readonly StatusCause[] {
  return dnsSubdomainProblems(String(value)).map((problem) => invalidValue(field, value, problem));
}

/** A name with an optional prefix, as keys of labels have it. */
export function qualifiedName(field: string, value: unknown, shown: unknown = value): readonly StatusCause[] {
  return qualifiedNameProblems(String(value)).map((problem) => invalidValue(field, shown, problem));
}

/** Labels as a map. */
export function labelMap(field: string, labels: unknown): readonly StatusCause[] {
  return Object.entries(objectOf(labels)).flatMap(([key, value]) => [
    ...qualifiedName(field, key),
    ...labelValue(field, value),
  ]);
}

function labelValue(field: string, value: unknown): readonly StatusCause[] {
  return labelValueProblems(String(value)).map((problem) => invalidValue(field, value, problem));
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
  } else causes.push(invalidValue(`${field}.operator`, operator, 'not a valid selector operator'));
  causes.push(...qualifiedName(`${field}.key`, key ?? ''));
  for (const [at, value] of list.entries()) causes.push(...labelValue(`${field}.values[${at}]`, value));
  return causes;
}

/** What may not change once it is stored. */
export function unchanged(field: string, value: unknown, before: unknown): readonly StatusCause[] {
  const same = JSON.stringify(value ?? null) === JSON.stringify(before ?? null);
  return same ? [] : [invalidValue(field, value, 'field is immutable')];
}
