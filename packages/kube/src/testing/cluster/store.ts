import { exactText } from '../../json/exact-integers.ts';
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

/** An object with its place. */
export type StoredEntry = readonly [id: string, object: JsonObject];

/** All objects with their history, as etcd keeps it: one counter of versions over all kinds. */
export interface Store {
  readonly version: number;
  get(kind: ServedKind, id: string): JsonObject | undefined;
  /** In key order, as of a version (default: now). 410 if that is before the last compaction. */
  list(kind: ServedKind, version?: number): readonly StoredEntry[];
  /** Stores a new state and gives it the next version. */
  put(kind: ServedKind, id: string, object: JsonObject): JsonObject;
  remove(kind: ServedKind, id: string): void;
  /** What happened to a kind after a version, in order. 410 if that is before the last compaction. */
  since(kind: ServedKind, version: number): readonly StoredEvent[];
  /** Forgets all history: older versions are 410 from now on. */
  compact(): void;
  subscribe(on: (event: StoredEvent) => void): Disposable;
  all(): Iterable<readonly [kind: ServedKind, id: string, object: JsonObject]>;
  /** Puts a stored object back with the version it has, and no history; the counter stands at `version` or above. */
  restore(kind: ServedKind, id: string, object: JsonObject, version: number): void;
  /** Forgets a kind and its objects, without events. */
  drop(kind: ServedKind): void;
}

/** `namespace/name`, which sorts as etcd's keys do; `/name` for cluster-scoped objects. */
export function storeId(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/** The object with another resourceVersion. */
export function atVersion(object: JsonObject, version: number): JsonObject {
  return { ...object, metadata: { ...objectOf(object['metadata']), resourceVersion: String(version) } };
}

/** Objects of one kind, and their order as long as it holds. */
interface Shelf {
  readonly objects: Map<string, JsonObject>;
  sorted: readonly string[] | undefined;
}

/** How a store remembers and commits changes. */
export interface StoreOptions {
  /** The history keeps at least so many of the last changes, and at most twice as many; all by default. */
  readonly changes?: number;
  /** The same bound in bytes (JSON) of overwritten and removed objects, which only the history holds. It wins over `changes`. */
  readonly bytes?: number;
  /** Makes a change durable before any reader, watch or subscriber sees it. What it throws the writer gets, and the store is as before. */
  readonly commit?: (event: StoredEvent) => void;
}

interface RememberedEvent extends StoredEvent {
  /** Size of `old`: nothing but the history holds it. */
  readonly bytes: number;
}

/** An empty store. */
export function createStore(options: StoreOptions = {}): Store {
  const { changes: mostChanges = Number.POSITIVE_INFINITY, bytes: mostBytes, commit } = options;
  const shelves = new Map<ServedKind, Shelf>();
  const subscribers = new Set<(event: StoredEvent) => void>();
  let history: RememberedEvent[] = [];
  let historyBytes = 0;
  let version = 1;
  let compacted = 0;

  const base = (kind: ServedKind): ServedKind => kind.storedAs ?? kind;
  const shelf = (of: ServedKind): Shelf => {
    const kind = base(of);
    const found = shelves.get(kind);
    if (found !== undefined) return found;
    const made: Shelf = { objects: new Map(), sorted: undefined };
    shelves.set(kind, made);
    return made;
  };

  /** Cuts the history where it is twice as long as it may be, so that each change is moved once on average. */
  const trim = (): void => {
    const isHeavy = mostBytes !== undefined && historyBytes > 2 * mostBytes;
    if (history.length <= 2 * mostChanges && !isHeavy) return;
    let first = history.length;
    historyBytes = 0;
    while (first > 0 && history.length - first < mostChanges) {
      const { bytes } = history[first - 1] as RememberedEvent;
      if (mostBytes !== undefined && historyBytes + bytes > mostBytes) break;
      historyBytes += bytes;
      first -= 1;
    }
    compacted = history[first - 1]?.version ?? compacted;
    history = history.slice(first);
  };

  /** Makes a change of a shelf: commits it, then publishes it. */
  const publish = (own: Shelf, event: StoredEvent): void => {
    const { id, old, now } = event;
    const bytes = mostBytes === undefined || old === undefined ? 0 : Buffer.byteLength(exactText(old));
    commit?.(event);
    version = event.version;
    if (now === undefined || old === undefined) own.sorted = undefined;
    if (now === undefined) own.objects.delete(id);
    else own.objects.set(id, now);
    history.push({ ...event, bytes });
    historyBytes += bytes;
    trim();
    for (const on of [...subscribers]) on(event);
  };

  const known = (at: number): void => {
    if (at < compacted) throw expired(`too old resource version: ${at} (${compacted})`);
  };

  /** Where the changes after a version begin. */
  const after = (at: number): number => {
    let low = 0;
    let high = history.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((history[middle]?.version ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  return {
    get version() {
      return version;
    },
    get: (kind, id) => shelves.get(base(kind))?.objects.get(id),
    list: (kind, at = version) => {
      known(at);
      const { objects, sorted } = shelf(kind);
      const past = new Map<string, JsonObject | undefined>();
      for (let last = history.length - 1; last >= 0; last -= 1) {
        const event = history[last];
        if (event === undefined || event.version <= at) break;
        if (event.kind === base(kind)) past.set(event.id, event.old);
      }
      if (past.size > 0) {
        const state = new Map(objects);
        for (const [id, old] of past) {
          if (old === undefined) state.delete(id);
          else state.set(id, old);
        }
        return [...state].toSorted(([a], [b]) => (a < b ? -1 : 1));
      }
      const ids = sorted ?? [...objects.keys()].sort();
      shelf(kind).sorted = ids;
      return ids.map((id) => [id, objects.get(id) ?? {}] as const);
    },
    put: (kind, id, object) => {
      const own = shelf(kind);
      const old = own.objects.get(id);
      const now = atVersion(object, version + 1);
      publish(own, { version: version + 1, kind: base(kind), id, ...(old === undefined ? {} : { old }), now });
      return now;
    },
    remove: (kind, id) => {
      const own = shelf(kind);
      const old = own.objects.get(id);
      if (old !== undefined) publish(own, { version: version + 1, kind: base(kind), id, old });
    },
    since: (kind, at) => {
      known(at);
      return history.slice(after(at)).filter((event) => event.kind === base(kind));
    },
    compact: () => {
      history = [];
      historyBytes = 0;
      compacted = version;
    },
    subscribe: (on) => {
      subscribers.add(on);
      return { [Symbol.dispose]: () => void subscribers.delete(on) };
    },
    *all() {
      for (const [kind, { objects }] of shelves) for (const [id, object] of objects) yield [kind, id, object];
    },
    restore: (kind, id, object, at) => {
      const own = shelf(kind);
      own.objects.set(id, object);
      own.sorted = undefined;
      version = Math.max(version, at);
      compacted = version;
    },
    drop: (kind) => void shelves.delete(kind),
  };
}
