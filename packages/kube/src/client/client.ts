import type { Readable } from 'node:stream';
import type { Key, KubeObject, Resource } from '../resource.ts';

/** Options of every call. `signal` ends the call; time-outs belong to the transport. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * For get, create and replace of a Lease: on a connection that all other calls leave alone, and after a failure on a new one. A call that waits behind
   * others, or on a peer that is gone, would cost the leadership.
   */
  readonly urgent?: boolean;
}

/** Options of every write. */
export interface ChangeOptions extends CallOptions {
  /** The server does everything but store it: admission and validation answer as they would. */
  readonly dryRun?: boolean;
  /** Asked right before each request of the call, also one that is repeated after a refusal; what it throws ends the call. See `fencedClient`. */
  readonly fence?: () => void;
  /** For create and patches: whose the fields are from then on; by default that of the client. */
  readonly manager?: string;
}

/** Options of create and replace. */
export interface ObjectWriteOptions extends ChangeOptions {
  /** The server answers with no more than the metadata of what it wrote, for an object whose content is long: the object that was given stands for the rest, without what the server filled in. */
  readonly answer?: 'metadata';
}

/** What becomes of dependents: deleted first, deleted afterwards, or left alone. */
export type Propagation = 'Foreground' | 'Background' | 'Orphan';

/** Options of a delete; without `propagation` the kind's own default holds. */
export interface DeleteOptions extends ChangeOptions {
  readonly propagation?: Propagation;
}

/** Restricts a list or a watch. Selectors are in the API server's text form. */
export interface Selector {
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
}

/** One RFC 6902 operation. Put a `test` before a `replace`: the server replaces a missing key without complaint. */
export type JsonPatchOp =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/** Server-side apply: who owns the fields, and whether conflicts are taken over. */
export interface FieldOwner {
  readonly manager: string;
  readonly force?: boolean;
}

/** Deletes only the object that was observed. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * The verbs on one API server. Errors are `ApiError`; nothing is retried here except what HTTP says is safe to repeat.
 * Objects are returned as the server sent them, without `metadata.managedFields`.
 */
export interface Client {
  get<T extends KubeObject>(resource: Resource<T>, key: Key, options?: CallOptions): Promise<T>;
  /** Pages of 500, never with a resourceVersion; an expired continue token restarts the list, and is reported as `ApiError` only after 3 restarts. */
  list<T extends KubeObject>(resource: Resource<T>, where?: Selector, options?: CallOptions): AsyncIterable<T>;
  create<T extends KubeObject>(resource: Resource<T>, object: T, options?: ObjectWriteOptions): Promise<T>;
  /** PUT of the whole object; `metadata.resourceVersion` is required and guards the write. */
  replace<T extends KubeObject>(resource: Resource<T>, object: T, options?: ObjectWriteOptions): Promise<T>;
  /** PUT of the whole status, guarded by `metadata.resourceVersion`. Use the status writer rather than this. */
  replaceStatus<T extends KubeObject>(resource: Resource<T>, object: T, options?: ChangeOptions): Promise<T>;
  apply<T extends KubeObject>(resource: Resource<T>, want: T, as: FieldOwner, options?: ChangeOptions): Promise<T>;
  applyStatus<T extends KubeObject>(
    resource: Resource<T>,
    want: T,
    as: FieldOwner,
    options?: ChangeOptions,
  ): Promise<T>;
  /** JSON patch. A failed `test` is `ApiError` with code `PatchTestFailed`. */
  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: Key,
    ops: readonly JsonPatchOp[],
    options?: ChangeOptions,
  ): Promise<T>;
  /** Merge patch; put `metadata.resourceVersion` into it to guard the write. */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    key: Key,
    patch: unknown,
    options?: ChangeOptions,
  ): Promise<T>;
  /** Absent objects are `ApiError` NotFound. */
  delete(resource: Resource<KubeObject>, key: Key, when?: Preconditions, options?: DeleteOptions): Promise<void>;
}

/** One page of a list. `remaining` is the server's estimate of what follows, absent when it does not say. */
export interface ListPage<T extends KubeObject> {
  readonly items: readonly T[];
  /** The collection's version: watch from here after the last page. */
  readonly resourceVersion: string;
  readonly remaining?: number;
  /** What the server sent for it, in UTF-16 units of JSON; absent where there was no text. */
  readonly weight?: number;
}

/** Where a watch starts and how long (s) the server keeps it open. */
export interface WatchFrom {
  /** Ignored with `initialEvents`. */
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  /**
   * Begin with the whole collection as ADDED events in no particular order, then a bookmark with `initialEventsEnd`, then go on. A
   * server that does not offer it answers Invalid or BadRequest (KEP-3157).
   */
  readonly initialEvents?: boolean;
  /** Called once the server has accepted the watch. */
  readonly opened?: () => void;
  /** Called with the bytes that came, before what is in them. */
  readonly received?: (bytes: number) => void;
}

/** One event of a watch. A bookmark carries nothing but how far the server has come. */
export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd?: true };

/** What a reflector needs of a server: consistent pages, and watches. */
export interface Observer {
  /** Pages of one consistent list. An expired continue token is `ApiError` Expired: what was read so far is worthless. */
  pages<T extends KubeObject>(
    resource: Resource<T>,
    where?: Selector,
    options?: CallOptions,
  ): AsyncIterable<ListPage<T>>;
  /**
   * Events until the server ends the watch (returns), or the stream breaks (throws `ApiError`): a torn or unreadable line is
   * BrokenStream, a version that is too old is Expired, whether it comes as HTTP status or as an ERROR event. Those that came together are
   * given together: a step for each would cost as much as what is done with it.
   */
  watchBatches<T extends KubeObject>(
    resource: Resource<T>,
    from: WatchFrom,
    where?: Selector,
    options?: CallOptions,
  ): AsyncIterable<readonly WatchEvent<T>[]>;
  /**
   * Whether the server's data has come as far as this version. False when it was restored from an older backup: then a watch from this version
   * waits in silence for the server to catch up, and misses all that happens until then. Absent: taken as true.
   */
  reaches?(
    resource: Resource<KubeObject>,
    resourceVersion: string,
    where?: Selector,
    options?: CallOptions,
  ): Promise<boolean>;
}

/** A request outside the verbs, such as `/version`, `/apis`, or a subresource. */
export interface RawRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path on the server, with the query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** What is asked for; default `application/json`. */
  readonly accept?: string;
  /** Besides: for what the API server passes on to others. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client of one API server with its connections. Disposing ends watches and calls and closes every socket. */
export interface KubeClient extends Client, Observer, AsyncDisposable {
  /** As `watchBatches`, one event at a time. */
  watch<T extends KubeObject>(
    resource: Resource<T>,
    from: WatchFrom,
    where?: Selector,
    options?: CallOptions,
  ): AsyncIterable<WatchEvent<T>>;
  /** The answer's JSON, or its text where it is not JSON (`/readyz`). */
  raw(request: RawRequest, options?: CallOptions): Promise<unknown>;
  /** The answer's body as it comes, without an end in time; of an answer that is HTML or no success there is none. */
  rawStream(request: RawRequest, options?: CallOptions): Promise<Readable>;
}
