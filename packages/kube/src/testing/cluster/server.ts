import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../../patch-types.ts';
import { remove, removeAll } from './deletion.ts';
import { isObject, type JsonObject, objectOf, shown } from './json.ts';
import { apiVersionOf, type ServedKind, served } from './kinds.ts';
import { nameOf } from './metadata.ts';
import { jsonPatch, mergePatch } from './patches.ts';
import { inVersion, type ServerPorts } from './ports.ts';
import { list, type ReadTarget } from './reads.ts';
import { badRequest, invalid, invalidOptions, noObject, notFound, notServed, Refusal } from './refusal.ts';
import { atOnce, type Steps } from './steps.ts';
import { type Store, storeId } from './store.ts';
import { type Listener, watch } from './watching.ts';
import type { WriteTarget } from './write-target.ts';
import { createWriter, type Written } from './writes.ts';

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
    const dryRun = route.query.getAll('dryRun');
    if (dryRun.length > 0 && (dryRun.length > 1 || dryRun[0] !== 'All')) throw badDryRun(options, dryRun);
    const { kind, version, namespace, name = '', subresource, query } = route;
    return {
      ...{ kind, version, namespace, name, subresource, user: request.user },
      manager: query.get('fieldManager') ?? request.agent,
      dryRun: dryRun.length > 0,
      validation: validationOf(query, options),
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
      const target = targetOf(route, request, 'UpdateOptions', warnings);
      const { dryRun, manager, warn } = target;
      const { method, body, contentType, user } = request;
      const here = { kind, version, namespace, name: name ?? '', subresource, method, query, body, contentType };
      const answering = ports.other?.({
        ...{ ...here, manager, dryRun, user, warn },
        patch: (change) => writer.patch(target, change),
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
        const body = bodyOf(route, request);
        const closed = route.kind.rules?.closed?.();
        if (closed !== undefined) throw refusedCreate(route.kind, nameOf(body), closed);
        const target = targetOf(route, request, 'CreateOptions', warnings);
        const { code, object } = yield* writer.create(target, body);
        return { code, body: answered(object, request) };
      }
      case 'DELETE': {
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
        const found = store.get(kind, storeId(namespace, name));
        if (found === undefined) throw notFound(kind, name);
        if (subresource !== undefined && !kind.status) throw notServed();
        const [object = found] = yield* inVersion(ports, kind, version, [found]);
        return { code: 200, body: served(object, kind, version) };
      }
      case 'PUT': {
        const body = bodyOf(route, request);
        const { code, object } = yield* writer.replace(targetOf(route, request, 'UpdateOptions', warnings), body);
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
    const query = Object.fromEntries(
      ['propagationPolicy', 'gracePeriodSeconds', 'orphanDependents']
        .map((key) => [key, route.query.get(key)] as const)
        .filter(([, value]) => value !== null)
        .map(([key, value]) => [key, key === 'gracePeriodSeconds' ? Number(value) : value]),
    );
    const options: JsonObject = { ...query, ...body };
    const asked = listText(body['dryRun']);
    const dryRun = asked ?? route.query.getAll('dryRun');
    if (asked?.some((one) => one !== 'All')) throw badDryRun('DeleteOptions', asked);
    return {
      target: { ...targetOf(route, request, 'DeleteOptions', warnings), dryRun: dryRun.length > 0, options },
      options,
    };
  }

  function patch(route: Route, request: ServerRequest, warnings: string[]): Steps<Written> {
    const target = targetOf(route, request, 'PatchOptions', warnings);
    switch (request.contentType) {
      case JSON_PATCH:
        return writer.patch(target, (current) => jsonPatch(current, request.body));
      case MERGE_PATCH:
        return writer.patch(target, (current) => objectOf(mergePatch(current, mapOf(request.body))));
      case APPLY_PATCH: {
        if (!route.query.get('fieldManager')) {
          const message = 'Required value: is required for apply patch';
          throw invalidOptions('PatchOptions', 'fieldManager', 'FieldValueRequired', message);
        }
        return writer.apply(target, objectOf(request.body), route.query.get('force') === 'true');
      }
      case STRATEGIC_MERGE_PATCH: {
        const merge = ports.strategicMerge;
        if (merge !== undefined && route.kind.builtIn) {
          return writer.patch(target, (current) => merge(current, request.body, route.kind, route.version));
        }
        break;
      }
    }
    const types = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH].join(', ');
    const said = `the body of the request was in an unknown format - accepted media types include: ${types}`;
    throw new Refusal({
      code: 415,
      reason: 'UnsupportedMediaType',
      ...(route.kind.builtIn ? { message: '415: Unsupported Media Type', details: {} } : { message: said }),
    });
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

function mapOf(patch: unknown): JsonObject {
  if (isObject(patch)) return patch;
  const given = Array.isArray(patch) ? 'array' : typeof patch;
  throw badRequest(
    `error decoding patch: json: cannot unmarshal ${given} into Go value of type map[string]interface {}`,
  );
}

/** As kubectl patches what it has no schema for locally; for the kinds of Kubernetes itself. */
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

function badDryRun(options: string, dryRun: readonly string[]): Refusal {
  const message = `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`;
  return invalidOptions(options, 'dryRun', 'FieldValueNotSupported', message);
}

function validationOf(query: URLSearchParams, options: string): WriteTarget['validation'] {
  const asked = query.get('fieldValidation') ?? '';
  if (asked === '') return 'Warn';
  if (asked === 'Strict' || asked === 'Warn' || asked === 'Ignore') return asked;
  const message = `Unsupported value: "${asked}": supported values: "", "Ignore", "Strict", "Warn"`;
  throw invalidOptions(options, 'fieldValidation', 'FieldValueNotSupported', message);
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
  const unrecognized = (said: string): Refusal =>
    badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${said}`);
  if (body !== undefined && !isObject(body)) {
    const given = Array.isArray(body) ? 'array' : body === null ? 'null' : typeof body;
    throw unrecognized(`couldn't get version/kind; json parse error: ${noObject(given)} (${hexOf(body)})`);
  }
  const object = objectOf(body);
  const apiVersion = apiVersionOf(kind, version);
  if (!kind.builtIn) {
    const text = JSON.stringify(object);
    if (!object['kind']) throw unrecognized(`Object 'Kind' is missing in '${text}' (${text})`);
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
  const found = kinds.filter((one) => one.group === group && one.versions.includes(version));
  if (found.length === 0) throw notServed();
  const resources = found.flatMap(({ plural, kind, namespaced, status }) =>
    [plural, ...(status ? [`${plural}/status`] : [])].map((name) => ({ name, kind, namespaced })),
  );
  return {
    code: 200,
    body: { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf({ group }, version), resources },
  };
}
