import { checkWriteOptions } from '@drydock/kube/testing/api-server';
import { refusalOf } from './access-check.ts';
import { REVIEWS, type ReviewRequest } from './access-reviews.ts';
import {
  type ApiFailure,
  badRequest,
  invalid,
  methodNotAllowed,
  notFound,
  notImplemented,
  notServed,
} from './api-failure.ts';
import { type Exchange, objectsRequest } from './exchange.ts';
import { type WantedForm, wantedForm } from './media-types.ts';
import type { ObjectServer, ObjectsAnswer, ServedResource } from './objects.ts';
import type { Authorizer } from './rbac-authorizer.ts';
import { escalationOf, grantsRights } from './rbac-escalation.ts';
import { checkContentType, contentTypeOf, parseObject, parsePatch, readBody } from './request-body.ts';
import { isTrue, type ResourcePath } from './request-info.ts';
import { answerByProxy } from './resource-proxy.ts';
import { decodedReview, ownedReview } from './review-bodies.ts';
import type { TokenIssuer } from './service-account-tokens.ts';
import { type IncludeObject, partialMetadata, printerOf, tableOf } from './table-output.ts';
import type { TablePrinter } from './table-printer.ts';
import { requestToken } from './token-requests.ts';
import type { Authenticator } from './user-authentication.ts';
import { type EventForm, streamWatch } from './watch-stream.ts';
import { type Answer, failureAnswer, headerOf, jsonAnswer, PAGE_NOT_FOUND, textAnswer } from './wire-answer.ts';

/** What requests for resources need. */
export interface ResourceHandler {
  readonly objects: ObjectServer;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly issuer: TokenIssuer;
  /** Whether a watch may begin with the list (`sendInitialEvents`). */
  readonly watchList: boolean;
}

type Body = Readonly<Record<string, unknown>>;

const STREAMED = new Set(['exec', 'attach', 'portforward', 'proxy']);
const PROXIED = new Set(['services', 'pods']);
const WRITES = new Set(['create', 'update', 'patch']);
const WITH_BODY = new Set([...WRITES, 'delete', 'deletecollection']);
const TOKEN_REQUEST = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' } as const;
const APPLY_TYPE = 'application/apply-patch+yaml';

/** Answers a request that is authorized; undefined after a watch or a proxied request, which is answered by then. `begun` is called when one starts. */
export async function resourceAnswer(
  handler: ResourceHandler,
  exchange: Exchange,
  path: ResourcePath,
  begun: () => void,
): Promise<Answer | undefined> {
  const { objects } = handler;
  const { info, request } = exchange;
  const resource = findServed(objects, path);
  if (typeof resource !== 'object') {
    if (resource === 'group') throw notServed();
    return PAGE_NOT_FOUND;
  }
  const subresource = resource.subresources.find(({ name }) => name === path.subresource);
  const misplaced = resource.namespaced && path.namespace === '' && path.name !== '';
  const proxied = path.subresource === 'proxy' && path.name !== '' && PROXIED.has(path.resource) && path.group === '';
  if ((path.rest.length > 0 && !proxied) || misplaced) throw notServed();
  if (path.subresource !== '' && subresource === undefined)
    throw resource.builtIn ? notServed() : notFound(path.group, path.resource, path.name);
  if (proxied) {
    begun();
    await answerByProxy(objects, exchange, path);
    return undefined;
  }
  if (path.name !== '' && path.subresource !== '' && STREAMED.has(path.subresource))
    throw notImplemented(`${path.resource}/${path.subresource}`);
  if (info.verb === '') throw methodNotAllowed();
  if (info.verb === 'watch') return watched(handler, exchange, resource, begun);
  const review = REVIEWS.get(`${path.group}/${path.resource}`);
  if (review !== undefined && info.verb !== 'create') throw methodNotAllowed();
  const form = wantedForm(headerOf(request, 'accept'), isTrue(info.query.get('pretty')));
  if (WITH_BODY.has(info.verb)) await readInto(exchange, subresource?.kind ?? resource.kind, resource.builtIn);
  if (review !== undefined) {
    checkWriteOptions('CreateOptions', info.query);
    const { body, warnings } = decodedReview(resource, exchange.body as Body, info.query);
    const asked = { user: exchange.acting, namespace: path.namespace, body: body as ReviewRequest['body'] };
    const headers = warningHeader(warnings);
    try {
      const answer = ownedReview(resource, body, review(handler, asked) as Body, managerOf(exchange));
      return { ...jsonAnswer(201, answer, form.pretty), headers };
    } catch (error) {
      return { ...failureAnswer(error), headers };
    }
  }
  if (path.resource === 'serviceaccounts' && path.subresource === 'token' && info.verb === 'create') {
    checkWriteOptions('CreateOptions', info.query);
    const { body: sent, warnings } = decodedReview(TOKEN_REQUEST, exchange.body as Body, info.query);
    const body = withExpiry(sent);
    const answer = requestToken(objects, handler.issuer, path, body, exchange.received.getTime()) as Body;
    const owned = ownedReview(TOKEN_REQUEST, body, answer, managerOf(exchange), 'token');
    return { ...jsonAnswer(201, owned, form.pretty), headers: warningHeader(warnings) };
  }
  if (WRITES.has(info.verb)) await checkWrite(handler, exchange, path);
  return formed(await objects.answer(objectsRequest(exchange)), form, exchange, resource);
}

/** The resource of a path; `group` where only its group is served, and is one of Kubernetes' own. */
function findServed(objects: ObjectServer, path: ResourcePath): ServedResource | 'group' | undefined {
  let found: 'group' | undefined;
  for (const one of objects.resources()) {
    if (one.group !== path.group) continue;
    if (one.version === path.version && one.plural === path.resource) return one;
    if (one.builtIn) found = 'group';
  }
  return found;
}

async function readInto(exchange: Exchange, kind: string, builtIn: boolean): Promise<void> {
  const { request, info } = exchange;
  const type = contentTypeOf(headerOf(request, 'content-type'));
  // The objects half names the types of patches of custom kinds.
  if (WRITES.has(info.verb) && (builtIn || info.verb !== 'patch')) checkContentType(info.verb, type);
  const bytes = await readBody(request, headerOf(request, 'content-length'));
  if (bytes.length === 0 && !WRITES.has(info.verb)) return;
  if (info.verb === 'patch') exchange.body = await parsePatch(bytes, type);
  else exchange.body = await parseObject(bytes, type, WRITES.has(info.verb) ? kind : 'DeleteOptions');
}

/** What a write needs besides its verb: `create` where a PUT or an apply makes the object, and no more rights than the user has. */
async function checkWrite(
  { objects, authorizer }: ResourceHandler,
  exchange: Exchange,
  path: ResourcePath,
): Promise<void> {
  const { info, acting, request } = exchange;
  const { group, resource, namespace, name } = path;
  const key = { ...(namespace === '' ? {} : { namespace }), name };
  const stored = name === '' ? undefined : objects.peek(group, resource, key);
  const type = contentTypeOf(headerOf(request, 'content-type'));
  const upserts = info.verb === 'update' || (info.verb === 'patch' && type === APPLY_TYPE);
  if (upserts && stored === undefined && path.subresource === '') {
    const asked = { group, resource, subresource: '', namespace, name };
    const refusal = refusalOf(authorizer, acting, { verb: 'create', resource: asked });
    if (refusal !== undefined) throw refusal;
  }
  if (!grantsRights(path)) return;
  const written = await tried(objects, exchange);
  const refusal = written === undefined ? undefined : escalationOf(authorizer, acting, { path, written, stored });
  if (refusal !== undefined) throw refusal;
}

/** What the write would store, by a dry run; undefined where it would be refused anyway. */
async function tried(objects: ObjectServer, exchange: Exchange): Promise<unknown> {
  const request = objectsRequest(exchange);
  const query = new URLSearchParams(exchange.info.query);
  query.set('dryRun', 'All');
  const { code, body } = await objects.answer({
    ...request,
    path: `${request.path.split('?', 1)[0] ?? ''}?${query.toString()}`,
  });
  return code < 300 ? body : undefined;
}

async function watched(
  { objects, watchList }: ResourceHandler,
  exchange: Exchange,
  resource: ServedResource,
  begun: () => void,
): Promise<undefined> {
  const form = wantedForm(headerOf(exchange.request, 'accept'), false);
  if (!watchList && exchange.info.query.has('sendInitialEvents')) {
    const said = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    const cause = { reason: 'FieldValueForbidden', message: `Forbidden: ${said}`, field: 'sendInitialEvents' };
    throw invalid('meta.k8s.io', 'ListOptions', '', [cause]);
  }
  for (const text of deprecations(resource)) exchange.response.setHeader('warning', `299 - ${JSON.stringify(text)}`);
  await streamWatch(objects, objectsRequest(exchange), exchange.response, eventForm(form, exchange, resource), begun);
  return undefined;
}

function eventForm(form: WantedForm, { info }: Exchange, resource: ServedResource): EventForm {
  if (form.as === 'object') return undefined;
  if (form.as !== 'table') return (object) => partialMetadata(object, form.version);
  const include = includeOf(info.query);
  let columns = true;
  return (object) => {
    const shape = { version: form.version, include, columns, kind: kindOf(resource), now: Date.now() };
    columns = false;
    return tableOf(object, printer(resource), shape);
  };
}

/** A request for a token that says how long it is good for. */
function withExpiry(request: Body): Body {
  const spec = (request['spec'] ?? {}) as Body;
  return { ...request, spec: { ...spec, expirationSeconds: spec['expirationSeconds'] ?? 3600 } };
}

function managerOf(exchange: Exchange): string {
  return exchange.info.query.get('fieldManager') ?? objectsRequest(exchange).agent;
}

function warningHeader(said: readonly string[]): { readonly warning?: readonly string[] } {
  return said.length === 0 ? {} : { warning: said.map((text) => `299 - ${JSON.stringify(text)}`) };
}

function formed(found: ObjectsAnswer, form: WantedForm, exchange: Exchange, resource: ServedResource): Answer {
  const { code, warnings = [], retryAfter } = found;
  const said = [...new Set([...deprecations(resource), ...warnings])];
  const headers = {
    ...warningHeader(said),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  };
  if (typeof found.body === 'string') return { ...textAnswer(code, found.body), headers };
  const body = found.body as Body;
  const { name } = (body['metadata'] ?? {}) as { readonly name?: string };
  if (exchange.info.verb === 'create' && name !== undefined) exchange.created = name;
  const plain = code >= 300 || body['kind'] === 'Status' || form.as === 'object';
  const refusal = plain || form.as !== 'table' ? undefined : includeProblem(exchange.info.query);
  if (refusal !== undefined) return { ...failureAnswer(refusal), headers };
  return { ...jsonAnswer(code, plain ? body : inForm(body, form, exchange, resource), form.pretty), headers };
}

function inForm(
  body: Body,
  { as, version }: WantedForm,
  { info, received }: Exchange,
  resource: ServedResource,
): object {
  if (as === 'table') {
    const shape = { version, include: includeOf(info.query), kind: kindOf(resource), now: received.getTime() };
    return tableOf(body, printer(resource), shape);
  }
  const { items } = body;
  const { continue: more, ...rest } = (body['metadata'] ?? {}) as Body;
  const metadata = more === undefined || more === '' ? rest : { ...rest, continue: more };
  if (!Array.isArray(items)) return partialMetadata(body, version);
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    items: items.length === 0 ? null : (items as readonly Body[]).map((item) => partialMetadata(item, version)),
  };
}

function kindOf({ kind, group, version }: ServedResource): { readonly kind: string; readonly apiVersion: string } {
  return { kind, apiVersion: group === '' ? version : `${group}/${version}` };
}

/** What the server says about kinds that it will not serve for ever. */
function deprecations({ group, plural, deprecation }: ServedResource): readonly string[] {
  if (deprecation !== undefined) return [deprecation];
  if (group !== '') return [];
  if (plural === 'componentstatuses') return ['v1 ComponentStatus is deprecated in v1.19+'];
  if (plural !== 'endpoints') return [];
  return ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'];
}

const INCLUDES = ['', 'None', 'Metadata', 'Object'];

function includeProblem(query: URLSearchParams): ApiFailure | undefined {
  const asked = query.get('includeObject') ?? '';
  if (INCLUDES.includes(asked)) return undefined;
  const said = `Invalid value: ${JSON.stringify(asked)}: must be 'Metadata', 'Object', 'None', or empty`;
  return badRequest(`Unable to convert to Table as requested: includeObject: ${said}`);
}

function includeOf(query: URLSearchParams): IncludeObject {
  const wanted = query.get('includeObject');
  return wanted === 'None' || wanted === 'Object' ? wanted : 'Metadata';
}

const printers = new WeakMap<ServedResource, TablePrinter>();

function printer(resource: ServedResource): TablePrinter {
  const known = printers.get(resource) ?? printerOf(resource);
  printers.set(resource, known);
  return known;
}
