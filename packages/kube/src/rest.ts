import type { CallOptions, FieldOwner, KubeClient, ListPage, Selector, WatchEvent, WatchFrom } from './client.ts';
import { settled } from './decode.ts';
import { ApiError, isExpired } from './errors.ts';
import type { ClusterConfig } from './kubeconfig.ts';
import { actionText, apiVersionOf, collectionPath, objectPath, queryText, selectorParams } from './path.ts';
import { type Key, type KubeObject, keyOf, keyText, type Resource } from './resource.ts';
import { createTransport, JSON_PATCH, type TransportOptions, type WireRequest } from './transport.ts';
import { readWatch } from './watch.ts';

/** Objects per page: keeps each JSON.parse below about 10 ms. */
const PAGE = '500';

/** How often `list` starts again after an expired continue token. */
const RESTARTS = 3;

/** A watch that the server does not end this long (ms) after its own deadline is dead. */
const WATCH_GRACE = 15_000;

const MERGE_PATCH = 'application/merge-patch+json';
const APPLY_PATCH = 'application/apply-patch+yaml';

interface RawList<T> {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items?: readonly T[] | null;
}

/** Makes the client of one API server. It opens no connection before the first call; dispose it to close them all. */
export function createClient(config: ClusterConfig, options: TransportOptions = {}): KubeClient {
  const transport = createTransport(config, options);
  const origin = new URL(config.server).origin;

  async function json<R>(request: WireRequest): Promise<R> {
    const body = await transport.call(request);
    try {
      return JSON.parse(body) as R;
    } catch {
      throw new ApiError({ code: 'ServerError', action: request.action, said: 'the answer is not JSON', status: 200 });
    }
  }

  async function one<T extends KubeObject>(resource: Resource<T>, request: WireRequest): Promise<T> {
    return settled(await json<T>(request), resource);
  }

  function put<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    subresource: 'status' | undefined,
    call: CallOptions | undefined,
  ): Promise<T> {
    const action = actionText(subresource === undefined ? 'replace' : 'replace status of', resource, keyOf(object));
    if (!object.metadata.resourceVersion) {
      throw new ApiError({
        code: 'BadRequest',
        action,
        said: 'metadata.resourceVersion is absent, so the write would be unguarded',
      });
    }
    const path = objectPath(resource, keyOf(object), subresource);
    return one(resource, { method: 'PUT', path, action, body: typed(resource, object), signal: call?.signal });
  }

  function applied<T extends KubeObject>(
    resource: Resource<T>,
    want: T,
    as: FieldOwner,
    subresource: 'status' | undefined,
    call: CallOptions | undefined,
  ): Promise<T> {
    const query = queryText({ fieldManager: as.manager, force: as.force === true ? 'true' : undefined });
    return one(resource, {
      method: 'PATCH',
      path: objectPath(resource, keyOf(want), subresource) + query,
      action: actionText(subresource === undefined ? 'apply' : 'apply status of', resource, keyOf(want)),
      body: typed(resource, want),
      contentType: APPLY_PATCH,
      signal: call?.signal,
    });
  }

  async function* pages<T extends KubeObject>(
    resource: Resource<T>,
    where?: Selector,
    call?: CallOptions,
  ): AsyncGenerator<ListPage<T>, void> {
    let token: string | undefined;
    do {
      // Never with a resourceVersion: the server ignores `limit` for 0, and forbids it beside a continue token.
      const query = queryText({ limit: PAGE, continue: token, ...selectorParams(where) });
      const path = collectionPath(resource, where?.namespace) + query;
      const list: RawList<T> = await json({
        method: 'GET',
        path,
        action: actionText('list', resource),
        signal: call?.signal,
      });
      token = list.metadata?.continue;
      const remaining = list.metadata?.remainingItemCount;
      yield {
        items: (list.items ?? []).map((item) => settled(item, resource)),
        resourceVersion: list.metadata?.resourceVersion ?? '',
        ...(remaining === undefined ? {} : { remaining }),
      };
    } while (token);
  }

  async function* list<T extends KubeObject>(
    resource: Resource<T>,
    where?: Selector,
    call?: CallOptions,
  ): AsyncGenerator<T, void> {
    const seen = new Set<string>();
    for (let restarts = 0; ; restarts++) {
      try {
        for await (const page of pages(resource, where, call)) {
          for (const item of page.items) {
            const key = keyText(keyOf(item));
            if (seen.has(key)) continue;
            seen.add(key);
            yield item;
          }
        }
        return;
      } catch (error) {
        if (!isExpired(error) || restarts === RESTARTS) throw error;
      }
    }
  }

  async function* watch<T extends KubeObject>(
    resource: Resource<T>,
    from: WatchFrom,
    where?: Selector,
    call?: CallOptions,
  ): AsyncGenerator<WatchEvent<T>, void> {
    const query = queryText({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: from.resourceVersion,
      timeoutSeconds: String(from.timeoutSeconds),
      ...selectorParams(where),
    });
    const action = actionText('watch', resource);
    const path = collectionPath(resource, where?.namespace) + query;
    const stream = await transport.stream({ method: 'GET', path, action, signal: call?.signal });
    const deadline = from.timeoutSeconds * 1000 + WATCH_GRACE;
    yield* readWatch({ stream, resource, action, origin, deadline, signal: call?.signal });
  }

  return {
    pages,
    list,
    watch,
    get: async (resource, key, call) =>
      one(resource, {
        method: 'GET',
        path: objectPath(resource, key),
        action: actionText('get', resource, key),
        signal: call?.signal,
      }),
    create: async (resource, object, call) => {
      const key = keyOf(object);
      objectPath(resource, key);
      return one(resource, {
        method: 'POST',
        path: collectionPath(resource, key.namespace),
        action: actionText('create', resource, key),
        body: typed(resource, object),
        signal: call?.signal,
      });
    },
    replace: async (resource, object, call) => put(resource, object, undefined, call),
    replaceStatus: async (resource, object, call) => put(resource, object, 'status', call),
    apply: async (resource, want, as, call) => applied(resource, want, as, undefined, call),
    applyStatus: async (resource, want, as, call) => applied(resource, want, as, 'status', call),
    patch: async (resource, key, ops, call) =>
      one(resource, {
        method: 'PATCH',
        path: objectPath(resource, key),
        action: actionText('patch', resource, key),
        body: ops,
        contentType: JSON_PATCH,
        signal: call?.signal,
      }),
    mergePatch: async (resource, key, patch, call) =>
      one(resource, {
        method: 'PATCH',
        path: objectPath(resource, key),
        action: actionText('patch', resource, key),
        body: patch,
        contentType: MERGE_PATCH,
        signal: call?.signal,
      }),
    delete: async (resource, key: Key, when, call) => {
      await transport.call({
        method: 'DELETE',
        path: objectPath(resource, key),
        action: actionText('delete', resource, key),
        ...(when === undefined ? {} : { body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: when } }),
        signal: call?.signal,
      });
    },
    raw: async ({ method = 'GET', path, body, contentType }, call) => {
      const text = await transport.call({
        method,
        path,
        action: `${method} ${path}`,
        ...(body === undefined ? {} : { body }),
        ...(contentType === undefined ? {} : { contentType }),
        signal: call?.signal,
      });
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return text;
      }
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

function typed<T extends KubeObject>(resource: Resource<T>, object: T): T {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}
