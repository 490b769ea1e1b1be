import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../../patch-types.ts';
import { remove } from './deletion.ts';
import { type JsonObject, objectOf, shown } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { jsonPatch, mergePatch } from './patches.ts';
import { list, type ReadTarget } from './reads.ts';
import { badRequest, invalidOptions, notFound, notServed, Refusal } from './refusal.ts';
import { type Store, storeId } from './store.ts';
import { type Listener, watch } from './watching.ts';
import { createWriter, served, type WriteTarget } from './writes.ts';

/** One request, as it comes off the wire. */
export interface ServerRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  /** Heeded for what is made and replaced. */
  readonly accept?: string | undefined;
  /** Who owns the fields that are written, unless the query names somebody: the user agent up to the first `/`. */
  readonly agent: string;
}

/** One answer: a JSON value, or plain text. */
export interface ServerAnswer {
  readonly code: number;
  readonly body: unknown;
}

/** The API server's front door. */
export interface Server {
  answer(request: ServerRequest): ServerAnswer;
  /** Starts a watch; a Refusal thrown here is the HTTP answer. */
  watch(request: ServerRequest, listener: Listener): Disposable;
}

/** What a path means. */
export interface Route {
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: 'status' | undefined;
  readonly query: URLSearchParams;
}

const PATH =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>v[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<subresource>[^/]+))?)?$/;

/** Finds the kind that a path names; undefined for paths outside the resources. */
export function routeOf(kinds: readonly ServedKind[], path: string): Route | undefined {
  const url = new URL(path, 'http://cluster');
  const whole = PATH.exec(url.pathname)?.groups;
  if (whole === undefined) return undefined;
  // `/namespaces/a/status` reads like a kind in a namespace.
  const groups: Readonly<Record<string, string | undefined>> = {
    ...whole,
    ...(whole['plural'] === 'status' ? { plural: 'namespaces', name: whole['namespace'], subresource: 'status' } : {}),
  };
  const { group = '', version = '', plural = '', subresource } = groups;
  const kind = kinds.find((one) => one.group === group && one.plural === plural && one.versions.includes(version));
  if (kind === undefined || (subresource !== undefined && subresource !== 'status')) return undefined;
  const decoded = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : decodeURIComponent(text);
  const namespace = kind.namespaced ? decoded(groups['namespace']) : undefined;
  return { kind, version, namespace, name: decoded(groups['name']), subresource, query: url.searchParams };
}

/** A server over a store. `kinds` may grow while it runs. */
export function createServer(store: Store, kinds: readonly ServedKind[], clock: Clock): Server {
  const writer = createWriter(store, () => clock.date(), randomUUID);

  function targetOf(route: Route, request: ServerRequest, options: string): WriteTarget {
    const dryRun = route.query.getAll('dryRun');
    if (dryRun.length > 0 && (dryRun.length > 1 || dryRun[0] !== 'All')) {
      const message = `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`;
      throw invalidOptions(options, 'dryRun', 'FieldValueNotSupported', message);
    }
    const { kind, version, namespace, name = '', subresource, query } = route;
    const manager = query.get('fieldManager') ?? request.agent;
    const strict = query.get('fieldValidation') === 'Strict';
    return { kind, version, namespace, name, subresource, manager, dryRun: dryRun.length > 0, strict };
  }

  function handle(request: ServerRequest): ServerAnswer {
    const route = routeOf(kinds, request.path);
    if (route === undefined) return outside(kinds, request);
    if (route.name === undefined) return collection(route, request);
    return single(route, request);
  }

  function collection(route: Route, request: ServerRequest): ServerAnswer {
    const read: ReadTarget = route;
    if (request.method === 'GET') return { code: 200, body: list(store, read) };
    if (request.method !== 'POST') throw notAllowed();
    const { code, object } = writer.create(targetOf(route, request, 'CreateOptions'), bodyOf(route, request));
    return { code, body: answered(object, request) };
  }

  function single(route: Route, request: ServerRequest): ServerAnswer {
    const { kind, version, namespace, name = '', subresource } = route;
    switch (request.method) {
      case 'GET': {
        const found = store.get(kind, storeId(namespace, name));
        if (found === undefined) throw notFound(kind, name);
        if (subresource !== undefined && !kind.status) throw notServed();
        return { code: 200, body: served(found, kind, version) };
      }
      case 'PUT': {
        const { code, object } = writer.replace(targetOf(route, request, 'UpdateOptions'), bodyOf(route, request));
        return { code, body: answered(object, request) };
      }
      case 'PATCH': {
        const { code, object } = patch(route, request);
        return { code, body: object };
      }
      case 'DELETE': {
        if (subresource !== undefined) throw notAllowed();
        const { propagationPolicy = route.query.get('propagationPolicy') ?? undefined, ...body } = objectOf(
          request.body,
        );
        const dryRun = listText(body['dryRun']) ?? route.query.getAll('dryRun');
        const options = { ...body, ...(propagationPolicy === undefined ? {} : { propagationPolicy }) };
        const target = { ...targetOf(route, request, 'DeleteOptions'), dryRun: dryRun.length > 0 };
        return remove(store, target, options, clock.date());
      }
      default:
        throw notAllowed();
    }
  }

  function patch(route: Route, request: ServerRequest): { code: number; object: JsonObject } {
    const target = targetOf(route, request, 'PatchOptions');
    switch (request.contentType) {
      case JSON_PATCH:
        return writer.patch(target, (current) => jsonPatch(current, request.body));
      case MERGE_PATCH:
        return writer.patch(target, (current) => objectOf(mergePatch(current, request.body)));
      case APPLY_PATCH: {
        if (!route.query.get('fieldManager')) {
          const message = 'Required value: is required for apply patch';
          throw invalidOptions('PatchOptions', 'fieldManager', 'FieldValueRequired', message);
        }
        return writer.apply(target, objectOf(request.body), route.query.get('force') === 'true');
      }
      default:
        throw new Refusal({
          code: 415,
          reason: 'UnsupportedMediaType',
          message: 'the body of the request was in an unknown format',
        });
    }
  }

  return {
    answer: (request) => {
      try {
        return handle(request);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const { status } = error;
        return {
          code: status.code,
          body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status },
        };
      }
    },
    watch: (request, listener) => {
      const route = routeOf(kinds, request.path);
      if (route === undefined || route.name !== undefined) throw notServed();
      return watch(store, route, clock, listener);
    },
  };
}

/** What is answered for an object that was written: its metadata, where no more is asked for. */
function answered(object: JsonObject, { accept }: ServerRequest): JsonObject {
  if (accept?.includes('as=PartialObjectMetadata;') !== true) return object;
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object['metadata'] ?? {} };
}

function listText(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.map(String) : undefined;
}

function bodyOf({ kind, version }: Route, { body }: ServerRequest): JsonObject {
  const object = objectOf(body);
  const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`;
  const { kind: given = kind.kind, apiVersion: as = apiVersion } = object;
  if (given === kind.kind && as === apiVersion) return object;
  throw badRequest(`${shown(given)} in version "${shown(as)}" cannot be handled as a ${kind.kind}`);
}

function notAllowed(): Refusal {
  const message = 'the server does not allow this method on the requested resource';
  return new Refusal({ code: 405, reason: 'MethodNotAllowed', message, details: {} });
}

/** Health, version and discovery of one group. */
function outside(kinds: readonly ServedKind[], { method, path }: ServerRequest): ServerAnswer {
  const { pathname } = new URL(path, 'http://cluster');
  if (method !== 'GET') throw notServed();
  if (['/readyz', '/livez', '/healthz'].includes(pathname)) return { code: 200, body: 'ok' };
  if (pathname === '/version') return { code: 200, body: { major: '1', minor: '34', gitVersion: 'v1.34.4' } };
  const [, group = '', version = ''] = /^\/(?:api|apis\/([^/]+))\/(v[^/]+)$/.exec(pathname) ?? [];
  const served = kinds.filter((one) => one.group === group && one.versions.includes(version));
  if (served.length === 0) throw notServed();
  const resources = served.flatMap(({ plural, kind, namespaced, status }) =>
    [plural, ...(status ? [`${plural}/status`] : [])].map((name) => ({ name, kind, namespaced })),
  );
  const groupVersion = group === '' ? version : `${group}/${version}`;
  return { code: 200, body: { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources } };
}
