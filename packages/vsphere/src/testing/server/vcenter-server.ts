import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type InventoryState, initialState } from '../inventory.ts';
import { type LoginCounts, LoginDesk } from './login-policy.ts';
import type { ObjectIndex } from './object-index.ts';
import { propertyOf } from './object-properties.ts';
import { answerRest, restCall } from './rest-dispatch.ts';
import type { ServerSession } from './server-session.ts';
import { answerSoap, soapCallIn } from './soap-dispatch.ts';
import { serveTransfer } from './transfer-dispatch.ts';
import type { WaitContext } from './update-wait.ts';
import type { ServerAbout, VCenterServerState } from './vcenter-server-state.ts';
import { VCenterWorld } from './vcenter-world.ts';
import type { Interceptor, TransferInterceptor, WireAnswer, WireCall } from './wire-call.ts';

/** How a server is made. */
export interface VCenterServerOptions {
  /** Certificate and key for 127.0.0.1; without it plain HTTP is spoken, which Drydock's own client refuses. */
  readonly identity?: { readonly certificate: string; readonly privateKey: string };
  /** What is there; nothing by default. */
  readonly state?: InventoryState;
  readonly instanceUuid?: string;
  readonly user?: string;
  readonly password?: string;
  /** How long a second of `maxWaitSeconds` lasts; 1000 unless said. */
  readonly secondMs?: number;
  readonly port?: number;
  readonly leaseTimeout?: number;
  /** See {@link LoginPolicy.lockoutAfter}; 0 by default. */
  readonly lockoutAfter?: number;
  readonly intercept?: Interceptor;
  readonly interceptTransfer?: TransferInterceptor;
}

/** What is on the server at this moment. */
export interface ServerObjects {
  readonly sessions: number;
  readonly views: number;
  readonly lists: number;
  readonly collectors: number;
  readonly filters: number;
  readonly waits: number;
}

/** A vCenter on loopback. */
export interface VCenterServer extends AsyncDisposable {
  readonly url: string;
  readonly state: VCenterServerState;
  readonly index: ObjectIndex;
  readonly counts: LoginCounts;
  /** Called when a wait finds nothing to say; what it changes is sent at once. */
  onIdle: (() => void) | undefined;
  /** Called after each answer to a wait; what it changes is the next answer, made before it is asked for. */
  onAnswered: (() => void) | undefined;
  objects(): ServerObjects;
  /** Accounts that are locked now, in lower case. */
  lockedAccounts(): readonly string[];
  /** Ends a session: its waits end with NotAuthenticated, and what was made in it is gone. */
  endSession(session: ServerSession): void;
  /** Cuts the connections of all waits, as a reset does; nothing else ends. */
  cutWaits(): number;
  /** Cuts all connections. */
  cutConnections(): void;
  /** Nobody is listening any more, and all connections are cut. */
  close(): Promise<void>;
  listen(): Promise<void>;
}

const MOST_BYTES = 64 << 20;

const ABOUT: Omit<ServerAbout, 'instanceUuid'> = {
  fullName: 'VMware vCenter Server 6.5.0 build-5973321',
  version: '6.5.0',
  build: '5973321',
  apiVersion: '6.5',
};

/** Starts a vCenter on loopback. */
export async function startVCenterServer(options: VCenterServerOptions = {}): Promise<VCenterServer> {
  const server = new WireServer(options);
  await server.listen();
  return server;
}

class WireServer implements VCenterServer {
  readonly state: VCenterServerState;
  onIdle: (() => void) | undefined;
  onAnswered: (() => void) | undefined;
  readonly #options: VCenterServerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #desk: LoginDesk;
  readonly #waits: WaitContext;
  #port: number;
  #server: Server | undefined;

  constructor(options: VCenterServerOptions) {
    this.#options = options;
    this.#port = options.port ?? 0;
    const { user = 'watcher@vsphere.local', password = 'synthetic', lockoutAfter = 0 } = options;
    const state = options.state ?? initialState(EMPTY);
    this.state = {
      world: new VCenterWorld({
        state,
        read: propertyOf,
        ...(options.leaseTimeout === undefined ? {} : { leaseTimeout: options.leaseTimeout }),
      }),
      about: { ...ABOUT, instanceUuid: options.instanceUuid ?? randomUUID() },
      logins: { user, password, refused: false, lockoutAfter },
      ...{ sessions: new Map(), leases: new Map(), settings: new Map() },
      ...{ denied: new Map(), unknownPaths: new Set() },
      ...{ vanishing: new Set(), forbidden: new Set(), losesViews: false },
    };
    this.#desk = new LoginDesk(this.state);
    this.#waits = {
      ...{ index: this.index, waiting: new Set(), secondMs: options.secondMs ?? 1000 },
      onIdle: () => this.onIdle?.(),
      onAnswered: () => this.onAnswered,
    };
  }

  get url(): string {
    return `${this.#origin}/sdk`;
  }

  get index(): ObjectIndex {
    return this.state.world.index;
  }

  get #origin(): string {
    return `${this.#options.identity === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
  }

  objects(): ServerObjects {
    const all = [...this.state.sessions.values()];
    const sum = (of: (session: ServerSession) => number): number =>
      all.reduce((total, session) => total + of(session), 0);
    return {
      sessions: all.length,
      views: sum(({ views }) => views.size),
      lists: sum(({ lists }) => lists.size),
      collectors: sum(({ collectors }) => collectors.size),
      filters: sum(({ filters }) => filters.size),
      waits: sum(({ waits }) => waits.size),
    };
  }

  get counts(): LoginCounts {
    return this.#desk.counts;
  }

  lockedAccounts(): readonly string[] {
    return this.#desk.lockedAccounts();
  }

  endSession(session: ServerSession): void {
    this.#desk.end(session);
  }

  cutWaits(): number {
    const { waiting } = this.#waits;
    const cut = waiting.size;
    for (const response of [...waiting]) response.destroy();
    return cut;
  }

  cutConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async listen(): Promise<void> {
    const { identity } = this.#options;
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      response.on('error', () => undefined);
      this.#serve(request, response).catch(() => response.destroy());
    };
    // An import of node:http would load fetch and all that belongs to it, a third of the time that a start takes.
    const server =
      identity === undefined
        ? process.getBuiltinModule('node:http').createServer(handle)
        : createServer({ cert: identity.certificate, key: identity.privateKey }, handle);
    this.#server = server;
    // Longer than clients keep an idle connection: none is closed under a request. Waits and held calls take as long as they take.
    server.keepAliveTimeout = 120_000;
    server.requestTimeout = 0;
    server.on('connection', (socket: Socket) => {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('clientError', (_error, socket) => socket.destroy());
    server.on('tlsClientError', () => undefined);
    server.listen(this.#port, '127.0.0.1', 2048);
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.state.world.origin = this.#origin;
  }

  async close(): Promise<void> {
    const closing = this.#server;
    this.#server = undefined;
    if (closing === undefined) return;
    const closed = once(closing, 'close');
    closing.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://server');
    const { pathname } = url;
    const desk = this.#desk;
    if (pathname.startsWith('/nfc/'))
      return serveTransfer(desk, this.#options.interceptTransfer, request, response, pathname);
    const bytes = await readBody(request);
    if (bytes === undefined) {
      response.writeHead(413).end('request body above 64 MiB');
      // Read on: a connection that is closed under a body breaks before its sender has seen the answer.
      request.resume();
      return;
    }
    if (pathname.startsWith('/rest') || pathname.startsWith('/api') || request.method !== 'POST') {
      const call = restCall(desk, request, response, url, bytes);
      return this.#answer(call, async () => answerRest(desk, call));
    }
    const text = bytes.toString('utf8');
    const body = soapCallIn(text);
    const call = { method: body?.name ?? '', text, body, session: desk.sessionOf(request), request, response };
    return this.#answer(call, () => answerSoap(desk, this.#waits, call));
  }

  async #answer(call: WireCall, act: () => Promise<WireAnswer>): Promise<void> {
    const { response } = call;
    const answer = await (this.#options.intercept?.(call, act) ?? act());
    if (answer === undefined || response.destroyed) return;
    response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.bytes.length });
    response.end(answer.bytes);
  }
}

/** Nothing is there. */
const EMPTY = { folders: [], datastores: [], networks: [], clusters: [], tags: [] };

/** undefined: it is too long. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > MOST_BYTES) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, size);
}
