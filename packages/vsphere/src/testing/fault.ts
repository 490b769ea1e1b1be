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
  return faultError(op, object, readFault(typed(`${name}Fault`, name, ...children), ''));
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
