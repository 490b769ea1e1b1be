import { machineMethods } from './machine-methods.ts';
import { isA } from './managed-types.ts';
import { managerMethods } from './manager-methods.ts';
import type { MethodAct, MethodCall, MethodTable } from './method-call.ts';
import { checkEnabledMethod, checkPrivilege } from './method-checks.ts';
import { placeMethods } from './place-methods.ts';
import { exists } from './property-retrieval.ts';
import { notFound, refusal } from './soap-refusal.ts';
import { viewMethods } from './view-methods.ts';

const TABLES: readonly MethodTable[] = [...viewMethods, ...managerMethods, ...placeMethods, ...machineMethods];

/** Answers a call. Throws a `Refusal`. */
export function runMethod(call: MethodCall): string {
  return checkMethod(call)(call);
}

/** What a call would do, if nothing refuses it beforehand: an object that is not there, a method that it does not have, a missing privilege. */
export function checkMethod(call: MethodCall): MethodAct {
  const { state, session, self, method } = call;
  if (!exists(state, session, self)) throw notFound(self);
  const act = TABLES.find(({ on, methods }) => method in methods && isA(self.type, on))?.methods[method];
  if (act === undefined) {
    const text = `${self.type}:${self.value} does not implement: ${method}`;
    throw refusal('MethodNotFound', { receiver: self, method }, text);
  }
  checkEnabledMethod(call);
  checkPrivilege(state, method, self);
  return act;
}
