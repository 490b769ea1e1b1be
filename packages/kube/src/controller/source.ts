import type { Cache } from '../cache/cache.ts';
import type { Key, KubeObject } from '../resource.ts';
import type { Predicate } from './predicates.ts';

/** The part of a cache that feeds controllers. Subscribing delivers what is there already as `initial`. */
export type Watched<T extends KubeObject> = Pick<Cache<T>, 'synced' | 'subscribe'>;

/** Something that names keys to reconcile; `initial` is true for what the first list brought. */
export interface Source {
  /** Resolves when the first list was delivered. */
  readonly synced: Promise<void>;
  start(enqueue: (key: Key, initial: boolean) => void): Disposable;
}

/** Each change of an object is work for the object itself. */
export function forEach<T extends KubeObject>(cache: Watched<T>, when: Predicate<T> = () => true): Source {
  return {
    synced: cache.synced,
    start: (enqueue) =>
      cache.subscribe((change) => {
        if (when(change)) enqueue(change.key, change.initial);
      }),
  };
}

/**
 * Each change of an object is work for the keys that `map` names. It is asked about the object before and after, so that
 * a key that the object no longer points at is reconciled too.
 */
export function on<T extends KubeObject>(
  cache: Watched<T>,
  map: (object: T) => Key | readonly Key[] | undefined,
  when: Predicate<T> = () => true,
): Source {
  return {
    synced: cache.synced,
    start: (enqueue) =>
      cache.subscribe((change) => {
        if (!when(change)) return;
        for (const object of [change.old, change.now]) {
          if (object === undefined) continue;
          const keys = map(object);
          if (keys === undefined) continue;
          for (const key of isList(keys) ? keys : [keys]) enqueue(key, change.initial);
        }
      }),
  };
}

/** Each call back is work for the keys that `map` names then. */
export function whenever<T extends readonly unknown[]>(
  subscribe: (listener: (...told: T) => void) => Disposable,
  map: (...told: T) => readonly Key[],
): Source {
  return {
    synced: Promise.resolve(),
    start: (enqueue) =>
      subscribe((...told) => {
        for (const key of map(...told)) enqueue(key, false);
      }),
  };
}

/** Each change of an object is work for its controlling owner of this kind, in the object's namespace. */
export function ownerOf(kind: string): (object: KubeObject) => Key | undefined {
  return ({ metadata }) => {
    const owner = metadata.ownerReferences?.find(
      (reference) => reference.kind === kind && reference.controller === true,
    );
    if (owner === undefined) return undefined;
    return metadata.namespace === undefined
      ? { name: owner.name }
      : { namespace: metadata.namespace, name: owner.name };
  };
}

function isList(keys: Key | readonly Key[]): keys is readonly Key[] {
  return Array.isArray(keys);
}
