import type { MoRef } from '@drydock/vsphere';
import type { DirtyMachine } from '../watch/dirty-machine.ts';

/** What is known of a VirtualMachine object. */
export interface KnownObject {
  readonly namespace: string;
  readonly name: string;
  /** status.uniqueID: the moref value of its machine; undefined: it has none yet. */
  readonly uniqueId: string | undefined;
  /** It has a deletionTimestamp. */
  readonly deleting: boolean;
}

/** Looks into the cache of VirtualMachine objects. */
export interface Lookup {
  named(namespace: string, name: string): KnownObject | undefined;
  /** All with this status.uniqueID. */
  byUniqueId(uniqueId: string): readonly KnownObject[];
}

/** A machine of vCenter changed that belongs to an object. */
export interface Signal {
  readonly ref: MoRef;
  readonly namespace: string;
  readonly name: string;
  /** The object says itself that this is its machine. */
  readonly verified: boolean;
  readonly kind: 'changed' | 'left';
  readonly paths: ReadonlySet<string>;
}

/** What becomes of a dirty machine. */
export type Resolution =
  | { readonly kind: 'signal'; readonly signal: Signal }
  /** Nothing is to be done, for a reason that a metric counts. */
  | { readonly kind: 'drop'; readonly reason: 'baseline' | 'deleting' | 'left' }
  /** It carries the name of an object whose machine is another: a clone, or a restored copy. */
  | { readonly kind: 'copy'; readonly of: KnownObject }
  /** Nobody knows whose it is; somebody may, later. */
  | { readonly kind: 'unresolved' };

/**
 * Whose machine it is: by the name that it carries, provided that the object does not name another machine; else by the one object that names it (vm-operator's
 * order of look-ups, with the comparison of identities that a copy of a machine needs). Pure.
 */
export function resolve(dirty: DirtyMachine, lookup: Lookup): Resolution {
  const { ref, paths } = dirty;
  const carried = parseNamespacedName(dirty.carries);
  const named = carried === undefined ? undefined : lookup.named(carried.namespace, carried.name);
  const copied = named?.uniqueId !== undefined && named.uniqueId !== ref.value;
  const owners = lookup.byUniqueId(ref.value);
  const owner = named !== undefined && !copied ? named : owners.length === 1 ? owners[0] : undefined;
  const verified = owner?.uniqueId === ref.value;

  if (dirty.kind === 'left') {
    if (owner === undefined || !verified || owner.deleting) return { kind: 'drop', reason: 'left' };
    return { kind: 'signal', signal: { ref, ...nameOf(owner), verified, kind: 'left', paths } };
  }
  if (owner?.deleting === true) return { kind: 'drop', reason: 'deleting' };
  if (owner === undefined && named !== undefined && copied) return { kind: 'copy', of: named };
  const whose = owner === undefined ? carried : nameOf(owner);
  if (whose === undefined) return { kind: 'unresolved' };
  // Whoever knows the machine looks at it when the process starts, or when its container is first watched.
  if (dirty.kind === 'found' && verified) return { kind: 'drop', reason: 'baseline' };
  return { kind: 'signal', signal: { ref, ...whose, verified, kind: 'changed', paths } };
}

/** `<namespace>/<name>`; anything else is nothing. */
export function parseNamespacedName(
  text: string | undefined,
): { readonly namespace: string; readonly name: string } | undefined {
  const [namespace, name, ...rest] = text?.split('/') ?? [];
  if (namespace === undefined || name === undefined || rest.length > 0) return undefined;
  return namespace === '' || name === '' ? undefined : { namespace, name };
}

function nameOf({ namespace, name }: KnownObject): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}
