import { type JsonObject, objectOf } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { expired } from './refusal.ts';

/** One change of one object. `old` absent: created; `now` absent: deleted. */
export interface StoredEvent {
  readonly version: number;
  readonly kind: ServedKind;
  readonly id: string;
  readonly old?: JsonObject;
  readonly now?: JsonObject;
}

/** All objects with their history, as etcd keeps it: one counter of versions over all kinds. */
export interface Store {
  readonly version: number;
  get(kind: ServedKind, id: string): JsonObject | undefined;
  /** In key order, as of a version (default: now). 410 if that is before the last compaction. */
  list(kind: ServedKind, version?: number): readonly (readonly [id: string, object: JsonObject])[];
  /** Stores a new state and gives it the next version. */
  put(kind: ServedKind, id: string, object: JsonObject): JsonObject;
  remove(kind: ServedKind, id: string): void;
  /** What happened to a kind after a version, in order. 410 if that is before the last compaction. */
  since(kind: ServedKind, version: number): readonly StoredEvent[];
  /** Forgets all history: older versions are 410 from now on. */
  compact(): void;
  subscribe(on: (event: StoredEvent) => void): Disposable;
  all(): Iterable<readonly [kind: ServedKind, id: string, object: JsonObject]>;
}

/** `namespace/name`, which sorts as etcd's keys do; `/name` for cluster-scoped objects. */
export function storeId(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/** The object with another resourceVersion. */
export function atVersion(object: JsonObject, version: number): JsonObject {
  return { ...object, metadata: { ...objectOf(object['metadata']), resourceVersion: String(version) } };
}

/** An empty store. */
export function createStore(): Store {
  const kinds = new Map<ServedKind, Map<string, JsonObject>>();
  const subscribers = new Set<(event: StoredEvent) => void>();
  let history: StoredEvent[] = [];
  let version = 1;
  let compacted = 0;

  const objects = (kind: ServedKind): Map<string, JsonObject> => {
    const found = kinds.get(kind) ?? new Map<string, JsonObject>();
    kinds.set(kind, found);
    return found;
  };

  const record = (event: StoredEvent): void => {
    history.push(event);
    for (const on of [...subscribers]) on(event);
  };

  const known = (at: number): void => {
    if (at < compacted) throw expired(`too old resource version: ${at} (${compacted})`);
  };

  return {
    get version() {
      return version;
    },
    get: (kind, id) => objects(kind).get(id),
    list: (kind, at = version) => {
      known(at);
      const state = new Map(objects(kind));
      for (let last = history.length - 1; last >= 0; last -= 1) {
        const event = history[last];
        if (event === undefined || event.version <= at) break;
        if (event.kind !== kind) continue;
        if (event.old === undefined) state.delete(event.id);
        else state.set(event.id, event.old);
      }
      return [...state].toSorted(([a], [b]) => (a < b ? -1 : 1));
    },
    put: (kind, id, object) => {
      const old = objects(kind).get(id);
      version += 1;
      const now = atVersion(object, version);
      objects(kind).set(id, now);
      record({ version, kind, id, ...(old === undefined ? {} : { old }), now });
      return now;
    },
    remove: (kind, id) => {
      const old = objects(kind).get(id);
      if (old === undefined) return;
      version += 1;
      objects(kind).delete(id);
      record({ version, kind, id, old });
    },
    since: (kind, at) => {
      known(at);
      return history.filter((event) => event.kind === kind && event.version > at);
    },
    compact: () => {
      history = [];
      compacted = version;
    },
    subscribe: (on) => {
      subscribers.add(on);
      return { [Symbol.dispose]: () => void subscribers.delete(on) };
    },
    *all() {
      for (const [kind, of] of kinds) for (const [id, object] of of) yield [kind, id, object];
    },
  };
}
