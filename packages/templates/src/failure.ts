import { isVimError } from '@drydock/vsphere';
import { clauseOf, TemplateError, type TemplateErrorCode } from './errors.ts';

/** A datastore is full: somebody will free space on it, and nothing is watched that would tell. */
const SPACE_FAULTS = ['NoDiskSpace', 'InsufficientStorageSpace'] as const;

/**
 * What made `doing` fail, as an error of this package: a missing privilege and a full datastore are named as such, whatever was being done; `code` is for
 * everything else. Errors of this package and aborts stay what they are.
 */
export function failure(code: TemplateErrorCode, doing: string, object: string, error: unknown): unknown {
  const known = readFailure(doing, object, error);
  if (known instanceof TemplateError || (known instanceof Error && known.name === 'AbortError')) return known;
  const message = `failed to ${doing}: ${object}: ${clauseOf(error)}`;
  if (isSpaceFault(error)) return new TemplateError({ code: 'NO_SPACE', message, retriable: true, cause: error });
  return new TemplateError({ code, message, retriable: mayPass(error), cause: error });
}

/** Whether vCenter says that a datastore is full. */
export function isSpaceFault(error: unknown): boolean {
  return isVimError(error) && SPACE_FAULTS.some((fault) => error.fault?.has(fault));
}

/** As {@link failure} for what only reads: a client error already says that vCenter could not be asked, and why; only a missing privilege is named. */
export function readFailure(doing: string, object: string, error: unknown): unknown {
  if (!isVimError(error, 'VIM_NO_PERMISSION')) return error;
  const { user, privilege = error.fault?.field('privilegeId') ?? '', path } = error.denied ?? {};
  const who = user === undefined ? 'the user' : `the user ${user}`;
  const what = privilege === '' ? 'a privilege' : `the privilege ${privilege}`;
  const on = error.fault?.reference('object');
  const where = path ?? (on === undefined ? object : `${on.type}:${on.value} (${object})`);
  const message = `failed to ${doing}: ${who} lacks ${what} on ${where}`;
  return new TemplateError({ code: 'PRIVILEGE_MISSING', message, cause: error });
}

/** Whether a cause says that a repetition may help. Unknown causes may pass. */
function mayPass(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'retriable' in error ? error.retriable === true : true;
}
