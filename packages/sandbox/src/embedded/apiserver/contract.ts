import type { Clock } from '@drydock/kube/testing/api-server';
import type { ApiServerEra } from '../../era.ts';

// The objects half of the embedded API server: what a request that is authenticated and authorized means for the stored objects. The wire half (process,
// TLS, HTTP, authentication, RBAC, discovery documents, Table output) is its only caller.

/** Who makes a request, after authentication and impersonation. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** One authorized request on `/api/…` or `/apis/GROUP/…`. */
export interface ObjectsRequest {
  readonly method: string;
  /** With the query, as it came. */
  readonly path: string;
  /** Parsed by `parseExact`; undefined where there was none. YAML is parsed by the caller. */
  readonly body?: unknown;
  /** Without parameters: `application/merge-patch+json`. */
  readonly contentType?: string;
  readonly accept?: string;
  /** The user agent up to the first `/`: the field manager, unless the query names one. */
  readonly agent: string;
  readonly user: UserInfo;
  /** Ends webhook calls and waiting watches. */
  readonly signal: AbortSignal;
}

/** `body` is a JSON value for `exactText`; a Status for failures. */
export interface ObjectsAnswer {
  readonly code: number;
  readonly body: unknown;
  /** Texts of `Warning: 299 - "…"` headers. */
  readonly warnings?: readonly string[];
  /** Seconds, for a `Retry-After` header. */
  readonly retryAfter?: number;
}

/** What a refused `watch` rejects with: the HTTP answer, before any event. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly answer: ObjectsAnswer;

  constructor(answer: ObjectsAnswer) {
    super(`the request was refused with ${answer.code}`);
    this.answer = answer;
  }
}

/** An event of a watch in wire form. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Readonly<Record<string, unknown>>;
}

/** Who listens to a watch. Events may come before `watch` has resolved; after `end` nothing follows. */
export interface WatchListener {
  event(event: WatchEvent): void;
  end(): void;
}

/** A column of a Table, as CRDs and built-in kinds declare it. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

/** A subresource such as `status`, `scale`, `eviction`, `token`; its kind may be another one (`autoscaling/v1` `Scale`). */
export interface ServedSubresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** One resource of one group and version. */
export interface ServedResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly ServedSubresource[];
  /** Empty for built-in kinds, whose columns are the server's own code. */
  readonly additionalPrinterColumns: readonly PrinterColumn[];
  /** The version in which objects are stored. */
  readonly storageVersion: string;
  /** Part of Kubernetes itself, rather than of a CRD. */
  readonly builtIn: boolean;
}

/** One stored object: as it is stored, with apiVersion, kind and managedFields. */
export interface StoredObject {
  readonly group: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** One committed change, in the order of versions. */
export interface StoredChange extends Omit<StoredObject, 'object'> {
  readonly version: number;
  /** Absent: removed. */
  readonly object?: Readonly<Record<string, unknown>>;
}

/** The whole state at one instant; what `createObjectServer` starts from after a restart. */
export interface StoredState {
  readonly version: number;
  readonly objects: readonly StoredObject[];
}

/** The objects half of one API server. */
export interface ObjectServer extends AsyncDisposable {
  /** Never rejects for what a client did: failures are Status bodies as the real server words them. */
  answer(request: ObjectsRequest): Promise<ObjectsAnswer>;
  /** Rejects with `RequestRefused` where the answer is no stream. Disposing ends the stream in silence. */
  watch(request: ObjectsRequest, listener: WatchListener): Promise<Disposable>;
  /** All that is served now, in the order of discovery. A new array after each change of a CRD, else the same one. */
  resources(): readonly ServedResource[];
  /** `components.schemas` of an OpenAPI v3 document; undefined for what is not served. */
  schemas(group: string, version: string): Readonly<Record<string, unknown>> | undefined;
  /** Called after `resources` or `schemas` changed. */
  onServed(listener: () => void): Disposable;
  /** The newest resourceVersion. */
  readonly version: number;
  /** A stored object, without a request: for RBAC and tokens. */
  peek(group: string, plural: string, key: { readonly namespace?: string; readonly name: string }): unknown;
  /** All stored objects of a kind in key order, without a request. */
  list(group: string, plural: string): readonly unknown[];
  snapshot(): StoredState;
  /** Called after each committed change and before the request that made it is answered. */
  subscribe(listener: (change: StoredChange) => void): Disposable;
  /** Forgets history: older watches and continue tokens get 410. */
  compact(): void;
}

/** How an object server starts. */
export interface ObjectServerOptions {
  /** How it treats what was illegal before; `E2` by default. */
  readonly era?: ApiServerEra;
  /** Times of objects, bookmarks and ends of watches. */
  readonly clock?: Clock;
  /**
   * Garbage collection by owner references, the end of namespaces, and the ServiceAccount and CA that each namespace gets, as kube-controller-manager has
   * them; none by default, as with a real API server alone.
   */
  readonly controllers?: {
    /** PEM text for the ConfigMaps `kube-root-ca.crt`. */
    readonly rootCa: string;
  };
  /** Whether workloads are simulated: what the simulator cannot do is then refused with 501. */
  readonly workloads?: boolean;
  /** What was stored before a restart; older resourceVersions are 410. */
  readonly state?: StoredState;
  /** Makes a change durable before anything shows it. If it throws, nothing has changed, and `answer` rejects. */
  readonly commit?: (change: StoredChange) => void;
}
