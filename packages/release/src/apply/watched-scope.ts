import {
  createCache,
  isForbidden,
  type Key,
  type KubeClient,
  type KubeObject,
  keyOf,
  keyText,
  type Resource,
  type Selector,
} from '@drydock/kube';
import { asJson } from './json.ts';
import { listedOnce } from './listed-once.ts';
import type { LiveLook } from './live.ts';

/** Objects of one kind that are watched together: as few others as can be are seen with them. */
export interface Scope {
  /** Tells it from all others. */
  readonly id: string;
  readonly resource: Resource<KubeObject>;
  readonly where: Selector;
  /** By `keyText`. */
  readonly wanted: ReadonlySet<string>;
}

/** Namespaces of one kind that are watched one by one; of more, the whole kind is watched. */
const FEW = 4;

/** Whoever may not watch a kind everywhere may still watch it where its objects are. */
export interface Scopes {
  readonly best: readonly Scope[];
  readonly narrow: readonly Scope[];
}

/** How the objects of one kind are watched: one alone by its name, several in their namespace. */
export function scopesOf(resource: Resource<KubeObject>, keys: readonly Key[]): Scopes {
  const places = new Map<string, Key[]>();
  for (const key of keys) {
    const { namespace = '' } = placeOf(resource, key);
    const there = places.get(namespace);
    if (there === undefined) places.set(namespace, [key]);
    else there.push(key);
  }
  const narrow = [...places].map(([namespace, there]) => {
    const [only] = there;
    const fields = there.length === 1 && only !== undefined ? { fields: `metadata.name=${only.name}` } : {};
    return scopeOf(resource, { ...(namespace === '' ? {} : { namespace }), ...fields }, there);
  });
  return { best: narrow.length > FEW ? [scopeOf(resource, {}, keys)] : narrow, narrow };
}

function scopeOf(resource: Resource<KubeObject>, where: Selector, keys: readonly Key[]): Scope {
  const { group, version, plural } = resource;
  const wanted = new Set(keys.map((key) => keyText(placeOf(resource, key))));
  return {
    ...{ resource, where, wanted },
    id: `${group}/${version}/${plural} ${where.namespace ?? ''} ${where.fields ?? ''}`,
  };
}

/** Where an object is: what is in no namespace has none, whatever a manifest says. */
export function placeOf({ scope }: Resource<KubeObject>, { namespace, name }: Key): Key {
  return scope === 'Cluster' || namespace === undefined ? { name } : { namespace, name };
}

/** One scope that is watched, or was listed once. */
export interface WatchedScope extends AsyncDisposable {
  readonly scope: Scope;
  readonly once: boolean;
  /** Resolves when the first list is there, or never will be. */
  readonly begun: Promise<void>;
  /** The server does not let it be watched; the watch has ended. */
  readonly refused: boolean;
  look(key: Key): LiveLook;
}

/** How scopes are read. */
export interface ScopeReading {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  /** Listed, and not watched. */
  readonly once: boolean;
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Watches a scope, or lists it once. Of objects that are not wanted only the name is kept, of definitions no schema. While a watch is broken it knows nothing: what it had seen may be out of date for as long.
 */
export function watchScope(scope: Scope, { client, signal, once, onError }: ScopeReading): WatchedScope {
  const { resource, wanted } = scope;
  const stop = new AbortController();
  // Their generation stands for their content.
  const inPart = resource.plural === 'customresourcedefinitions';
  let refused = false;
  const source = (once ? listedOnce : createCache)({
    client,
    resource,
    where: scope.where,
    signal: AbortSignal.any([signal, stop.signal]),
    onError: (error: unknown) => {
      onError?.(error);
      if (!isForbidden(error)) return;
      refused = true;
      stop.abort(error);
    },
    transform: (object: KubeObject) => {
      if (!wanted.has(keyText(keyOf(object)))) return nameOnly(object);
      return inPart ? withoutContent(object) : object;
    },
  });
  return {
    ...{ scope, once },
    begun: source.synced.catch(() => undefined),
    get refused() {
      return refused;
    },
    look: (key) => {
      const id = keyText(placeOf(resource, key));
      if (refused || !wanted.has(id) || !source.health().healthy) return { known: false };
      const object = source.get(placeOf(resource, key));
      if (object === undefined) return { known: true, object };
      if (isNameOnly(object)) return { known: false };
      return inPart ? { known: true, object, partial: true } : { known: true, object };
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

function nameOnly({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  const kept = { name, ...(namespace === undefined ? {} : { namespace }) };
  return {
    ...typeOf({ apiVersion, kind }),
    metadata: { ...kept, uid: uid ?? '', resourceVersion: resourceVersion ?? '' },
  };
}

/** The server gives every object this. */
function isNameOnly({ metadata }: KubeObject): boolean {
  return metadata.creationTimestamp === undefined;
}

function withoutContent(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = object;
  const { status } = asJson(object);
  return { ...typeOf({ apiVersion, kind }), metadata, ...(status === undefined ? {} : { status }) };
}

function typeOf({
  apiVersion,
  kind,
}: {
  readonly apiVersion: string | undefined;
  readonly kind: string | undefined;
}): Pick<KubeObject, 'apiVersion' | 'kind'> {
  return { ...(apiVersion === undefined ? {} : { apiVersion }), ...(kind === undefined ? {} : { kind }) };
}
