import { dnsLabelProblems, type JsonObject, jsonEqual, type StatusCause } from '@drydock/kube/testing/api-server';

// The server's field errors: constructors, and checks that return the errors they find.

export function required(field: string, detail = ''): StatusCause {
  return { reason: 'FieldValueRequired', message: `Required value${detail === '' ? '' : `: ${detail}`}`, field };
}

export function invalidValue(field: string, value: unknown, detail: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${valueText(value)}: ${detail}`, field };
}

export function forbidden(field: string, detail: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${detail}`, field };
}

export function duplicate(field: string, value: unknown): StatusCause {
  return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${valueText(value)}`, field };
}

/** The object that a field refers to does not exist. */
export function notFoundValue(field: string, value: unknown): StatusCause {
  return { reason: 'FieldValueNotFound', message: `Not found: ${valueText(value)}`, field };
}

export function notSupported(field: string, value: unknown, supported: readonly string[]): StatusCause {
  const list = [...supported].sort().map((one) => JSON.stringify(one));
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${valueText(value)}: supported values: ${list.join(', ')}`,
    field,
  };
}

function valueText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/** A field that is neither absent nor empty. */
export function checkRequired(field: string, value: unknown, detail?: string): readonly StatusCause[] {
  return (value ?? '') === '' ? [required(field, detail)] : [];
}

export function checkSupported(field: string, value: unknown, supported: readonly string[]): readonly StatusCause[] {
  return supported.includes(String(value)) ? [] : [notSupported(field, value, supported)];
}

/** Fields of an object at a path that may not change. */
export function checkImmutable(
  path: string,
  object: JsonObject,
  old: JsonObject | undefined,
  fields: readonly string[],
): readonly StatusCause[] {
  if (old === undefined) return [];
  return fields
    .filter((field) => !jsonEqual(object[field] ?? null, old[field] ?? null))
    .map((field) => invalidValue(path === '' ? field : `${path}.${field}`, object[field], 'field is immutable'));
}

export function checkDnsLabel(field: string, value: unknown): readonly StatusCause[] {
  return dnsLabelProblems(String(value)).map((problem) => invalidValue(field, value, problem));
}

export function checkPort(field: string, value: unknown): readonly StatusCause[] {
  const valid = typeof value === 'number' && value >= 1 && value <= 65_535;
  return valid ? [] : [invalidValue(field, value, 'must be between 1 and 65535, inclusive')];
}

export function checkNotNegative(field: string, value: unknown): readonly StatusCause[] {
  const negative = typeof value === 'number' && value < 0;
  return negative ? [invalidValue(field, value, 'must be greater than or equal to 0')] : [];
}
