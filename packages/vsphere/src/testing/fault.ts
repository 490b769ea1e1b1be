import { faultError, VimError } from '../errors.ts';
import { readFault } from '../soap/faults.ts';
import type { MoRef } from '../vcenter.ts';
import { element, reference, typed } from '../xml/xml.ts';

/** A `VimError` as a server would cause it: for `onCall` hooks and the in-memory vCenter. References become reference fields. */
export function simulatedFault(
  name: string,
  op: string,
  object: string,
  fields: Readonly<Record<string, string | MoRef>> = {},
): VimError {
  const children = Object.entries(fields).map(([field, value]) =>
    typeof value === 'string' ? element(field, value) : reference(field, value),
  );
  const error = faultError(op, object, readFault(typed(`${name}Fault`, name, ...children), ''));
  said.set(error, fields);
  return error;
}

/** What simulated faults were made of. */
const said = new WeakMap<VimError, Readonly<Record<string, string | MoRef>>>();

/** The fields of a simulated fault; none of another error. */
export function fieldsOf(error: VimError): Readonly<Record<string, string | MoRef>> {
  return said.get(error) ?? {};
}

/** The answer got lost: nobody knows whether the server acted. From an `after` hook it did, from a `before` hook it did not. */
export function simulatedLoss(op: string): VimError {
  return new VimError({
    kind: 'transport',
    code: 'VIM_UNREACHABLE',
    op,
    message: 'the connection was lost before the answer came',
    retriable: true,
  });
}
