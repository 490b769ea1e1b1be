import {
  type Cache,
  createCache,
  type Key,
  type KubeClient,
  type KubeObject,
  keyOf as keyOfObject,
  keyText,
  type Resource,
} from '@drydock/kube';
import type { Manifest } from '../payload/manifest.ts';
import { asJson, keyOf } from './attempt.ts';
import { createKinds } from './kinds.ts';
import type { LiveLook, LiveObjects } from './live.ts';
import { type ApplyMemory, applyMemory } from './memory.ts';
import { contentDigest, rememberDigest } from './step.ts';

/** What is watched with. */
export interface WatchedOptions {
  readonly client: KubeClient;
  readonly memory?: ApplyMemory;
  readonly signal: AbortSignal;
  /** Told of failed lists and watches, which go on. */
  readonly onError?: (error: unknown) => void;
}

/** Live objects of payloads in watched caches, one for each kind. Dispose it to end the watches. */
export interface WatchedObjects extends LiveObjects, AsyncDisposable {
  /** Watches what these manifests are about, besides what is watched already. Resolves when the first lists are there. */
  cover(manifests: readonly Manifest[]): Promise<void>;
}

interface Watched {
  readonly cache: Cache<KubeObject>;
  readonly wanted: ReadonlySet<string>;
  /** Of definitions only this is kept of what they define. */
  readonly digests: Map<string, { readonly version: string | undefined; readonly digest: string }>;
  readonly synced: () => boolean;
}

/**
 * Watches the kinds of a payload, so that a reconcile that changes nothing asks for nothing. Of objects that no manifest is about only the name is kept, of
 * definitions no schema: a payload with sixty of them has as many megabytes.
 */
export function watchedObjects(options: WatchedOptions): WatchedObjects {
  const { client, signal, memory = applyMemory(), onError } = options;
  const kinds = new Map<string, Watched>();
  const stop = new AbortController();
  const ends = AbortSignal.any([signal, stop.signal]);

  function watch(resource: Resource<KubeObject>, wanted: ReadonlySet<string>): Watched {
    const definitions = resource.plural === 'customresourcedefinitions';
    const digests: Watched['digests'] = new Map();
    let synced = false;
    const cache = createCache<KubeObject>({
      client,
      resource,
      signal: ends,
      ...(onError === undefined ? {} : { onError }),
      transform: (object) => {
        const key = keyText(keyOfObject(object));
        if (!wanted.has(key)) return nameOnly(object);
        if (!definitions) return object;
        digests.set(key, { version: object.metadata.resourceVersion, digest: contentDigest(asJson(object)) });
        return withoutContent(object);
      },
    });
    cache.synced.then(
      () => {
        synced = true;
      },
      () => undefined,
    );
    return { cache, wanted, digests, synced: () => synced };
  }

  return {
    cover: async (manifests) => {
      const served = createKinds({ client, manifests: [], memory, signal: ends });
      const fresh = new Map<string, { readonly resource: Resource<KubeObject>; readonly wanted: Set<string> }>();
      for (const manifest of manifests) {
        const resource = await served.resourceOf(manifest.id, manifest.version);
        if (resource === undefined) continue;
        const name = nameOf(resource);
        const key = keyText(placeOf(resource, keyOf(manifest)));
        const watched = kinds.get(name)?.wanted ?? new Set();
        if (!watched.has(key))
          fresh.set(name, { resource, wanted: (fresh.get(name)?.wanted ?? new Set(watched)).add(key) });
      }
      for (const [name, { resource, wanted }] of fresh) {
        // What was not wanted was not kept: the kind is read again.
        await kinds.get(name)?.cache[Symbol.asyncDispose]();
        kinds.set(name, watch(resource, wanted));
      }
      await Promise.all([...kinds.values()].map(({ cache }) => cache.synced));
    },
    look: (resource, key): LiveLook => {
      const watched = kinds.get(nameOf(resource));
      const id = keyText(placeOf(resource, key));
      if (watched === undefined || !watched.synced() || !watched.wanted.has(id)) return { known: false };
      const object = watched.cache.get(placeOf(resource, key));
      if (object === undefined) return { known: true, object };
      if (isNameOnly(object)) return { known: false };
      const digest = watched.digests.get(id);
      if (digest === undefined) return { known: true, object };
      if (digest.version !== object.metadata.resourceVersion) return { known: false };
      rememberDigest(asJson(object), digest.digest);
      return { known: true, object, partial: true };
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the payload is not watched any more'));
      for (const { cache } of kinds.values()) await cache[Symbol.asyncDispose]();
    },
  };
}

function nameOf({ group, version, plural }: Resource<KubeObject>): string {
  return `${group}/${version}/${plural}`;
}

function placeOf({ scope }: Resource<KubeObject>, { namespace, name }: Key): Key {
  return scope === 'Cluster' || namespace === undefined ? { name } : { namespace, name };
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
