import type { StatusCause } from '../../status-object.ts';
import { badRequest, invalid } from './refusal.ts';

// Checks of what requests say in their queries, in the words of the server.

/** Refuses options of a write: 422 with all that is wrong with them. */
export function checkWriteOptions(options: string, query: URLSearchParams, apply = false): void {
  const causes: StatusCause[] = [];
  const manager = query.get('fieldManager') ?? '';
  const force = query.get('force');
  const managed = options !== 'DeleteOptions';
  if (options === 'PatchOptions' && !apply && force !== null) {
    causes.push(forbidden('force', 'may not be specified for non-apply patch'));
  }
  if (apply && manager === '') causes.push(required('fieldManager', 'is required for apply patch'));
  if (managed && Buffer.byteLength(manager) > 128) {
    const message = 'Too long: may not be more than 128 bytes';
    causes.push({ reason: 'FieldValueTooLong', message, field: 'fieldManager' });
  }
  const dryRun = query.getAll('dryRun');
  if (dryRun.length > 1 || dryRun.some((one) => one !== 'All')) {
    causes.push(unsupported('dryRun', dryRun, ['All']));
  }
  const validation = query.get('fieldValidation') ?? '';
  if (managed && !VALIDATIONS.includes(validation))
    causes.push(unsupported('fieldValidation', validation, VALIDATIONS));
  refuse(options, causes);
}

const VALIDATIONS = ['', 'Ignore', 'Strict', 'Warn'];
const EXACT = 'Exact';
const NOT_OLDER = 'NotOlderThan';

/** Refuses options of a list: 400 for numbers that are none, 422 for what does not go together. */
export function checkListOptions(query: URLSearchParams): void {
  const causes: StatusCause[] = [];
  const match = query.get('resourceVersionMatch') ?? '';
  const version = query.get('resourceVersion') ?? '';
  const field = 'resourceVersionMatch';
  if (match !== '') {
    if (version === '') causes.push(forbidden(field, `${field} is forbidden unless resourceVersion is provided`));
    if ((query.get('continue') ?? '') !== '')
      causes.push(forbidden(field, `${field} is forbidden when continue is provided`));
    if (match !== EXACT && match !== NOT_OLDER) causes.push(unsupported(field, match, [EXACT, NOT_OLDER, '']));
    if (match === EXACT && version === '0')
      causes.push(forbidden(field, `${field} "exact" is forbidden for resourceVersion "0"`));
  }
  if (query.has('sendInitialEvents'))
    causes.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  refuse('ListOptions', causes);
}

/** Refuses options of a watch. */
export function checkWatchOptions(query: URLSearchParams): void {
  const causes: StatusCause[] = [];
  const match = query.get('resourceVersionMatch') ?? '';
  const field = 'resourceVersionMatch';
  const initial = query.has('sendInitialEvents');
  if (initial && match !== NOT_OLDER)
    causes.push(forbidden(field, `sendInitialEvents requires setting ${field} to ${NOT_OLDER}`));
  if (match !== '') {
    if (!initial) causes.push(forbidden(field, `${field} is forbidden for watch unless sendInitialEvents is provided`));
    if (match !== NOT_OLDER) causes.push(unsupported(field, match, [NOT_OLDER]));
    if ((query.get('continue') ?? '') !== '')
      causes.push(forbidden(field, `${field} is forbidden when continue is provided`));
  }
  refuse('ListOptions', causes);
}

/** Refuses numbers of a query that are none: 400. */
export function checkNumbers(query: URLSearchParams): void {
  for (const name of ['limit', 'timeoutSeconds']) {
    const text = query.get(name) ?? '';
    if (text !== '' && !/^[-+]?\d+$/.test(text))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
}

function refuse(options: string, causes: readonly StatusCause[]): void {
  if (causes.length > 0) throw invalid({ group: 'meta.k8s.io', kind: options, plural: options }, '', causes);
}

function forbidden(field: string, said: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${said}`, field };
}

function required(field: string, said: string): StatusCause {
  return { reason: 'FieldValueRequired', message: `Required value: ${said}`, field };
}

function unsupported(field: string, value: unknown, allowed: readonly string[]): StatusCause {
  const list = allowed.map((one) => JSON.stringify(one)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`;
  return { reason: 'FieldValueNotSupported', message, field };
}
