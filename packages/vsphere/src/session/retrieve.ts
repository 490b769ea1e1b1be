import { VimError } from '../errors.ts';
import { Budget } from '../soap/budget.ts';
import type { ObjectContent } from '../soap/call.ts';
import { ref } from '../soap/decode.ts';
import { readLocalizedFault, type VimFault } from '../soap/faults.ts';
import { data, type FieldValue, methodBody } from '../soap/schema.ts';
import type { CallOptions, MoRef } from '../vcenter.ts';
import { child, childText, elements, type XmlElement, type XmlNode } from '../xml/xml.ts';
import { weightOf } from './weight.ts';

/** The part of the caller that a retrieval needs. */
export type RetrieveCall = (
  method: string,
  self: MoRef,
  body: readonly XmlNode[],
  options: CallOptions & { readonly idempotent: boolean; readonly budget?: Budget },
) => Promise<XmlElement>;

/** What to read: properties of `type` on the objects that `from` selects (`ObjectSpec`s). */
export interface Retrieval {
  readonly type: string;
  readonly paths: readonly string[];
  readonly from: readonly XmlElement[];
}

/** Answers stay around 1 MB: a virtual machine with all that we read is about 11 kB. */
const PAGE = 100;

/** Pages without an object in a row: a server may need one to find its way, no more. */
const EMPTY_PAGES = 3;

/**
 * Reads all pages, within the budget of one conversation, and keeps what `read` makes of each object. An unfinished retrieval is cancelled on the
 * server.
 */
export async function retrieveAll<T>(
  call: RetrieveCall,
  collector: MoRef,
  what: Retrieval,
  server: string,
  options: CallOptions | undefined,
  read: (content: ObjectContent) => T,
): Promise<readonly T[]> {
  const budget = new Budget('RetrievePropertiesEx', server);
  const specSet = data('PropertyFilterSpec', {
    propSet: data('PropertySpec', { type: what.type, all: false, pathSet: what.paths }),
    objectSet: what.from as FieldValue,
    reportMissingObjectsInResults: true,
  });
  const body = methodBody('RetrievePropertiesEx', { specSet, options: data('RetrieveOptions', { maxObjects: PAGE }) });
  const found: T[] = [];
  let empty = 0;
  let token: string | undefined;
  // A page is nobody's any more when the next one is asked for: two at their bound would be in memory at once.
  const take = (page: XmlElement): void => {
    const result = child(page, 'returnval');
    const objects = elements(result, 'objects');
    token = childText(result, 'token');
    empty = objects.length === 0 ? empty + 1 : 0;
    for (const object of objects) {
      const content = readObject(object);
      if (content === undefined) continue;
      const kept = read(content);
      budget.spend('kept', weightOf(kept));
      found.push(kept);
    }
    if (token === undefined) return;
    if (empty > EMPTY_PAGES) throw endless(server);
    budget.spend('calls', 1);
    budget.spend('objects', objects.length);
  };
  try {
    take(await call('RetrievePropertiesEx', collector, body, { ...options, idempotent: true, budget }));
    while (token !== undefined) {
      const next = methodBody('ContinueRetrievePropertiesEx', { token });
      take(await call('ContinueRetrievePropertiesEx', collector, next, { ...options, idempotent: false, budget }));
    }
    return found;
  } catch (error) {
    if (token === undefined) throw error;
    // Best effort: the server forgets it with the session anyway.
    await call('CancelRetrievePropertiesEx', collector, methodBody('CancelRetrievePropertiesEx', { token }), {
      signal: AbortSignal.timeout(2_000),
      idempotent: false,
    }).catch(() => undefined);
    throw error;
  }
}

function endless(server: string): VimError {
  const message = `the answers of ${server} have no end: ${EMPTY_PAGES} pages in a row have nothing in them`;
  return new VimError({ kind: 'protocol', code: 'VIM_BAD_RESPONSE', op: 'RetrievePropertiesEx', message });
}

/** `ObjectSpec`s for objects themselves. */
export function theseObjects(refs: readonly MoRef[]): readonly XmlElement[] {
  return refs.map((obj) => data('ObjectSpec', { obj, skip: false }));
}

/** `ObjectSpec` for the objects that a property of `start` refers to. */
export function referredBy(start: MoRef, path: string): readonly XmlElement[] {
  const selectSet = data(
    'TraversalSpec',
    { name: 'referred', type: start.type, path, skip: false },
    { concrete: true },
  );
  return [data('ObjectSpec', { obj: start, skip: true, selectSet })];
}

function readObject(object: XmlElement): ObjectContent | undefined {
  const obj = child(object, 'obj');
  const found = obj === undefined ? undefined : ref(obj);
  if (found === undefined) return undefined;
  const values = new Map<string, XmlElement>();
  for (const property of elements(object, 'propSet')) {
    const value = child(property, 'val');
    if (value !== undefined) values.set(childText(property, 'name') ?? '', value);
  }
  const missing: { readonly path: string; readonly fault?: VimFault }[] = [];
  for (const entry of elements(object, 'missingSet')) {
    const localized = child(entry, 'fault');
    const fault = localized === undefined ? undefined : readLocalizedFault(localized);
    missing.push({ path: childText(entry, 'path') ?? '', ...(fault === undefined ? {} : { fault }) });
  }
  // A server that reports missing objects in the result does it like this.
  if (values.size === 0 && missing.some(({ fault }) => fault?.is('ManagedObjectNotFound') === true)) return undefined;
  return { ref: found, values, missing };
}
