import type { Observer, Selector } from '../client/client.ts';
import { actionText } from '../client/path.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ApiError } from '../errors.ts';
import { type Key, type KubeObject, keyOf, keyText, type Resource } from '../resource.ts';
import { type ReflectorSink, reflect } from './reflector.ts';
import { stringSharer } from './shared-strings.ts';
import { compareVersions } from './versions.ts';
import { healthKeeper, type WatchHealth } from './watch-health.ts';

/**
 * What happened to one object. `old` absent: it is new; `now` absent: it is gone, and `old` is its tombstone, the last state
 * that was seen.
 */
export interface Change<T extends KubeObject> {
  readonly key: Key;
  readonly old?: T;
  readonly now?: T;
  /** It came with the first list, or was there when the subscription began: nobody waits for it. */
  readonly initial: boolean;
  /** The deletion was found by listing again, so `old` may be older than the object was at its end. */
  readonly missed?: true;
}

/** A live copy of a collection. Its objects are shared: read them, never edit them. */
export interface Cache<T extends KubeObject> extends AsyncDisposable {
  /** Resolves when the first list has arrived and was delivered; rejects if the cache is disposed before. */
  readonly synced: Promise<void>;
  readonly size: number;
  get(key: Key): T | undefined;
  all(): Iterable<T>;
  /** Objects whose index function named `value`. Throws for an index that was not declared. */
  by(index: string, value: string): readonly T[];
  /** Delivers what is there at once as `initial`, then every change, in order, synchronously. */
  subscribe(on: (change: Change<T>) => void): Disposable;
  /** How the watch behind it stands. */
  health(): WatchHealth;
}

/** What to cache. */
export interface CacheOptions<T extends KubeObject> {
  readonly client: Observer;
  readonly resource: Resource<T>;
  readonly where?: Selector;
  /** By name: the values under which an object is found. Pure. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Keeps only what is read. Must keep apiVersion, kind, name, namespace, uid and resourceVersion. */
  readonly transform?: (object: T) => T;
  /** How the collection is first read; see `ReflectOptions`. */
  readonly initial?: 'stream' | 'pages';
  /** Told of failed lists and watches, and of subscribers that threw; the cache goes on. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly signal?: AbortSignal;
}

/** Starts a cache. Dispose it (or abort the signal) to end its watch. */
export function createCache<T extends KubeObject>(options: CacheOptions<T>): Cache<T> {
  const { resource, transform = (object) => object, onError = warn } = options;
  const objects = new Map<string, T>();
  const indexes = new Map(Object.entries(options.indexes ?? {}).map(([name, of]) => [name, createIndex(of)]));
  const subscribers = new Set<(change: Change<T>) => void>();
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const synced = Promise.withResolvers<void>();
  // Nobody has to wait for `synced`.
  synced.promise.catch(() => undefined);
  let initial = true;

  function tell(on: (change: Change<T>) => void, change: Change<T>): void {
    try {
      on(change);
    } catch (error) {
      onError(error);
    }
  }

  function publish(change: Change<T>): void {
    for (const on of subscribers) tell(on, change);
  }

  function store(id: string, old: T | undefined, now: T | undefined): void {
    if (now === undefined) objects.delete(id);
    else objects.set(id, now);
    for (const index of indexes.values()) index.move(id, old, now);
  }

  /** The last that was seen of an object may be newer than what is cached. */
  function remove(id: string, cached: T, tombstone: T, missed: boolean): void {
    store(id, cached, undefined);
    publish({ key: keyOf(tombstone), old: tombstone, initial: false, ...(missed ? { missed: true } : {}) });
  }

  function set(now: T): void {
    const key = keyOf(now);
    const id = keyText(key);
    const old = objects.get(id);
    if (old !== undefined && old.metadata.uid !== now.metadata.uid) {
      // Another object under the same name: for predicates that compare both, the first one has to be gone.
      remove(id, old, old, true);
      set(now);
      return;
    }
    store(id, old, now);
    if (old === undefined) publish({ key, now, initial });
    else if (
      old.metadata.resourceVersion !== now.metadata.resourceVersion ||
      now.metadata.resourceVersion === undefined
    ) {
      publish({ key, old, now, initial });
    }
  }

  const sink: ReflectorSink<T> = {
    prepare: transform,
    replace(items) {
      const listed = new Set<string>();
      const share = stringSharer();
      for (const item of items) {
        share(item);
        listed.add(keyText(keyOf(item)));
        set(item);
      }
      for (const [id, old] of objects) if (!listed.has(id)) remove(id, old, old, true);
      initial = false;
      synced.resolve();
    },
    change(type, object) {
      if (type !== 'DELETED') {
        set(transform(object));
        return;
      }
      const id = keyText(keyOf(object));
      // The event carries the final state, which is newer than the cached one.
      const cached = objects.get(id);
      if (cached !== undefined) remove(id, cached, transform(object), false);
    },
    knows(type, object) {
      const cached = objects.get(keyText(keyOf(object)));
      if (cached === undefined) return type === 'DELETED';
      const order = compareVersions(object.metadata.resourceVersion, cached.metadata.resourceVersion);
      return order !== undefined && (order < 0 || (order === 0 && type !== 'DELETED'));
    },
  };

  const { client, where, initial: first, clock = systemClock, random } = options;
  const health = healthKeeper(resource.kind, clock);
  const done = reflect({
    client,
    resource,
    where,
    sink,
    initial: first,
    onError,
    health,
    clock,
    random,
    signal,
  }).finally(() => {
    const action = actionText('cache', resource);
    synced.reject(new ApiError({ code: 'Unavailable', action, said: 'the cache was closed before its first list' }));
  });

  return {
    synced: synced.promise,
    get size(): number {
      return objects.size;
    },
    get: (key) => objects.get(keyText(key)),
    all: () => objects.values(),
    by(name, value) {
      const index = indexes.get(name);
      if (index === undefined)
        throw new TypeError(`cache of ${resource.kind} has no index ${name}; declare it in indexes`);
      const found: T[] = [];
      for (const id of index.ids(value)) {
        const object = objects.get(id);
        if (object !== undefined) found.push(object);
      }
      return found;
    },
    subscribe(on) {
      // A wrapper of its own, so that one function can subscribe twice.
      const own = (change: Change<T>): void => on(change);
      for (const now of objects.values()) tell(own, { key: keyOf(now), now, initial: true });
      subscribers.add(own);
      return { [Symbol.dispose]: () => void subscribers.delete(own) };
    },
    health: () => health.read(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      subscribers.clear();
      await done;
    },
  };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}

interface Index<T> {
  ids(value: string): Iterable<string>;
  move(id: string, old: T | undefined, now: T | undefined): void;
}

function createIndex<T>(of: (object: T) => readonly string[]): Index<T> {
  const values = new Map<string, Set<string>>();
  return {
    ids: (value) => values.get(value) ?? [],
    move(id, old, now) {
      for (const value of old === undefined ? [] : of(old)) {
        const ids = values.get(value);
        ids?.delete(id);
        if (ids?.size === 0) values.delete(value);
      }
      for (const value of now === undefined ? [] : of(now)) {
        const ids = values.get(value);
        if (ids === undefined) values.set(value, new Set([id]));
        else ids.add(id);
      }
    },
  };
}
