import { LABEL, LABEL_1035, NAME_RULES, type StatusCause } from '@drydock/kube/testing/api-server';

// Causes of refusals in the words of the server's field errors.

/** A value that must be there. */
export function required(field: string, said = ''): StatusCause {
  return { reason: 'FieldValueRequired', message: `Required value${said === '' ? '' : `: ${said}`}`, field };
}

/** A value that is wrong. */
export function wrong(field: string, value: unknown, said: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${valueText(value)}: ${said}`, field };
}

/** What may not be said or changed. */
export function forbidden(field: string, said: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${said}`, field };
}

/** A second one of what there may be one of. */
export function duplicate(field: string, value: unknown): StatusCause {
  return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${valueText(value)}`, field };
}

/** A reference to what is not there. */
export function missing(field: string, value: unknown): StatusCause {
  return { reason: 'FieldValueNotFound', message: `Not found: ${valueText(value)}`, field };
}

/** None of the values that there are. */
export function unsupported(field: string, value: unknown, allowed: readonly string[]): StatusCause {
  const list = [...allowed].sort().map((one) => JSON.stringify(one));
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${valueText(value)}: supported values: ${list.join(', ')}`,
    field,
  };
}

function valueText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/** A name that is a DNS label. */
export function label(field: string, value: unknown): readonly StatusCause[] {
  const text = String(value);
  return [
    ...(text.length > 63 ? [wrong(field, value, 'must be no more than 63 characters')] : []),
    ...(LABEL.test(text) ? [] : [wrong(field, value, NAME_RULES.label)]),
  ];
}

/** Whether a text is a DNS label that begins with a letter. */
export function isLabel1035(text: string): boolean {
  return LABEL_1035.test(text) && text.length <= 63;
}

/** A port number. */
export function portNumber(field: string, value: unknown): readonly StatusCause[] {
  const ok = typeof value === 'number' && value >= 1 && value <= 65_535;
  return ok ? [] : [wrong(field, value, 'must be between 1 and 65535, inclusive')];
}

/** A count. */
export function notNegative(field: string, value: unknown): readonly StatusCause[] {
  return typeof value === 'number' && value < 0 ? [wrong(field, value, 'must be greater than or equal to 0')] : [];
}
