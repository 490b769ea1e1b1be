import type { ClusterConfig } from '../access/kubeconfig.ts';
import { ApiError } from '../errors.ts';
import { parseExact } from '../json/exact-integers.ts';
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../patch-types.ts';
import { type Key, type KubeObject, keyOf, type Resource } from '../resource.ts';
import { createTransport, type Transport, type TransportOptions, type WireRequest } from '../transport/transport.ts';
import type {
  CallOptions,
  ChangeOptions,
  DeleteOptions,
  FieldOwner,
  KubeClient,
  ObjectWriteOptions,
  Preconditions,
  RawRequest,
} from './client.ts';
import { settled, unreadable } from './decode.ts';
import { assertLight } from './json-weight.ts';
import { listing } from './listing.ts';
import { parseObjects } from './managed-fields.ts';
import { actionText, apiVersionOf, collectionPath, objectPath, queryText } from './path.ts';

/** Makes the client of one API server. It opens no connection before the first call; dispose it to close them all. */
export function createClient(config: ClusterConfig, options: TransportOptions = {}): KubeClient {
  return clientOver(createTransport(config, options), new URL(config.server).origin, options);
}

/** The verbs over any transport: the real one, or that of the in-memory cluster. `origin` names the server in errors. */
export function clientOver(
  transport: Transport,
  origin: string,
  { clock, maxLine, maxListed }: Pick<TransportOptions, 'clock' | 'maxLine' | 'maxListed'> = {},
): KubeClient {
  async function one<T extends KubeObject>(resource: Resource<T>, request: WireRequest): Promise<T> {
    const body = await transport.call(request);
    let object: T;
    try {
      object = parseObjects<T>(body, (answer) => [answer]);
    } catch (error) {
      throw unreadable(error, body, request.action);
    }
    return settled(object, resource, request.action);
  }

  /** As `one`, for a write of a whole object. */
  async function written<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    request: WireRequest,
    call: ObjectWriteOptions | undefined,
  ): Promise<T> {
    const body = typed(resource, object);
    const accept = call?.answer === 'metadata' ? { accept: METADATA_ONLY } : {};
    const answer = await one(resource, { ...request, ...how(call), ...accept, body });
    return answer.kind === 'PartialObjectMetadata' ? { ...body, metadata: answer.metadata } : answer;
  }

  function put<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    subresource: 'status' | undefined,
    call: ObjectWriteOptions | undefined,
  ): Promise<T> {
    const verb = subresource === undefined ? 'replace' : 'replace status of';
    const key = nameOf(verb, resource, object);
    const action = actionText(verb, resource, key);
    if (!object.metadata.resourceVersion) {
      throw new ApiError({
        code: 'BadRequest',
        action,
        said: 'metadata.resourceVersion is absent, so the write would be unguarded',
      });
    }
    const path = objectPath(resource, key, subresource) + queryText(dryRun(call));
    return written(resource, object, { method: 'PUT', path, action }, call);
  }

  function applied<T extends KubeObject>(
    resource: Resource<T>,
    want: T,
    as: FieldOwner,
    subresource: 'status' | undefined,
    call: ChangeOptions | undefined,
  ): Promise<T> {
    const verb = subresource === undefined ? 'apply' : 'apply status of';
    const key = nameOf(verb, resource, want);
    const force = as.force === true ? 'true' : undefined;
    return one(resource, {
      method: 'PATCH',
      path: objectPath(resource, key, subresource) + queryText({ fieldManager: as.manager, force, ...dryRun(call) }),
      action: actionText(verb, resource, key),
      body: typed(resource, want),
      contentType: APPLY_PATCH,
      ...how(call),
    });
  }

  function patched<T extends KubeObject>(
    resource: Resource<T>,
    key: Key,
    body: unknown,
    contentType: string,
    call: ChangeOptions | undefined,
  ): Promise<T> {
    const path = objectPath(resource, key) + queryText(owned(call));
    const action = actionText('patch', resource, key);
    return one(resource, { method: 'PATCH', path, action, body, contentType, ...how(call) });
  }

  return {
    ...listing({ transport, origin, clock, maxLine, maxListed }),
    get: async (resource, key, call) =>
      one(resource, {
        method: 'GET',
        path: objectPath(resource, key),
        action: actionText('get', resource, key),
        ...how(call),
      }),
    create: async (resource, object, call) => {
      const key = nameOf('create', resource, object);
      objectPath(resource, key);
      const path = collectionPath(resource, key.namespace) + queryText(owned(call));
      return written(resource, object, { method: 'POST', path, action: actionText('create', resource, key) }, call);
    },
    replace: async (resource, object, call) => put(resource, object, undefined, call),
    replaceStatus: async (resource, object, call) => put(resource, object, 'status', call),
    apply: async (resource, want, as, call) => applied(resource, want, as, undefined, call),
    applyStatus: async (resource, want, as, call) => applied(resource, want, as, 'status', call),
    patch: async (resource, key, ops, call) => patched(resource, key, ops, JSON_PATCH, call),
    mergePatch: async (resource, key, patch, call) => patched(resource, key, patch, MERGE_PATCH, call),
    delete: async (resource, key, when, call) => {
      await transport.call({
        method: 'DELETE',
        path: objectPath(resource, key),
        action: actionText('delete', resource, key),
        ...deletion(when, call),
        ...how(call),
      });
    },
    raw: async (request, call) => {
      const wire = rawWire(request, call);
      const { action } = wire;
      const text = await transport.call(wire);
      try {
        assertLight(text);
        return parseExact(text);
      } catch (error) {
        if (error instanceof SyntaxError) return text;
        throw unreadable(error, text, action);
      }
    },
    rawStream: async (request, call) => transport.stream(rawWire(request, call)),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

/** An answer of which only the metadata is wanted, where the server has such (Kubernetes API concepts, "Metadata-only fetches"). */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';

function rawWire(
  { method = 'GET', path, body, contentType, accept, headers }: RawRequest,
  call: CallOptions | undefined,
): WireRequest {
  return {
    ...{ method, path, action: `${method} ${path}`, signal: call?.signal },
    ...(body === undefined ? {} : { body }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(accept === undefined ? {} : { accept }),
    ...(headers === undefined ? {} : { headers }),
  };
}

/** The object's key, or BadRequest for what has no metadata: its type says that it has, its author may not. */
function nameOf(verb: string, resource: Resource<KubeObject>, object: KubeObject): Key {
  if (typeof object?.metadata?.name === 'string') return keyOf(object);
  const action = `${verb} a ${resource.kind}`;
  throw new ApiError({ code: 'BadRequest', action, said: 'the object has no metadata.name' });
}

/** What is sent for an object: with its type. */
function typed<T extends KubeObject>(resource: Resource<T>, object: T): T {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}

function how(call: ChangeOptions | undefined): Pick<WireRequest, 'signal' | 'urgent' | 'fence'> {
  return { signal: call?.signal, urgent: call?.urgent, fence: call?.fence };
}

function dryRun(call: ChangeOptions | undefined): { readonly dryRun?: string } {
  return call?.dryRun === true ? { dryRun: 'All' } : {};
}

function owned(call: ChangeOptions | undefined): { readonly dryRun?: string; readonly fieldManager?: string } {
  return { ...dryRun(call), ...(call?.manager === undefined ? {} : { fieldManager: call.manager }) };
}

/** All of it in the body: with a body the server does not read a delete's query. */
function deletion(when: Preconditions | undefined, call: DeleteOptions | undefined): { readonly body?: unknown } {
  const options = {
    ...(when === undefined ? {} : { preconditions: when }),
    ...(call?.propagation === undefined ? {} : { propagationPolicy: call.propagation }),
    ...(call?.dryRun === true ? { dryRun: ['All'] } : {}),
  };
  return Object.keys(options).length === 0 ? {} : { body: { apiVersion: 'v1', kind: 'DeleteOptions', ...options } };
}
