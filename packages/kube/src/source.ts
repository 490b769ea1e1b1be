import type { ObjectChange, Predicate } from './predicates.ts';
import { type Key, type KubeObject, keyOf } from './resource.ts';

/** The part of a cache that feeds controllers. */
export interface Watched<T extends KubeObject> {
  readonly synced: Promise<void>;
  all(): Iterable<T>;
  subscribe(on: (change: ObjectChange<T>) => void): Disposable;
}

/** Something that names keys to reconcile; `initial` is true for what the first list brought. */
export interface Source {
  /** Resolves when the first list was delivered. */
  readonly synced: Promise<void>;
  start(enqueue: (key: Key, initial: boolean) => void): Disposable;
}

/** Each change of an object is work for the object itself. */
export function forEach<T extends KubeObject>(cache: Watched<T>, when?: Predicate<T>): Source {
  return on(cache, keyOf, when);
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
    start: (enqueue) => {
      const take = (change: ObjectChange<T>): void => {
        if (!when(change)) return;
        for (const object of [change.old, change.now]) {
          if (object === undefined) continue;
          const keys = map(object);
          if (keys === undefined) continue;
          for (const key of isList(keys) ? keys : [keys]) enqueue(key, change.initial);
        }
      };
      const subscription = cache.subscribe(take);
      // A follower's caches are warm long before it leads: what they hold already is as new to it as a first list.
      for (const now of cache.all()) take({ key: keyOf(now), now, initial: true });
      return subscription;
    },
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
