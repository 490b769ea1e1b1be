import type { Status, StatusCause, StatusDetails } from './status-object.ts';

/** The longest text of a server that goes into an error, and from there into logs, Events and statuses. */
const LONGEST_TEXT = 2_000;
const LONGEST_NAME = 300;
/** So many causes are kept; a schema that refuses more is understood by these. */
const MOST_CAUSES = 1_000;

/** What a server calls a Status, whatever it is: texts are texts and are cut, numbers are numbers, and of the causes only the first are kept. */
export function boundedStatus(given: unknown): Status {
  const { code, reason, message, details, kind } = fields(given);
  return {
    ...text('kind', kind, LONGEST_NAME),
    ...number('code', code),
    ...text('reason', reason, LONGEST_NAME),
    ...text('message', message, LONGEST_TEXT),
    ...(details === undefined || details === null ? {} : { details: boundedDetails(fields(details)) }),
  };
}

function boundedDetails(given: Readonly<Record<string, unknown>>): StatusDetails {
  const { name, group, kind, uid, causes, retryAfterSeconds } = given;
  return {
    ...text('name', name, LONGEST_NAME),
    ...text('group', group, LONGEST_NAME),
    ...text('kind', kind, LONGEST_NAME),
    ...text('uid', uid, LONGEST_NAME),
    ...number('retryAfterSeconds', retryAfterSeconds),
    ...(Array.isArray(causes) ? { causes: causes.slice(0, MOST_CAUSES).map(boundedCause) } : {}),
  };
}

function boundedCause(given: unknown): StatusCause {
  const { reason, message, field } = fields(given);
  return {
    ...text('reason', reason, LONGEST_NAME),
    ...text('message', message, LONGEST_TEXT),
    ...text('field', field, LONGEST_TEXT),
  };
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function text<K extends string>(key: K, value: unknown, longest: number): { readonly [key in K]?: string } {
  if (typeof value !== 'string') return {};
  const cut = value.length <= longest ? value : `${value.slice(0, longest)}… (${value.length} characters)`;
  return { [key]: cut } as { readonly [key in K]?: string };
}

function number<K extends string>(key: K, value: unknown): { readonly [key in K]?: number } {
  return typeof value === 'number' && Number.isFinite(value)
    ? ({ [key]: value } as { readonly [key in K]?: number })
    : {};
}
