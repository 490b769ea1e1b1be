import type { MoRef } from './vcenter.ts';

/** Characters of one foreign text that we keep: a sentence of a server, a name. vCenter's names have 80, its sentences 200. */
export const MAX_FOREIGN_TEXT = 500;

/** Line ends, terminal controls, and marks that change the direction of what follows. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;
/** Ids of a session's objects: `session[52f6…]52ab…`, also as they stand in URLs. What is in the brackets opens the session. */
const SESSION_ID = /session(?:\[|%5B)[^\s"'<>]*/giu;

/** What somebody else says, as it may stand in a message: of bounded length, on one line, without the keys of sessions. */
export function foreignText(said: string): string {
  return cut(said).replaceAll(UNPRINTABLE, ' ').replaceAll(SESSION_ID, 'session[…]');
}

/** A foreign text of bounded length, otherwise as it is: for names, which are compared. */
export function cut(text: string): string {
  return text.length <= MAX_FOREIGN_TEXT ? text : `${text.slice(0, MAX_FOREIGN_TEXT)}…`;
}

/**
 * A reference for messages and logs: `VirtualMachine:vm-12`. Leases, collectors, filters and views belong to a session and bear its key in their
 * ids, so these are named by their type alone.
 */
export function refText({ type, value }: MoRef): string {
  const id = OF_SESSION.has(type) || /session/i.test(value) ? '' : `:${value}`;
  return foreignText(`${type}${id}`);
}

const OF_SESSION: ReadonlySet<string> = new Set([
  'ContainerView',
  'HttpNfcLease',
  'InventoryView',
  'ListView',
  'PropertyCollector',
  'PropertyFilter',
]);
