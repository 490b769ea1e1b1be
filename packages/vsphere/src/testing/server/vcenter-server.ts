import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { child, childText, descend, elements, referenceOf, VIM_NS, type XmlElement } from '../../xml/xml.ts';
import { XmlSyntaxError } from '../../xml/xml-characters.ts';
import { parseXml, TREE_LIMITS } from '../../xml/xml-tree.ts';
import { type InventoryState, initialState } from '../inventory.ts';
import type { LeaseRecord } from './lease-record.ts';
import type { MethodCall } from './method-call.ts';
import { lackedPrivilege } from './method-checks.ts';
import { UploadReceiver, uploadTarget } from './nfc-leases.ts';
import type { ObjectIndex } from './object-index.ts';
import { propertyOf } from './object-properties.ts';
import { retrieve } from './property-retrieval.ts';
import { DATA_PATH, readData, runRest, writeData } from './rest-methods.ts';
import { ServerSession } from './server-session.ts';
import { serviceContent, userSession } from './service-objects.ts';
import { runMethod } from './soap-methods.ts';
import { faultXml, found, notAuthenticated, refusal } from './soap-refusal.ts';
import { enveloped } from './update-page.ts';
import { waitForUpdates } from './update-wait.ts';
import type { ServerAbout, VCenterServerState } from './vcenter-server-state.ts';
import { asRefusal, type TaskRecord, VCenterWorld } from './vcenter-world.ts';
import { render } from './vim-values.ts';

/** One call on its way through the server. */
export interface WireCall {
  /** A SOAP method; a REST call as `POST /rest/…` with ids as `id:*`; `upload`, `download`. */
  readonly method: string;
  /** The request's body; for uploads its path. */
  readonly text: string;
  /** The SOAP call, parsed. */
  readonly body: XmlElement | undefined;
  readonly session: ServerSession | undefined;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** An answer before it is sent. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** The task that it names. */
  readonly task?: TaskRecord;
}

/** Stands between a call and its answer; undefined: it has answered by itself, or cut the connection. */
export type Interceptor = (call: WireCall, act: () => Promise<WireAnswer>) => Promise<WireAnswer | undefined>;

/** Stands between a transfer and its receiver. `receive` reads the body through `pass` and resolves to the status. */
export type TransferInterceptor = (
  transfer: WireCall & { readonly lease: LeaseRecord | undefined },
  receive: (pass: (body: AsyncIterable<Buffer>) => AsyncIterable<Buffer>) => Promise<number>,
) => Promise<void>;

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

/** Counts since the start. */
export interface LoginCounts {
  logins: number;
  refused: number;
  logouts: number;
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

const COOKIE = 'vmware_soap_session';
const REST_COOKIE = 'vmware-api-session-id';
const MOST_BYTES = 64 << 20;
/** A request of 10 MB may be made of elements; nobody means more than that. */
const LIMITS = { ...TREE_LIMITS, total: MOST_BYTES };
const XML_TYPE = { 'content-type': 'text/xml; charset=utf-8' };
const LOCKOUT_WINDOW_MS = 180_000;
const LOCKOUT_MS = 300_000;
/** Setting: seconds after which a session without a call ends, as `1800s`. */
const IDLE_LIMIT = 'config.vmacore.soap.sessionTimeout';

const ABOUT: Omit<ServerAbout, 'instanceUuid'> = {
  fullName: 'VMware vCenter Server 6.5.0 build-5973321',
  version: '6.5.0',
  build: '5973321',
  apiVersion: '6.5',
};

const VERSIONS =
  '<?xml version="1.0" encoding="UTF-8"?><namespaces version="1.0"><namespace><name>urn:vim25</name><version>6.5</version>' +
  '<priorVersions><version>6.0</version><version>5.5</version></priorVersions></namespace></namespaces>';

/** Drops a connection so that the client sees a reset, not an end. */
export function resetConnection(request: IncomingMessage): void {
  const { socket } = request;
  if ('resetAndDestroy' in socket && typeof socket.resetAndDestroy === 'function' && !('encrypted' in socket)) {
    socket.resetAndDestroy();
    return;
  }
  // Behind TLS the socket below is the one to reset.
  const raw = (socket as { readonly _parent?: Socket })._parent;
  if (raw === undefined) socket.destroy();
  else raw.resetAndDestroy();
}

/** Starts a vCenter on loopback. */
export async function startVCenterServer(options: VCenterServerOptions = {}): Promise<VCenterServer> {
  const server = new WireServer(options);
  await server.listen();
  return server;
}

class WireServer implements VCenterServer {
  readonly state: VCenterServerState;
  readonly counts: LoginCounts = { logins: 0, refused: 0, logouts: 0 };
  onIdle: (() => void) | undefined;
  onAnswered: (() => void) | undefined;
  readonly #options: VCenterServerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<ServerResponse>();
  /** Times of refusals by user. */
  readonly #refusals = new Map<string, number[]>();
  /** Account → until when it is locked. */
  readonly #lockedUntil = new Map<string, number>();
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

  endSession(session: ServerSession): void {
    this.state.sessions.delete(session.id);
    session.end();
  }

  cutWaits(): number {
    const cut = this.#waiting.size;
    for (const response of [...this.#waiting]) response.destroy();
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
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://server');
    if (pathname.startsWith('/nfc/')) return this.#serveTransfer(request, response, pathname);
    const bytes = await readBody(request);
    if (bytes === undefined) {
      response.writeHead(413, { connection: 'close' }).end('request body above 64 MiB');
      return;
    }
    const isRest = pathname.startsWith('/rest') || pathname.startsWith('/api');
    if (isRest || request.method !== 'POST') {
      const call = this.#restCall(request, response, pathname, searchParams, bytes);
      return this.#answer(call, () => this.#actRest(call, pathname, searchParams, bytes));
    }
    const text = bytes.toString('utf8');
    let body: XmlElement | undefined;
    try {
      body = elements(descend(parseXml(text, LIMITS), 'Body'))[0];
    } catch (error) {
      if (!(error instanceof XmlSyntaxError)) throw error;
    }
    const session = this.#sessionOf(request);
    const call = { method: body?.name ?? '', text, body, session, request, response };
    return this.#answer(call, () => this.#actSoap(call));
  }

  async #answer(call: WireCall, act: () => Promise<WireAnswer>): Promise<void> {
    const { response } = call;
    const answer = await (this.#options.intercept?.(call, act) ?? act());
    if (answer === undefined || response.destroyed) return;
    response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.bytes.length });
    response.end(answer.bytes);
  }

  #restCall(
    request: IncomingMessage,
    response: ServerResponse,
    pathname: string,
    query: URLSearchParams,
    bytes: Buffer,
  ): WireCall {
    const path = pathname.replaceAll(/\/id:[^/]*/g, '/id:*');
    const action = query.get('~action');
    return {
      method: `${request.method ?? ''} ${path}${action === null ? '' : `?~action=${action}`}`,
      ...{ text: bytes.toString('utf8'), body: undefined, session: this.#sessionOf(request), request, response },
    };
  }

  #sessionOf(request: IncomingMessage): ServerSession | undefined {
    const shown = [request.headers[REST_COOKIE]];
    for (const pair of request.headers.cookie?.split(/;\s*/) ?? []) {
      const [name, ...value] = pair.split('=');
      if (name === COOKIE || name === REST_COOKIE) shown.push(value.join('='));
    }
    this.#endIdle();
    for (const one of shown) {
      const session = this.state.sessions.get(String(one).replaceAll('"', ''));
      if (session === undefined) continue;
      session.calls += 1;
      session.lastCall = Date.now();
      return session;
    }
    return undefined;
  }

  /** Ends sessions that made no call for too long. */
  #endIdle(): void {
    const seconds = Number.parseFloat(this.state.settings.get(IDLE_LIMIT) ?? '');
    if (!(seconds > 0)) return;
    const since = Date.now() - seconds * 1000;
    for (const session of [...this.state.sessions.values()])
      if (session.lastCall < since && session.waits.size === 0) this.endSession(session);
  }

  async #actSoap(call: WireCall): Promise<WireAnswer> {
    const { method, body } = call;
    try {
      if (body === undefined || method === '') throw refusal('InvalidRequest', {}, 'The request is no SOAP call.');
      if (method === 'WaitForUpdatesEx' || method === 'WaitForUpdates') return await this.#wait(call, body);
      const headers: Record<string, string> = { ...XML_TYPE };
      const made: { task?: TaskRecord } = {};
      const inner = this.#run(call, body, headers, made);
      const bytes = Buffer.from(responseTo(method, inner));
      return { status: 200, headers, bytes, ...made };
    } catch (error) {
      const refused = asRefusal(error);
      return { status: 500, headers: XML_TYPE, bytes: Buffer.from(enveloped(faultXml(refused))) };
    }
  }

  async #wait(call: WireCall, body: XmlElement): Promise<WireAnswer> {
    if (call.session === undefined) throw notAuthenticated();
    const { index } = this;
    const bytes = await waitForUpdates(
      {
        ...{ index, waiting: this.#waiting, secondMs: this.#options.secondMs ?? 1000 },
        onIdle: () => this.onIdle?.(),
        onAnswered: () => this.onAnswered,
      },
      call.session,
      body,
      call.response,
    );
    let needed = index.now;
    for (const session of this.state.sessions.values())
      for (const collector of session.collectors.values()) needed = Math.min(needed, collector.needs);
    index.forgetBefore(needed);
    return { status: 200, headers: XML_TYPE, bytes: bytes ?? Buffer.from(responseTo(call.method, '')) };
  }

  #run(call: WireCall, body: XmlElement, headers: Record<string, string>, made: { task?: TaskRecord }): string {
    const { method, session } = call;
    const { state } = this;
    if (method === 'RetrieveServiceContent') return render('returnval', serviceContent(state));
    if (method === 'Login') return this.#login(call, body, headers);
    if (session === undefined) {
      if (method === 'RetrievePropertiesEx') return retrieve(state, undefined, body);
      throw notAuthenticated();
    }
    if (method === 'Logout') {
      this.counts.logouts += 1;
      this.endSession(session);
      return '';
    }
    const self = found(referenceOf(child(body, '_this')), undefined);
    const running: MethodCall = { state, session, method, self, body };
    const inner = runMethod(running);
    if (running.task !== undefined) made.task = running.task;
    return inner;
  }

  /** Accounts that are locked now, in lower case. */
  lockedAccounts(): readonly string[] {
    const now = Date.now();
    return [...this.#lockedUntil]
      .filter(([, until]) => now < until)
      .map(([account]) => account)
      .toSorted();
  }

  /** Whether somebody may log in; refusals are counted. */
  #admits(user: string, password: string): boolean {
    const { logins } = this.state;
    const account = user.toLowerCase();
    const now = Date.now();
    const isLocked = logins.lockoutAfter > 0 && now < (this.#lockedUntil.get(account) ?? 0);
    if (!isLocked && !logins.refused && user === logins.user && password === logins.password) return true;
    this.counts.refused += 1;
    if (isLocked || logins.lockoutAfter === 0) return false;
    const refusals = (this.#refusals.get(account) ?? []).filter((at) => now - at < LOCKOUT_WINDOW_MS);
    refusals.push(now);
    this.#refusals.set(account, refusals);
    if (refusals.length >= logins.lockoutAfter) this.#lockedUntil.set(account, now + LOCKOUT_MS);
    return false;
  }

  #open(call: WireCall, kind: ServerSession['kind'], user: string): ServerSession {
    const { remoteAddress = '' } = call.request.socket;
    const agent = call.request.headers['user-agent'] ?? '';
    const session = new ServerSession(this.index, { id: randomUUID(), user, kind, address: remoteAddress, agent });
    this.state.sessions.set(session.id, session);
    this.counts.logins += 1;
    return session;
  }

  #login(call: WireCall, body: XmlElement, headers: Record<string, string>): string {
    const user = childText(body, 'userName') ?? '';
    // A session that is alive logs in once.
    if (call.session !== undefined) this.counts.refused += 1;
    if (call.session !== undefined || !this.#admits(user, childText(body, 'password') ?? ''))
      throw refusal('InvalidLogin', {}, 'Cannot complete login due to an incorrect user name or password.');
    const session = this.#open(call, 'soap', user);
    // The quotes belong to the value.
    headers['set-cookie'] = `${COOKIE}="${session.id}"; Path=/; HttpOnly; Secure; SameSite=Lax`;
    return render('returnval', userSession(session));
  }

  async #actRest(call: WireCall, pathname: string, query: URLSearchParams, bytes: Buffer): Promise<WireAnswer> {
    const { request, session } = call;
    const plain = (status: number, text = '', headers: Readonly<Record<string, string>> = {}): WireAnswer => ({
      ...{ status, headers, bytes: Buffer.from(text) },
    });
    if (pathname.endsWith('/vimServiceVersions.xml')) return plain(200, VERSIONS, { 'content-type': 'text/xml' });
    if (!pathname.startsWith('/rest/')) return plain(404);
    const path = pathname.slice('/rest'.length);
    if (path === '/com/vmware/cis/session') return this.#restSession(call, query);
    if (session === undefined) return plain(401);
    if (path.startsWith(DATA_PATH)) {
      const answer = request.method === 'GET' ? readData(this.state, path) : writeData(this.state, path, bytes);
      return { status: answer.status, headers: {}, bytes: Buffer.from(answer.bytes ?? []) };
    }
    const lacked = lackedPrivilege(this.state, call.method);
    if (lacked !== undefined) return json(403, unauthorized(lacked));
    let body: unknown;
    try {
      body = bytes.length === 0 ? {} : JSON.parse(call.text);
    } catch {
      return json(400, { type: 'com.vmware.vapi.std.errors.invalid_argument', value: {} });
    }
    const spec = typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
    const answer = runRest({ state: this.state, method: request.method ?? '', path, query, body: spec });
    if (answer.value === undefined) return plain(answer.status);
    return json(answer.status, answer.status === 200 ? { value: answer.value } : answer.value);
  }

  #restSession(call: WireCall, query: URLSearchParams): WireAnswer {
    const { request, session } = call;
    if (request.method === 'DELETE' || request.method === 'GET' || query.has('~action')) {
      if (session === undefined) return { status: 401, headers: {}, bytes: Buffer.alloc(0) };
      if (request.method !== 'DELETE')
        return json(200, { value: { user: session.user, created_time: session.at, last_accessed_time: new Date() } });
      this.counts.logouts += 1;
      this.endSession(session);
      return { status: 200, headers: {}, bytes: Buffer.alloc(0) };
    }
    const [user = '', ...password] = Buffer.from(request.headers.authorization?.replace(/^Basic /, '') ?? '', 'base64')
      .toString('utf8')
      .split(':');
    if (!this.#admits(user, password.join(':'))) return { status: 401, headers: {}, bytes: Buffer.alloc(0) };
    const opened = this.#open(call, 'rest', user);
    const cookie = { 'set-cookie': `${REST_COOKIE}=${opened.id}; Path=/rest` };
    const wantsHeader = String(request.headers['vmware-use-header-authn']).toLowerCase() === 'true';
    const answer = json(200, { value: opened.id });
    return wantsHeader ? answer : { ...answer, headers: { ...answer.headers, ...cookie } };
  }

  async #serveTransfer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const isUpload = request.method === 'PUT' || request.method === 'POST';
    const to = uploadTarget(this.state, path);
    const call = {
      ...{ method: isUpload ? 'upload' : 'download', text: path, body: undefined, request, response },
      ...{ session: this.#sessionOf(request), lease: to?.lease },
    };
    const receive = async (pass: (body: AsyncIterable<Buffer>) => AsyncIterable<Buffer>): Promise<number> => {
      if (to === undefined) {
        for await (const _ of pass(request));
        return 404;
      }
      const receiver = new UploadReceiver(to.target);
      try {
        for await (const chunk of pass(request)) receiver.take(chunk);
        return isUpload ? 200 : 405;
      } finally {
        receiver.end();
      }
    };
    const { interceptTransfer } = this.#options;
    if (interceptTransfer !== undefined) {
      await interceptTransfer(call, receive);
      return;
    }
    const status = await receive((body) => body);
    response.writeHead(status).end();
  }
}

/** Nothing is there. */
const EMPTY = { folders: [], datastores: [], networks: [], clusters: [], tags: [] };

function responseTo(method: string, inner: string): string {
  return enveloped(`<${method}Response xmlns="${VIM_NS}">${inner}</${method}Response>`);
}

function json(status: number, value: unknown): WireAnswer {
  return { status, headers: { 'content-type': 'application/json' }, bytes: Buffer.from(JSON.stringify(value)) };
}

function unauthorized(privilege: string): unknown {
  const id = 'vapi.security.authorization.invalid';
  const message = { id, default_message: 'Unable to authorize user', args: [privilege] };
  return { type: 'com.vmware.vapi.std.errors.unauthorized', value: { messages: [message] } };
}

/** undefined: it is too long. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > MOST_BYTES) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, size);
}
