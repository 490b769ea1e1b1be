import {
  apiVersionOf,
  type Client,
  type KubeClient,
  type KubeObject,
  type ListPage,
  type Resource,
  type Selector,
  type WatchEvent,
} from '@drydock/kube';
import type { KubeConfig } from '@kubernetes/client-node';
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../../../packages/kube/src/patch-types.ts';
import { CannotSay, type PeerCall, peerCalls } from './peer-calls.ts';
import { peerEvents } from './peer-watch.ts';

interface PeerList<T> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** The peer behind our interface. */
export interface PeerClient extends Client, Pick<KubeClient, 'pages' | 'raw' | 'watch'> {
  /** What was asked of it that it has no call for. */
  readonly unsaid: readonly string[];
}

/**
 * The verbs, spoken through `@kubernetes/client-node`: its typed API for the core group, its `CustomObjectsApi` for the rest, its `Watch`.
 * What it has no call for rejects with `CannotSay` and is noted in `unsaid`. Errors are its exceptions, with the server's Status read
 * by our table of codes.
 */
export function peerClient(config: KubeConfig): PeerClient {
  const made = peerCalls(config);
  const unsaid: string[] = [];

  function noted<R>(make: () => Promise<R>): Promise<R> {
    return make().catch((error: unknown) => {
      if (error instanceof CannotSay) unsaid.push(error.message);
      throw error;
    });
  }

  const call = (request: PeerCall): Promise<unknown> => noted(() => made(request));

  async function one<T extends KubeObject>(resource: Resource<T>, request: Omit<PeerCall, 'kind'>): Promise<T> {
    return plain(resource, (await call({ kind: resource, ...request })) as T);
  }

  async function page<T extends KubeObject>(
    kind: Resource<T>,
    where: Selector,
    token: string | undefined,
  ): Promise<{ readonly page: ListPage<T>; readonly next: string | undefined }> {
    const query = { ...selection(where), limit: '500', ...(token === undefined ? {} : { continue: token }) };
    const list = (await call({ kind, verb: 'list', namespace: where.namespace, query })) as PeerList<T>;
    const { resourceVersion = '', continue: next } = list.metadata;
    return {
      page: { items: list.items.map((item) => plain(kind, item)), resourceVersion },
      next: next === '' ? undefined : next,
    };
  }

  async function* pages<T extends KubeObject>(kind: Resource<T>, where: Selector = {}): AsyncGenerator<ListPage<T>> {
    let token: string | undefined;
    do {
      const got = await page(kind, where, token);
      yield got.page;
      token = got.next;
    } while (token !== undefined);
  }

  const dry = (options: { readonly dryRun?: boolean } | undefined): Record<string, string> =>
    options?.dryRun === true ? { dryRun: 'All', fieldManager: 'drydock' } : { fieldManager: 'drydock' };

  return {
    get: (resource, key) => one(resource, { verb: 'get', ...key }),
    create: (resource, object, options) => {
      const { namespace } = object.metadata;
      if (options?.answer !== undefined)
        return noted(() => Promise.reject(new CannotSay('an answer of metadata alone')));
      return one(resource, { verb: 'create', namespace, query: dry(options), body: typed(resource, object) });
    },
    replace: (resource, object, options) => {
      const { name, namespace } = object.metadata;
      return one(resource, { verb: 'replace', name, namespace, query: dry(options), body: typed(resource, object) });
    },
    replaceStatus: (resource, object, options) => {
      const { name, namespace } = object.metadata;
      const body = typed(resource, object);
      return one(resource, { verb: 'replace', status: true, name, namespace, query: dry(options), body });
    },
    apply: (resource, want, as, options) => {
      const { name, namespace } = want.metadata;
      const query = { ...dry(options), fieldManager: as.manager, ...(as.force === true ? { force: 'true' } : {}) };
      const body = typed(resource, want);
      return one(resource, { verb: 'patch', name, namespace, query, body, contentType: APPLY_PATCH });
    },
    applyStatus: (resource, want, as, options) => {
      const { name, namespace } = want.metadata;
      const query = { ...dry(options), fieldManager: as.manager, ...(as.force === true ? { force: 'true' } : {}) };
      const body = typed(resource, want);
      return one(resource, { verb: 'patch', status: true, name, namespace, query, body, contentType: APPLY_PATCH });
    },
    patch: (resource, { name, namespace }, ops, options) =>
      one(resource, { verb: 'patch', name, namespace, query: dry(options), body: ops, contentType: JSON_PATCH }),
    mergePatch: (resource, { name, namespace }, body, options) =>
      one(resource, { verb: 'patch', name, namespace, query: dry(options), body, contentType: MERGE_PATCH }),
    delete: async (resource, { name, namespace }, preconditions, options) => {
      const body = {
        ...(preconditions === undefined ? {} : { preconditions }),
        ...(options?.propagation === undefined ? {} : { propagationPolicy: options.propagation }),
        ...(options?.dryRun === true ? { dryRun: ['All'] } : {}),
      };
      await call({ kind: resource, verb: 'delete', name, namespace, body });
    },
    async *list(resource, where) {
      for await (const { items } of pages(resource, where)) yield* items;
    },
    pages,
    async *watch<T extends KubeObject>(
      resource: Resource<T>,
      { resourceVersion, timeoutSeconds, opened }: Parameters<KubeClient['watch']>[1],
      where: Selector = {},
      { signal }: { readonly signal?: AbortSignal } = {},
    ): AsyncGenerator<WatchEvent<T>> {
      const query = {
        ...selection(where),
        allowWatchBookmarks: true,
        timeoutSeconds,
        ...(resourceVersion === '' ? {} : { resourceVersion }),
      };
      for await (const { type, object } of peerEvents(
        config,
        pathOf(resource, where.namespace),
        query,
        opened,
        signal,
      )) {
        if (type === 'BOOKMARK') yield { type, resourceVersion: object.metadata.resourceVersion ?? '' };
        else yield { type, object: plain(resource, object as T) };
      }
    },
    raw: ({ method = 'GET', path, body, contentType }) =>
      noted(async () => made(callOf(method, path, body, contentType))),
    unsaid,
  };
}

/** A request by its path, as the call that the peer has for it. */
function callOf(method: string, path: string, body: unknown, contentType: string | undefined): PeerCall {
  const url = new URL(path, 'http://server');
  const found =
    /^\/api(?:s\/(?<group>[^/]+))?\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?<status>\/status)?$/.exec(
      url.pathname,
    );
  if (found?.groups === undefined) throw new CannotSay(`a request on ${url.pathname}`);
  const { group = '', version = '', namespace, plural = '', name, status } = found.groups;
  const verbs: Readonly<Record<string, PeerCall['verb']>> = {
    GET: name === undefined ? 'list' : 'get',
    POST: 'create',
    PUT: 'replace',
    PATCH: 'patch',
    DELETE: 'delete',
  };
  const verb = verbs[method];
  if (verb === undefined) throw new CannotSay(`the method ${method}`);
  if (url.searchParams.has('watch')) throw new CannotSay('a watch as text');
  if (verb === 'patch' && contentType === undefined) throw new CannotSay('a patch without a content type');
  const kind = { group, version, plural };
  const query = Object.fromEntries(url.searchParams);
  return { kind, verb, name, namespace, status: status !== undefined, query, body, contentType };
}

function pathOf({ group, version, plural }: Resource<KubeObject>, namespace: string | undefined): string {
  const root = group === '' ? '/api' : `/apis/${group}`;
  return `${root}/${version}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
}

function selection({ labels, fields }: Selector): Record<string, string> {
  return {
    ...(labels === undefined ? {} : { labelSelector: labels }),
    ...(fields === undefined ? {} : { fieldSelector: fields }),
  };
}

function typed<T extends KubeObject>(resource: Resource<T>, object: T): T {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}

/** As our client gives it: with its kind, without `managedFields`. */
function plain<T extends KubeObject>(resource: Resource<T>, object: T): T {
  const { managedFields: _left, ...metadata } = object.metadata as T['metadata'] & { readonly managedFields?: unknown };
  return { ...typed(resource, object), metadata };
}
