import { setImmediate } from 'node:timers/promises';
import { type Clock, type Key, type KubeClient, type KubeObject, type Resource, systemClock } from '@drydock/kube';
import type { Manifest } from '../payload/manifest.ts';
import { keyOf } from './attempt.ts';
import { digestKeys } from './inventory/claims.ts';
import { createKinds } from './kinds.ts';
import type { LiveObjects } from './live.ts';
import { type ApplyMemory, applyMemory } from './memory.ts';
import { contentDigest } from './step.ts';
import { type Scope, type Scopes, scopesOf, type WatchedScope, watchScope } from './watched-scope.ts';

/** What is watched with. */
export interface WatchedOptions {
  /** In whose name: only what it may read is seen. */
  readonly client: KubeClient;
  readonly memory?: ApplyMemory;
  readonly signal: AbortSignal;
  /** Told of failed lists and watches, which go on unless they are forbidden. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
}

/** Live objects of payloads in watched caches. Dispose it to end the watches. */
export interface WatchedObjects extends LiveObjects, AsyncDisposable {
  /**
   * Watches what these manifests are about, and nothing else any more. Resolves when the first lists are there, or a few seconds have passed: what may not be watched, or does not answer, is not known, and asked for one by
   * one. Rejects with the signal's reason. `once`: they are listed, and not watched, for whoever makes most of them itself; what was watched is not any more.
   */
  cover(manifests: readonly Manifest[], signal?: AbortSignal, options?: { readonly once?: boolean }): Promise<void>;
}

/** Watches of one payload; each is a connection. What is beyond is asked for. */
const MOST = 128;
/** ms that first lists may take. */
const LISTED = 10_000;
/** Manifests that are digested before answers are looked at: some milliseconds. */
const AT_ONCE = 8;
/** ms before a watch that was forbidden is tried again: somebody may have bound a role. */
const REFUSED = 600_000;

/**
 * Watches the objects of a payload, so that a reconcile that changes nothing asks for nothing. Of objects that no manifest is about only the name is kept, of
 * definitions no schema: a payload with sixty of them has as many megabytes.
 */
export function watchedObjects(options: WatchedOptions): WatchedObjects {
  const { client, signal, memory = applyMemory(), onError, clock = systemClock } = options;
  const stop = new AbortController();
  const ends = AbortSignal.any([signal, stop.signal]);
  const watches = new Map<string, WatchedScope>();
  /** When each scope was refused. */
  const refusals = new Map<string, number>();
  /** The watches that may know an object, by its kind. */
  let byKind: ReadonlyMap<string, readonly WatchedScope[]> = new Map();

  const isRefused = ({ id }: Scope): boolean => {
    const at = refusals.get(id);
    return at !== undefined && clock.now() - at < REFUSED;
  };

  /** Watches exactly these, and tells whether some turned out to be forbidden. */
  async function watch(kinds: ReadonlyMap<string, Scopes>, once: boolean, calls: AbortSignal): Promise<boolean> {
    const chosen = [...kinds.values()].flatMap(({ best, narrow }) => (best.some(isRefused) ? narrow : best));
    const scopes = new Map(
      chosen
        .filter((scope) => !isRefused(scope))
        .slice(0, MOST)
        .map((scope) => [scope.id, scope]),
    );
    for (const [id, watched] of watches) {
      const scope = scopes.get(id);
      const lasts = !watched.refused && !watched.once && !once;
      // What was not wanted was not kept: it is read again.
      if (lasts && scope?.wanted.values().every((one) => watched.scope.wanted.has(one)) === true) continue;
      watches.delete(id);
      await watched[Symbol.asyncDispose]();
    }
    for (const [id, scope] of scopes)
      if (!watches.has(id)) watches.set(id, watchScope(scope, { client, signal: ends, once, onError }));
    byKind = Map.groupBy(watches.values(), ({ scope }) => nameOf(scope.resource));
    const all = Promise.all([...watches.values()].map(({ begun }) => begun));
    const over = new AbortController();
    const late = clock.sleep(LISTED, { signal: AbortSignal.any([calls, over.signal]) }).catch(() => undefined);
    await Promise.race([all, late]);
    over.abort();
    calls.throwIfAborted();
    const refused = [...watches.values()].filter((one) => one.refused);
    for (const { scope } of refused) refusals.set(scope.id, clock.now());
    return refused.length > 0;
  }

  return {
    cover: async (manifests, call = ends, { once = false } = {}) => {
      const calls = AbortSignal.any([call, ends]);
      const digested = digestAll(manifests);
      const served = createKinds({ client, manifests: [], memory, signal: calls });
      const found = new Map<string, { readonly resource: Resource<KubeObject>; readonly keys: Key[] }>();
      const silent = new Set<string>();
      const types = new Map(manifests.map((one) => [typeOf(one), one]));
      const asked = [...types].map(async ([type, { id, version }]) => {
        try {
          await served.resourceOf(id, version);
        } catch (error) {
          calls.throwIfAborted();
          onError?.(error);
          // Whoever applies is told so of each of them.
          silent.add(type);
        }
      });
      await Promise.all(asked);
      for (const manifest of manifests) {
        if (silent.has(typeOf(manifest))) continue;
        const resource = served.known(manifest.id, manifest.version);
        if (resource === undefined) continue;
        const kind = found.get(nameOf(resource)) ?? { resource, keys: [] };
        found.set(nameOf(resource), kind);
        kind.keys.push(keyOf(manifest));
      }
      const kinds = new Map([...found].map(([name, { resource, keys }]) => [name, scopesOf(resource, keys)]));
      if (await watch(kinds, once, calls)) await watch(kinds, once, calls);
      await digested;
    },
    look: (resource, key) => {
      for (const watched of byKind.get(nameOf(resource)) ?? []) {
        const look = watched.look(key);
        if (look.known) return look;
      }
      return { known: false };
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the payload is not watched any more'));
      await Promise.all([...watches.values()].map((one) => one[Symbol.asyncDispose]()));
    },
  };
}

/** Works out what the manifests say while the server answers: whoever applies them needs it for each. */
async function digestAll(manifests: readonly Manifest[]): Promise<void> {
  for (const [at, manifest] of manifests.entries()) {
    if (at % AT_ONCE === 0) await setImmediate();
    contentDigest(manifest.object);
    digestKeys(manifest);
  }
}

function typeOf({ id, version }: Manifest): string {
  return `${id.group}/${version}`;
}

function nameOf({ group, version, plural }: Resource<KubeObject>): string {
  return `${group}/${version}/${plural}`;
}
