import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { clientOver } from '../../client/rest.ts';
import type { Clock } from '../../clock.ts';
import { ApiError, errorOfStatus } from '../../errors.ts';
import { exactText, parseExact } from '../../json/exact-integers.ts';
import { JSON_PATCH } from '../../patch-types.ts';
import type { Key } from '../../resource.ts';
import type { Status } from '../../status-object.ts';
import type { Transport, WireRequest } from '../../transport/transport.ts';
import {
  type ClusterCall,
  type ClusterContext,
  type ClusterHook,
  type ClusterPhase,
  type ClusterVerb,
  KubeClientKilled,
  type MemoryKubeClient,
} from './hooks.ts';
import { objectOf } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { nameOf } from './metadata.ts';
import { Refusal } from './refusal.ts';
import { type Route, routeOf, type Server, type ServerRequest } from './server.ts';
import type { Listener } from './watching.ts';

const ORIGIN = 'http://memory-cluster';

/** What a client needs of its cluster. */
export interface ClientHost {
  readonly clock: Clock;
  readonly server: Server;
  readonly kinds: readonly ServedKind[];
  readonly hook: () => ClusterHook | undefined;
  /** Counts a call and gives its number. */
  readonly count: (call: ClusterCall) => number;
  /** Keeps an open watch's cutter for as long as it lives. */
  readonly watches: Set<() => void>;
}

/** Who a client is, and what lies between it and the server. */
export interface MemoryClientOptions {
  /** Field manager of its ordinary writes; `drydock` by default. */
  readonly agent?: string;
  /** Wraps the wire, for faults. */
  readonly through?: (wire: Transport) => Transport;
}

/** The real client over a transport that ends in memory: what differs from the real thing is the server alone. */
export function memoryClient(host: ClientHost, id: string, options: MemoryClientOptions): MemoryKubeClient {
  const { agent = 'drydock', through = (wire) => wire } = options;
  let life: 'live' | 'killed' | 'closed' = 'live';
  const streams = new Set<Readable>();

  function check(action: string): void {
    if (life === 'killed') throw new KubeClientKilled();
    if (life === 'closed') throw new ApiError({ code: 'Connection', action, said: 'the client was closed' });
  }

  async function between<R>(request: WireRequest, act: (wire: ServerRequest) => R): Promise<R> {
    check(request.action);
    request.signal?.throwIfAborted();
    const wire = wireOf(request, agent);
    const call = callOf(host.kinds, wire);
    const context: ClusterContext = { client: self, index: host.count(call), mutates: mutates(call) };
    const hook = async (phase: ClusterPhase): Promise<void> => {
      await host.hook()?.(call, phase, context);
      check(request.action);
      request.signal?.throwIfAborted();
    };
    request.fence?.();
    await hook('before');
    const result = act(wire);
    await hook('after');
    return result;
  }

  const transport: Transport = {
    call: async (request) => {
      if (isWatch(request.path)) return text(await transport.stream(request));
      const { code, body } = await between(request, (wire) => host.server.answer(wire));
      if (code >= 400) throw failure(objectOf(body), code, request);
      return typeof body === 'string' ? body : exactText(body);
    },
    stream: async (request) => {
      const stream = new Readable({ read: () => undefined });
      const cut = (): void => void stream.destroy(connectionLost(request.action));
      const abort = (): void => void stream.destroy(request.signal?.reason as Error);
      let watch: Disposable | undefined;
      const streamed: Listener = {
        event: (event) => void stream.push(`${exactText(event)}\n`),
        end: () => void stream.push(null),
      };
      try {
        await between(request, (wire) => {
          watch = host.server.watch(wire, streamed);
        });
      } catch (error) {
        watch?.[Symbol.dispose]();
        throw error instanceof Refusal ? failure(error.status, error.status.code, request) : error;
      }
      host.watches.add(cut);
      streams.add(stream);
      request.signal?.addEventListener('abort', abort, { once: true });
      // Whoever reads the stream hears of its end; nobody may be reading it yet.
      stream.on('error', () => undefined);
      stream.once('close', () => {
        watch?.[Symbol.dispose]();
        host.watches.delete(cut);
        streams.delete(stream);
        request.signal?.removeEventListener('abort', abort);
      });
      return stream;
    },
    [Symbol.asyncDispose]: async () => end('closed'),
  };

  function end(as: 'killed' | 'closed'): void {
    if (life === 'live') life = as;
    for (const stream of [...streams])
      stream.destroy(as === 'killed' ? new KubeClientKilled() : connectionLost('watch'));
  }

  const self: MemoryKubeClient = {
    ...clientOver(through(transport), ORIGIN, { clock: host.clock }),
    id,
    kill: () => end('killed'),
  };
  return self;
}

/** Whether a raw request is a watch, whose answer is the text of its stream. */
function isWatch(path: string): boolean {
  return new URL(path, ORIGIN).searchParams.get('watch') === 'true';
}

function failure(status: Status, code: number, request: WireRequest): ApiError {
  const jsonPatch = request.contentType === JSON_PATCH;
  return errorOfStatus(status, code, { action: request.action, jsonPatch });
}

function connectionLost(action: string): ApiError {
  return new ApiError({ code: 'Connection', action, said: 'the connection was cut' });
}

function wireOf({ method, path, body, contentType, accept }: WireRequest, agent: string): ServerRequest {
  // Through JSON, as on a wire: what the caller keeps is not what the server keeps.
  const copy = body === undefined ? {} : { body: parseExact(exactText(body)) };
  return { method, path, contentType, accept, agent, ...copy };
}

/** What a request is, in the words of the client. */
export function callOf(kinds: readonly ServedKind[], request: ServerRequest): ClusterCall {
  const { method, path, body } = request;
  const route = routeOf(kinds, path);
  const base = { method, path, ...(body === undefined ? {} : { body }) };
  if (route === undefined) return { verb: 'raw', resource: '', ...base };
  const { kind, namespace } = route;
  const name = route.name ?? (method === 'POST' ? nameOf(objectOf(body)) : '');
  const key: Key | undefined = name === '' ? undefined : namespace === undefined ? { name } : { namespace, name };
  const resource = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
  return { verb: verbOf(route, request), resource, ...(key === undefined ? {} : { key }), ...base };
}

function verbOf({ name, subresource, query }: Route, { method, contentType }: ServerRequest): ClusterVerb {
  if (query.has('dryRun')) return 'raw';
  const status = subresource === 'status';
  switch (method) {
    case 'GET':
      if (name !== undefined) return 'get';
      return query.get('watch') === 'true' ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return status ? 'replaceStatus' : 'replace';
    case 'DELETE':
      return 'delete';
    default:
      if (contentType === 'application/apply-patch+yaml') return status ? 'applyStatus' : 'apply';
      return contentType === JSON_PATCH ? 'patch' : 'mergePatch';
  }
}

function mutates({ verb }: ClusterCall): boolean {
  return !['get', 'list', 'watch', 'raw'].includes(verb);
}
