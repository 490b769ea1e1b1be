import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../clock.ts';
import { exactText, parseExact } from '../json/exact-integers.ts';
import type { Key, KubeObject, Resource } from '../resource.ts';
import type { Transport } from '../transport/transport.ts';
import { type MemoryClientOptions, memoryClient } from './cluster/client.ts';
import type { ClusterCall, ClusterHook, ClusterVerb, MemoryKubeClient } from './cluster/hooks.ts';
import { type JsonObject, objectOf, without } from './cluster/json.ts';
import { builtInKinds, kindOfCrd, openKind, type ServedKind, served } from './cluster/kinds.ts';
import { metadataOf, seconds, withMetadata } from './cluster/metadata.ts';
import { createServer } from './cluster/server.ts';
import { createStore, type StoredEvent, storeId } from './cluster/store.ts';

/** What a cluster is made of. */
export interface MemoryClusterOptions {
  /** CustomResourceDefinitions, as parsed YAML. Their kinds are pruned, defaulted and validated by their schemas. */
  readonly crds?: readonly unknown[];
  /** Custom kinds without a schema, each with a status subresource. */
  readonly resources?: readonly Resource<KubeObject>[];
  /** Besides `default` and `kube-system`. */
  readonly namespaces?: readonly string[];
  /** Times of objects, bookmarks and ends of watches. */
  readonly clock?: Clock;
}

/** The whole cluster at one instant: `machinesets.machine.openshift.io ns/name` → object. */
export type ClusterSnapshot = Readonly<Record<string, KubeObject>>;

/** One committed change. `old` absent: created; `now` absent: deleted. */
export interface ClusterChange {
  /** The resourceVersion that it made. */
  readonly version: number;
  readonly resource: string;
  readonly old?: KubeObject;
  readonly now?: KubeObject;
}

/**
 * An API server in memory: one state, any number of clients. It behaves as the real one does in everything that the scenario table
 * says. It has no controllers (no garbage collector, no namespace controller), no authorization, no CEL rules or formats of schemas, and it converts
 * between versions by name alone.
 */
export interface MemoryCluster {
  /** Another process. */
  client(options?: MemoryClientOptions): MemoryKubeClient;
  /** What a client speaks through, for a server on real sockets: `misbehavingServer(httpAnswer(cluster.wire()))`. */
  wire(options?: MemoryClientOptions): Transport;
  /** Replaces the hook around every call; see `ClusterHook`. */
  onCall: ClusterHook | undefined;
  /** Calls so far, those that a hook refused included. */
  readonly calls: number;
  /** Calls by verb. */
  readonly counters: ReadonlyMap<ClusterVerb, number>;
  /** The newest resourceVersion. */
  readonly version: number;
  snapshot(): ClusterSnapshot;
  /** Called after every change, for invariants that must hold at every instant. */
  subscribe(listener: (change: ClusterChange) => void): Disposable;
  /** All objects of a kind in key order, without a call. */
  list<T extends KubeObject>(resource: Resource<T>): readonly T[];
  /** The stored object, without a call. */
  peek<T extends KubeObject>(resource: Resource<T>, key: Key): T | undefined;
  /** Stores an object as it is, status and all, past every rule: how a test lays out its world. Undefined removes it. */
  put<T extends KubeObject>(resource: Resource<T>, key: Key, object: Partial<T> | undefined): void;
  /** Serves a CRD's kind from now on, or serves it by another schema; what is stored stays as it is. */
  serve(crd: unknown): void;
  /** Forgets history: older watches and continue tokens get 410. */
  compact(): void;
  /** Cuts every open watch in mid-stream, as a server that dies; with `compact` it is a restart. */
  disconnect(): void;
}

/** An empty cluster in memory. */
export function memoryCluster(options: MemoryClusterOptions = {}): MemoryCluster {
  const clock = options.clock ?? systemClock;
  const store = createStore();
  const kinds = [...builtInKinds(), ...(options.crds ?? []).map(kindOfCrd), ...(options.resources ?? []).map(openKind)];
  const server = createServer(store, kinds, clock);
  const counters = new Map<ClusterVerb, number>();
  const watches = new Set<() => void>();
  let calls = 0;
  let clients = 0;

  const count = ({ verb }: ClusterCall): number => {
    counters.set(verb, (counters.get(verb) ?? 0) + 1);
    calls += 1;
    return calls;
  };

  const find = ({ group, plural, version }: Resource<KubeObject>): ServedKind => {
    const kind = kinds.find((one) => one.group === group && one.plural === plural && one.versions.includes(version));
    if (kind === undefined)
      throw new TypeError(
        `the in-memory cluster does not serve ${plural} of ${group}/${version}; name it in crds or resources`,
      );
    return kind;
  };

  const cluster: MemoryCluster = {
    client: (clientOptions = {}) => {
      clients += 1;
      const host = { server, kinds, clock, hook: () => cluster.onCall, count, watches };
      return memoryClient(host, `client-${clients}`, clientOptions);
    },
    wire: ({ agent = 'drydock', through = (same: Transport) => same }: MemoryClientOptions = {}) => {
      let wire: Transport | undefined;
      cluster.client({ agent, through: (inner) => (wire = through(inner)) });
      if (wire === undefined) throw new TypeError('a client asks for its wire at once');
      return wire;
    },
    onCall: undefined,
    get calls() {
      return calls;
    },
    counters,
    get version() {
      return store.version;
    },
    snapshot: () => {
      const entries = [...store.all()].map(([kind, id, object]) => [
        `${nameOfKind(kind)} ${id.replace(/^\//, '')}`,
        plain(kind, object),
      ]);
      return Object.fromEntries(entries) as ClusterSnapshot;
    },
    subscribe: (listener) => store.subscribe((event) => listener(changeOf(event))),
    list: <T extends KubeObject>(resource: Resource<T>) => {
      const kind = find(resource);
      return store.list(kind).map(([, object]) => plain(kind, object) as T);
    },
    peek: <T extends KubeObject>(resource: Resource<T>, key: Key) => {
      const kind = find(resource);
      const found = store.get(kind, storeId(kind.namespaced ? key.namespace : undefined, key.name));
      return found === undefined ? undefined : (plain(kind, found) as T);
    },
    put: (resource, key, object) => {
      const kind = find(resource);
      const id = storeId(kind.namespaced ? key.namespace : undefined, key.name);
      if (object === undefined) {
        store.remove(kind, id);
        return;
      }
      const copy = objectOf(parseExact(exactText(object)));
      const given = metadataOf(copy);
      const metadata = {
        uid: randomUUID(),
        creationTimestamp: seconds(clock.date()),
        ...(kind.builtIn ? {} : { generation: 1 }),
        ...metadataOf(store.get(kind, id) ?? {}),
        ...given,
        ...key,
      };
      store.put(kind, id, withMetadata(without(copy, 'apiVersion', 'kind'), metadata));
    },
    serve: (crd) => {
      const kind = kindOfCrd(crd);
      const known = kinds.find((one) => one.group === kind.group && one.plural === kind.plural);
      // In place: the store knows its objects by the kind itself.
      if (known === undefined) kinds.push(kind);
      else Object.assign(known, kind);
    },
    compact: () => store.compact(),
    disconnect: () => {
      for (const cut of [...watches]) cut();
    },
  };
  const Namespace: Resource<KubeObject> = {
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    scope: 'Cluster',
  };
  for (const name of ['default', 'kube-system', ...(options.namespaces ?? [])]) cluster.put(Namespace, { name }, {});
  return cluster;
}

function nameOfKind({ plural, group }: ServedKind): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** As the client would give it. */
function plain(kind: ServedKind, object: JsonObject): KubeObject {
  const whole = withMetadata(object, { ...metadataOf(object), managedFields: undefined });
  return served(whole, kind, kind.versions[0] ?? '') as unknown as KubeObject;
}

function changeOf({ version, kind, old, now }: StoredEvent): ClusterChange {
  return {
    version,
    resource: nameOfKind(kind),
    ...(old === undefined ? {} : { old: plain(kind, old) }),
    ...(now === undefined ? {} : { now: plain(kind, now) }),
  };
}
