import { once } from 'node:events';
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { childText, descend, elements, VIM_NS, type XmlElement } from '../../xml/xml.ts';
import { parseXml } from '../../xml/xml-tree.ts';
import { METHODS } from './calls.ts';
import { SyntheticInventory } from './inventory.ts';
import { Misbehaviours, sendWrong } from './misbehaviour.ts';
import { enveloped } from './page.ts';
import { Refusal } from './refusal.ts';
import { retrieve } from './retrieve.ts';
import { SyntheticSession } from './session.ts';
import { waitForUpdates } from './wait.ts';

/** How a synthetic vCenter is made. */
export interface SyntheticOptions {
  /** Certificate and key for 127.0.0.1; without it plain HTTP is spoken, which Drydock's own client refuses. */
  readonly identity?: { readonly certificate: string; readonly privateKey: string };
  /** about.instanceUuid. */
  readonly instanceUuid?: string;
  /** How long a second of `maxWaitSeconds` lasts; 1000 unless said. */
  readonly secondMs?: number;
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

/** A vCenter of machines that nobody has to compute: see the README of this folder. */
export interface SyntheticVCenter extends AsyncDisposable {
  readonly url: string;
  readonly inventory: SyntheticInventory;
  readonly faults: Misbehaviours;
  /** about.instanceUuid; another one is another vCenter, of which nobody knows the sessions. */
  instanceUuid: string;
  /** Who may log in; can be changed at any time. */
  credentials: { readonly user: string; readonly password: string };
  /** Paths that the user may not read → the fault that says so. */
  readonly denied: Map<string, string>;
  /** Paths that this API version does not have. */
  readonly unknownPaths: Set<string>;
  /** Moref values of containers that the user may not see. */
  readonly forbidden: Set<string>;
  /** The server answers for new views, and then does not know them. */
  losesViews: boolean;
  /** Machines that are destroyed by the next retrieval that names them. */
  readonly vanishing: Set<string>;
  /** How often each method was called, logins that were refused included. */
  readonly calls: ReadonlyMap<string, number>;
  objects(): ServerObjects;
  /** Called when a wait finds nothing to say; what it changes is sent at once. */
  onIdle: (() => void) | undefined;
  /** Called after each answer to a wait; what it changes is the next answer, made before it is asked for. */
  onAnswered: (() => void) | undefined;
  /** Ends all sessions: their waits end with NotAuthenticated, and what was made in them is gone. */
  endSessions(): void;
  /** All waits end with a fault; sessions stay. */
  endWaits(fault: string): void;
  /** Cuts the connections of all waits, as a reset does; nothing else ends. */
  cutWaits(): number;
  /** Nobody is listening any more, and all connections are cut. Sessions go unless `keepSessions`. */
  goAway(options?: { readonly keepSessions?: boolean }): Promise<void>;
  comeBack(): Promise<void>;
}

const COOKIE = 'vmware_soap_session';

/** Starts a synthetic vCenter on loopback. */
export async function startSyntheticVCenter(options: SyntheticOptions = {}): Promise<SyntheticVCenter> {
  const { identity, secondMs = 1000 } = options;
  const inventory = new SyntheticInventory();
  const faults = new Misbehaviours();
  const sessions = new Map<string, SyntheticSession>();
  const calls = new Map<string, number>();
  const waiting = new Set<ServerResponse>();
  const sockets = new Set<Socket>();
  const readable = {
    inventory,
    denied: new Map<string, string>(),
    unknownPaths: new Set<string>(),
    vanishing: new Set<string>(),
    forbidden: new Set<string>(),
    losesViews: () => vcenter.losesViews,
  };
  let logins = 0;
  let port = 0;
  let server: Server | undefined;

  const login = (body: XmlElement, cookie: string | undefined, response: ServerResponse): string => {
    const { user, password } = vcenter.credentials;
    const right = childText(body, 'userName') === user && childText(body, 'password') === password;
    if (!right || (cookie !== undefined && sessions.has(cookie))) throw new Refusal('InvalidLogin');
    const session = new SyntheticSession(inventory);
    // The quotes belong to the value.
    logins += 1;
    const value = `"${session.key}-${logins}=="`;
    sessions.set(`${COOKIE}=${value}`, session);
    response.setHeader('set-cookie', `${COOKIE}=${value}; Path=/; HttpOnly; Secure; SameSite=Lax`);
    return `<returnval><key>${session.key}</key><userName>${user}</userName></returnval>`;
  };
  const end = (cookie: string, fault: string): void => {
    const session = sessions.get(cookie);
    sessions.delete(cookie);
    session?.endWaits(fault);
  };
  const run = (method: string, body: XmlElement, cookie: string | undefined, response: ServerResponse): string => {
    if (method === 'RetrieveServiceContent') return serviceContent(vcenter.instanceUuid);
    if (method === 'Login') return login(body, cookie, response);
    const session = cookie === undefined ? undefined : sessions.get(cookie);
    if (session === undefined) {
      if (method === 'RetrievePropertiesEx') return retrieve(readable, undefined, body);
      throw new Refusal('NotAuthenticated');
    }
    if (method === 'Logout') {
      end(cookie ?? '', 'NotAuthenticated');
      return '';
    }
    const answer = METHODS[method];
    if (answer === undefined) throw new Refusal('InvalidRequest');
    return answer(session, body, readable);
  };

  const answer = async (
    method: string,
    body: XmlElement,
    cookie: string | undefined,
    response: ServerResponse,
  ): Promise<{ readonly status: number; readonly bytes: Buffer }> => {
    try {
      if (method !== 'WaitForUpdatesEx')
        return { status: 200, bytes: Buffer.from(responseTo(method, run(method, body, cookie, response))) };
      const session = sessions.get(cookie ?? '');
      if (session === undefined) throw new Refusal('NotAuthenticated');
      const bytes = await waitForUpdates(
        { inventory, waiting, secondMs, onIdle: () => vcenter.onIdle?.(), onAnswered: () => vcenter.onAnswered },
        session,
        body,
        response,
      );
      trim();
      return { status: 200, bytes: bytes ?? Buffer.from(responseTo(method, '')) };
    } catch (error) {
      if (error instanceof Refusal) return { status: 500, bytes: Buffer.from(faultOf(error)) };
      throw error;
    }
  };
  const trim = (): void => {
    let needed = inventory.now;
    for (const session of sessions.values())
      for (const collector of session.collectors.values()) needed = Math.min(needed, collector.needs);
    inventory.forgetBefore(needed);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse, text: string): Promise<void> => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'text/xml');
      response.end('<namespaces><namespace><name>urn:vim25</name><version>8.0.2.0</version></namespace></namespaces>');
      return;
    }
    const body = elements(descend(parseXml(text), 'Body'))[0];
    const method = body?.name ?? '';
    calls.set(method, (calls.get(method) ?? 0) + 1);
    const wrong = faults.take(method);
    if (wrong?.act === 'reset-before' || wrong?.act === 'half-open') return sendWrong(response, wrong, Buffer.alloc(0));
    const refused = wrong?.act === 'fault' ? new Refusal(wrong.fault, wrong.fields) : undefined;
    const { status, bytes } =
      refused !== undefined || body === undefined
        ? { status: 500, bytes: Buffer.from(faultOf(refused ?? new Refusal('InvalidRequest'))) }
        : await answer(method, body, cookieOf(request), response);
    if (response.destroyed) return;
    if (wrong !== undefined && wrong.act !== 'fault') return sendWrong(response, wrong, bytes);
    response.writeHead(status, { 'content-type': 'text/xml; charset=utf-8', 'content-length': bytes.length });
    response.end(bytes);
  };

  const listen = async (): Promise<void> => {
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        serve(request, response, Buffer.concat(chunks).toString('utf8')).catch((error: unknown) => {
          response.destroy(error as Error);
        });
      });
    };
    server =
      identity === undefined
        ? createPlainServer(handle)
        : createServer({ cert: identity.certificate, key: identity.privateKey }, handle);
    // Longer than clients keep an idle connection: none is closed under a request.
    server.keepAliveTimeout = 120_000;
    server.on('connection', (socket: Socket) => {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('tlsClientError', () => undefined);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };

  const close = async (): Promise<void> => {
    const closing = server;
    server = undefined;
    if (closing === undefined) return;
    const closed = once(closing, 'close');
    closing.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const vcenter: SyntheticVCenter = {
    get url() {
      return `${identity === undefined ? 'http' : 'https'}://127.0.0.1:${port}/sdk`;
    },
    faults,
    calls,
    inventory,
    denied: readable.denied,
    unknownPaths: readable.unknownPaths,
    forbidden: readable.forbidden,
    vanishing: readable.vanishing,
    losesViews: false,
    instanceUuid: options.instanceUuid ?? 'synthetic-1',
    credentials: { user: 'watcher@vsphere.local', password: 'synthetic' },
    onIdle: undefined,
    onAnswered: undefined,
    objects() {
      const all = [...sessions.values()];
      const sum = (of: (session: SyntheticSession) => number): number =>
        all.reduce((total, session) => total + of(session), 0);
      return {
        sessions: all.length,
        views: sum(({ views }) => views.size),
        lists: sum(({ lists }) => lists.size),
        collectors: sum(({ collectors }) => collectors.size),
        filters: sum(({ filters }) => filters.size),
        waits: sum(({ waits }) => waits.size),
      };
    },
    endSessions() {
      for (const cookie of [...sessions.keys()]) end(cookie, 'NotAuthenticated');
    },
    endWaits(fault) {
      for (const session of sessions.values()) session.endWaits(fault);
    },
    cutWaits() {
      const cut = waiting.size;
      for (const response of [...waiting]) response.destroy();
      return cut;
    },
    async goAway({ keepSessions = false } = {}) {
      await close();
      if (!keepSessions) for (const cookie of [...sessions.keys()]) end(cookie, 'NotAuthenticated');
    },
    comeBack: listen,
    [Symbol.asyncDispose]: close,
  };
  await listen();
  return vcenter;
}

function cookieOf(request: IncomingMessage): string | undefined {
  return request.headers.cookie?.split(/;\s*/).find((pair) => pair.startsWith(`${COOKIE}=`));
}

function responseTo(method: string, inner: string): string {
  return enveloped(`<${method}Response xmlns="${VIM_NS}">${inner}</${method}Response>`);
}

function faultOf({ fault, fields }: Refusal): string {
  return enveloped(
    `<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring/><detail><${fault}Fault xmlns="${VIM_NS}" xsi:type="${fault}">${fields}</${fault}Fault></detail></soapenv:Fault>`,
  );
}

function serviceContent(instanceUuid: string): string {
  const service = (name: string, type: string): string => `<${name} type="${type}">${type}</${name}>`;
  return (
    '<returnval><rootFolder type="Folder">group-d1</rootFolder><propertyCollector type="PropertyCollector">propertyCollector</propertyCollector>' +
    `${service('viewManager', 'ViewManager')}<about><name>VMware vCenter Server</name><fullName>synthetic vCenter</fullName><vendor>VMware, Inc.</vendor><version>8.0.2</version><build>1</build><localeVersion>INTL</localeVersion><localeBuild>000</localeBuild><osType>linux-x64</osType><productLineId>vpx</productLineId><apiType>VirtualCenter</apiType><apiVersion>8.0.2.0</apiVersion><instanceUuid>${instanceUuid}</instanceUuid></about>` +
    `${service('sessionManager', 'SessionManager')}</returnval>`
  );
}
