import { VimError } from '../errors.ts';
import type { Caller } from '../soap/call.ts';
import { unescapeName } from '../soap/names.ts';
import { refKey } from '../soap/soap.ts';
import type { MoRef } from '../vcenter.ts';
import { referenceOf, textOf } from '../xml/xml.ts';

/** Inventories are not deeper than this. */
const MAX_DEPTH = 64;

/**
 * What was thrown, and where it is a missing privilege, one that names the inventory path of the object and the user instead of a reference that nobody knows. What cannot be found out for lack of
 * another privilege stays a reference.
 */
export async function withPlace(
  error: unknown,
  user: string,
  retrieve: Caller['retrieve'],
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (!(error instanceof VimError) || error.code !== 'VIM_NO_PERMISSION' || error.denied !== undefined) return error;
  const ref = error.fault?.reference('object');
  if (error.fault === undefined || ref === undefined) return error;
  const path = (await pathOf(ref, retrieve, signal).catch(() => undefined)) ?? refKey(ref);
  const privilege = error.fault.field('privilegeId') ?? '';
  const what = privilege === '' ? 'a privilege' : `the privilege ${privilege}`;
  return new VimError({
    ...{ kind: error.kind, code: error.code, op: error.op, opId: error.opId, fault: error.fault },
    message: `the user ${user} lacks ${what} on ${path}`,
    retriable: error.retriable,
    denied: { user, privilege, path },
    cause: error,
  });
}

/** From the object up to the root, which has no name in a path. */
async function pathOf(
  ref: MoRef,
  retrieve: Caller['retrieve'],
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const names: string[] = [];
  let at: MoRef | undefined = ref;
  for (let depth = 0; at !== undefined && depth < MAX_DEPTH; depth += 1) {
    const [found] = await retrieve([at], at.type, ['name', 'parent'], signal === undefined ? {} : { signal });
    const name = found?.values.get('name');
    if (found === undefined || name === undefined) return undefined;
    names.unshift(unescapeName(textOf(name)).replaceAll('/', '%2f'));
    at = referenceOf(found.values.get('parent'));
  }
  return `/${names.slice(1).join('/')}`;
}
