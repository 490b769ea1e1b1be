import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../../patch-types.ts';
import { remove, removeAll } from './deletion.ts';
import { isObject, type JsonObject, objectOf, shown } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { nameOf } from './metadata.ts';
import { jsonPatch, mergePatch } from './patches.ts';
import type { ServerPorts } from './ports.ts';
import { list, type ReadTarget, versionOf } from './reads.ts';
import { badRequest, invalid, invalidOptions, notFound, notServed, Refusal, serverError } from './refusal.ts';
import { checkWriteOptions } from './request-options.ts';
import { atOnce, type Steps } from './steps.ts';
import { type Store, storeId } from './store.ts';
import { type Listener, watch } from './watching.ts';
import { createWriter, served, type WriteTarget, type Written } from './writes.ts';

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
  /** Passed on to admission. */
  readonly user?: unknown;
}

/** One answer: a JSON value, or plain text. */
export interface ServerAnswer {
  readonly code: number;
  readonly body: unknown;
  /** Absent: none. */
  readonly warnings?: readonly string[];
}

/** The API server's front door. */
export interface Server {
  /** At once; for servers whose ports wait for nobody. */
  answer(request: ServerRequest): ServerAnswer;
  steps(request: ServerRequest): Steps<ServerAnswer>;
  /** Starts a watch; a Refusal thrown here is the HTTP answer. */
  watch(request: ServerRequest, listener: Listener): Disposable;
}

/** What a path means. */
export interface Route {
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
}

const PATH =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>v[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+)(?:\/(?<subresource>[^/]+))?)?$/;

const OPTIONS: Readonly<Record<string, string>> = { POST: 'CreateOptions', PATCH: 'PatchOptions' };

/** Subresources of namespaces, whose paths read like a kind in a namespace. */
const OF_NAMESPACES = ['status', 'finalize'];

/** Finds the kind that a path names; undefined for paths outside the resources. */
export function routeOf(kinds: readonly ServedKind[], path: string): Route | undefined {
  const url = new URL(path, 'http://cluster');
  const whole = PATH.exec(url.pathname)?.groups;
  if (whole === undefined) return undefined;
  const last = whole['plural'] ?? '';
  const ofNamespace =
    OF_NAMESPACES.includes(last) && whole['name'] === undefined && whole['namespace'] !== undefined
      ? { plural: 'namespaces', name: whole['namespace'], subresource: last }
      : {};
  const groups: Readonly<Record<string, string | undefined>> = { ...whole, ...ofNamespace };
  const { group = '', version = '', plural = '', subresource } = groups;
  const kind = kinds.find((one) => one.group === group && one.plural === plural && one.versions.includes(version));
  if (kind === undefined) return undefined;
  const open = !kind.builtIn && kind.rules !== undefined;
  if (subresource !== undefined && subresource !== 'status' && !open) {
    if (kind.subresources?.includes(subresource) !== true) return undefined;
  }
  const decoded = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : decodeURIComponent(text);
  const namespace = kind.namespaced ? decoded(groups['namespace']) : undefined;
  return { kind, version, namespace, name: decoded(groups['name']), subresource, query: url.searchParams };
}

/** A server over a store. `kinds` may grow while it runs. */
export function createServer(
  store: Store,
  kinds: readonly ServedKind[],
  clock: Clock,
  ports: ServerPorts = {},
): Server {
  const writer = createWriter(store, () => clock.date(), randomUUID, ports);

  function targetOf(route: Route, request: ServerRequest, options: string, warnings: string[]): WriteTarget {
    checkWriteOptions(options, route.query, request.contentType === APPLY_PATCH && request.method === 'PATCH');
    const dryRun = route.query.getAll('dryRun');
    const { kind, version, namespace, name = '', subresource, query } = route;
    return {
      kind,
      version,
      namespace,
      name,
      subresource,
      manager: query.get('fieldManager') ?? request.agent,
      dryRun: dryRun.length > 0,
      validation: (query.get('fieldValidation') || 'Warn') as WriteTarget['validation'],
      user: request.user,
      options: {
        kind: options,
        apiVersion: 'meta.k8s.io/v1',
        ...(dryRun.length > 0 ? { dryRun } : {}),
        ...(query.has('fieldManager') ? { fieldManager: query.get('fieldManager') } : {}),
      },
      warn: (text) => void warnings.push(text),
    };
  }

  function* handle(request: ServerRequest, warnings: string[]): Steps<ServerAnswer> {
    const route = routeOf(kinds, request.path);
    if (route === undefined) return outside(kinds, request);
    const { subresource, name } = route;
    if (subresource !== undefined && subresource !== 'status') {
      const { kind, version, namespace, query } = route;
      const options = OPTIONS[request.method] ?? 'UpdateOptions';
      const target = targetOf(route, request, options, warnings);
      const { dryRun, manager, warn } = target;
      const { method, body, contentType, user } = request;
      const here = { kind, version, namespace, name: name ?? '', subresource, method, query, body, contentType };
      const answering = ports.other?.({
        ...here,
        manager,
        dryRun,
        user,
        warn,
        patch: (change, unowned) => writer.patch(unowned === undefined ? target : { ...target, unowned }, change),
        store: (change) => {
          const id = storeId(namespace, here.name);
          const found = store.get(kind, id);
          if (found === undefined) throw notFound(kind, here.name);
          const next = change(found);
          if (!dryRun) store.put(kind, id, next);
        },
        remove: (options) => remove(store, { ...target, options }, options, clock.date(), ports),
        current: () => {
          const found = store.get(kind, storeId(namespace, here.name));
          if (found === undefined) throw notFound(kind, here.name);
          return found;
        },
      });
      const other = answering === undefined ? undefined : yield* answering;
      if (other === undefined) throw kind.builtIn ? notServed() : notFound(kind, here.name);
      return other;
    }
    if (name === undefined) return yield* collection(route, request, warnings);
    return yield* single(route, request, warnings);
  }

  function* collection(route: Route, request: ServerRequest, warnings: string[]): Steps<ServerAnswer> {
    const read: ReadTarget = route;
    const homeless = route.kind.namespaced && route.namespace === undefined;
    if (homeless && request.method !== 'GET') throw notAllowed();
    switch (request.method) {
      case 'GET':
        return { code: 200, body: yield* list(store, read, ports) };
      case 'POST': {
        const target = targetOf(route, request, 'CreateOptions', warnings);
        const body = bodyOf(route, request);
        const closed = route.kind.rules?.closed?.();
        if (closed !== undefined) throw refusedCreate(route.kind, nameOf(body), closed);
        const { code, object } = yield* writer.create(target, body);
        return { code, body: answered(object, request) };
      }
      case 'DELETE': {
        // Namespaces go one by one.
        if (route.kind.kind === 'Namespace' && route.kind.group === '') throw notAllowed();
        const { target, options } = deletion(route, request, warnings);
        return yield* removeAll(store, read, target, options, clock.date(), ports);
      }
      default:
        throw notAllowed();
    }
  }

  function* single(route: Route, request: ServerRequest, warnings: string[]): Steps<ServerAnswer> {
    const { kind, version, namespace, name = '', subresource } = route;
    if (kind.namespaced && namespace === undefined) throw notServed();
    switch (request.method) {
      case 'GET': {
        versionOf(route.query, kind.kind === 'Event' && kind.builtIn ? badVersion : serverError);
        const found = store.get(kind, storeId(namespace, name));
        if (found === undefined) throw notFound(kind, name);
        if (subresource !== undefined && !kind.status) throw notServed();
        const [object = found] = yield* inVersion(ports, kind, version, [found]);
        return { code: 200, body: served(object, kind, version) };
      }
      case 'PUT': {
        const target = targetOf(route, request, 'UpdateOptions', warnings);
        const { code, object } = yield* writer.replace(target, bodyOf(route, request));
        return { code, body: answered(object, request) };
      }
      case 'PATCH': {
        const { code, object } = yield* patch(route, request, warnings);
        return { code, body: answered(object, request) };
      }
      case 'DELETE': {
        if (subresource !== undefined) throw notAllowed();
        const { target, options } = deletion(route, request, warnings);
        return yield* remove(store, target, options, clock.date(), ports);
      }
      default:
        throw notAllowed();
    }
  }

  function deletion(
    route: Route,
    request: ServerRequest,
    warnings: string[],
  ): { target: WriteTarget; options: JsonObject } {
    const body = objectOf(request.body);
    // A body wins over the whole query.
    const asQuery = request.body === undefined ? route.query : new URLSearchParams();
    const query = Object.fromEntries(
      ['propagationPolicy', 'gracePeriodSeconds', 'orphanDependents']
        .map((key) => [key, asQuery.get(key)] as const)
        .filter(([, value]) => value !== null)
        .map(([key, value]) => [key, key === 'gracePeriodSeconds' ? Number(value) : value]),
    );
    const options: JsonObject = { ...query, ...body };
    const asked = listText(body['dryRun']);
    const dryRun = asked ?? asQuery.getAll('dryRun');
    if (asked?.some((one) => one !== 'All')) throw badDryRun('DeleteOptions', asked);
    return {
      target: {
        ...targetOf({ ...route, query: asQuery }, request, 'DeleteOptions', warnings),
        dryRun: dryRun.length > 0,
        options,
      },
      options,
    };
  }

  function patch(route: Route, request: ServerRequest, warnings: string[]): Steps<Written> {
    const { contentType = '' } = request;
    const strategic = route.kind.builtIn && ports.strategicMerge !== undefined;
    const types = [JSON_PATCH, MERGE_PATCH, ...(strategic ? [STRATEGIC_MERGE_PATCH] : []), APPLY_PATCH];
    if (!types.includes(contentType)) throw unsupportedPatch(route.kind);
    const target = targetOf(route, request, 'PatchOptions', warnings);
    switch (contentType) {
      case JSON_PATCH:
        return writer.patch(target, (current) => jsonPatch(current, request.body));
      case MERGE_PATCH:
        return writer.patch(target, (current) => objectOf(mergePatch(current, mapOf(request.body))));
      case APPLY_PATCH:
        return writer.apply(target, objectOf(request.body), route.query.get('force') === 'true');
      default:
        return writer.patch(
          target,
          (current) => ports.strategicMerge?.(current, request.body, route.kind, route.version) ?? current,
        );
    }
  }

  function* steps(request: ServerRequest): Steps<ServerAnswer> {
    const warnings: string[] = [];
    const warned = (): { readonly warnings?: readonly string[] } =>
      warnings.length === 0 ? {} : { warnings: [...new Set(warnings)] };
    try {
      return { ...(yield* handle(request, warnings)), ...warned() };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status } = error;
      const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status };
      return { code: status.code, body, ...warned() };
    }
  }

  return {
    answer: (request) => atOnce(steps(request)),
    steps,
    watch: (request, listener) => {
      const route = routeOf(kinds, request.path);
      if (route === undefined || (route.subresource !== undefined && route.name !== undefined)) throw notServed();
      return watch(store, route, clock, listener, ports);
    },
  };
}

/** Events are read from where they are stored, others from a cache. */
function badVersion(said: string): Refusal {
  return badRequest(`invalid resource version: ${said}`);
}

function unsupportedPatch({ builtIn }: ServedKind): Refusal {
  const types = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH].join(', ');
  const said = `the body of the request was in an unknown format - accepted media types include: ${types}`;
  return new Refusal({
    code: 415,
    reason: 'UnsupportedMediaType',
    ...(builtIn ? { message: '415: Unsupported Media Type', details: {} } : { message: said }),
  });
}

function mapOf(patch: unknown): JsonObject {
  if (isObject(patch)) return patch;
  const given = Array.isArray(patch) ? 'array' : typeof patch;
  throw badRequest(
    `error decoding patch: json: cannot unmarshal ${given} into Go value of type map[string]interface {}`,
  );
}

/** As kubectl patches what it has no schema for locally; for the kinds of Kubernetes itself. */
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

/** Stored objects in the version of a request. */
export function* inVersion(
  ports: ServerPorts,
  kind: ServedKind,
  version: string,
  objects: readonly JsonObject[],
): Steps<readonly JsonObject[]> {
  if (ports.convert === undefined || ports.converts?.(kind) !== true) return objects;
  return yield* ports.convert(kind, objects, version);
}

function badDryRun(options: string, dryRun: readonly string[]): Refusal {
  const message = `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`;
  return invalidOptions(options, 'dryRun', 'FieldValueNotSupported', message);
}

/** What is answered for an object that was written: its metadata, where no more is asked for. */
function answered(object: JsonObject, { accept }: ServerRequest): JsonObject {
  if (accept?.includes('as=PartialObjectMetadata;') !== true) return object;
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object['metadata'] ?? {} };
}

function listText(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.map(String) : undefined;
}

function bodyOf({ kind, version, query }: Route, { body }: ServerRequest): JsonObject {
  const unrecognized = (said: string): Refusal =>
    badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${said}`);
  if (body !== undefined && !isObject(body)) {
    const given = Array.isArray(body) ? 'array' : body === null ? 'null' : typeof body;
    const type =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    const said = `json: cannot unmarshal ${given} into Go value of type ${type}`;
    throw unrecognized(`couldn't get version/kind; json parse error: ${said} (${hexOf(body)})`);
  }
  const object = objectOf(body);
  const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`;
  if (!kind.builtIn) {
    const text = JSON.stringify(object);
    if (!object['kind'] && query.get('fieldValidation') === 'Ignore') {
      const said = `Object 'Kind' is missing in '${text}'`;
      throw badRequest(`${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${said}`);
    }
    if (!object['kind']) throw unrecognized(`Object 'Kind' is missing in '${text}' (${excerpt(text)})`);
    if (object['apiVersion'] !== apiVersion) {
      const data = shown(object['apiVersion'] ?? '');
      throw badRequest(`the API version in the data (${data}) does not match the expected API version (${apiVersion})`);
    }
    if (object['kind'] === kind.kind) return object;
    const cause = {
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(object['kind'])}: must be ${kind.kind}`,
      field: 'kind',
    };
    throw invalid({ group: kind.group, kind: shown(object['kind']), plural: kind.plural }, nameOf(object), [cause]);
  }
  const { kind: given = kind.kind, apiVersion: as = apiVersion } = object;
  if (given === kind.kind && as === apiVersion) return object;
  const [name, in_] = [shown(given), shown(as)];
  const said =
    given === kind.kind
      ? `no kind "${name}" is registered for version "${in_}" in scheme "pkg/runtime/scheme.go:110"`
      : `converting (${in_.split('/').at(-1) ?? ''}.${name}) to (${kind.group === '' ? 'core' : kind.group.split('.')[0]}.${kind.kind}): unknown conversion`;
  throw badRequest(`${name} in version "${in_}" cannot be handled as a ${kind.kind}: ${said}`);
}

/** How much of a body a refusal shows. */
const SHOWN = 30;

function excerpt(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length > SHOWN ? `${bytes.subarray(0, SHOWN).toString()} ...` : text;
}

/** The first bytes of a body, as the decoder shows them. */
function hexOf(body: unknown): string {
  return Buffer.from(JSON.stringify(body)).subarray(0, 128).toString('hex');
}

function refusedCreate({ plural, group }: ServedKind, name: string, said: string): Refusal {
  const of = group === '' ? plural : `${plural}.${group}`;
  const details = { name, ...(group === '' ? {} : { group }), kind: plural };
  const message = `${of} "${name}" is forbidden: ${said}`;
  return new Refusal({ code: 403, reason: 'Forbidden', message, details });
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
