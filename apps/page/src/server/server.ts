import { createServer as createHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { oneLine } from '@drydock/api/text';
import type { Assets } from './assets.ts';
import type { Feed } from './feed.ts';
import { type Stream, stream } from './stream.ts';

/** Whether a request may be answered; where not, with which status and why. */
export type Admission =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused'; readonly code: number; readonly why: string };

/** Who may look. */
export type Admit = (request: IncomingMessage) => Admission | Promise<Admission>;

/** What is served where. */
export interface PageServerOptions {
  readonly feed: Feed;
  readonly assets: Assets;
  readonly admit: Admit;
  /** An IP address, or `*` for all of this machine. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** PEM. Without it the server speaks plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Told of requests that failed here. */
  readonly onError?: (error: unknown) => void;
}

/** A server of the page. Disposal ends all connections. */
export interface PageServer extends AsyncDisposable {
  readonly url: string;
  /** Takes a renewed certificate for the connections to come. */
  readonly renew: (tls: { readonly cert: string; readonly key: string }) => void;
}

/** Everything that the page needs comes from here, nothing in it is text of others, and nobody may frame it. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
};

const MOST_CONNECTIONS = 128;
const HANDSHAKE_MS = 5000;
/** Each of them is sent every change. */
const MOST_STREAMS = 64;

/** Starts the server. Rejects where it cannot listen. */
export async function startPage(options: PageServerOptions): Promise<PageServer> {
  const { feed, assets, admit, host, port, tls, onError = () => undefined } = options;
  const streams = new Set<Stream>();
  /** Connections on which nobody was admitted yet, by their other end: a request has the TLS socket, and the server knows the one below. */
  const unproven = new Map<string, Socket>();
  let connections = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    if (tls !== undefined) response.setHeader('strict-transport-security', 'max-age=31536000');
    if (request.method !== 'GET') {
      response.setHeader('allow', 'GET');
      return refuse(response, 405, `${request.method ?? 'this'} is not understood: the page can only be read`);
    }
    const path = URL.parse(request.url ?? '/', 'http://page.invalid')?.pathname ?? '';
    // Says nothing, and a kubelet has no token.
    if (path === '/healthz') return send(response, 200, 'text/plain; charset=utf-8', 'ok\n');
    const admission = await admit(request);
    if (admission.kind === 'refused') {
      if (admission.code === 401) response.setHeader('www-authenticate', 'Bearer');
      return refuse(response, admission.code, admission.why);
    }
    unproven.delete(peerOf(request.socket));
    const asset = assets.get(path);
    if (asset !== undefined) {
      response.setHeader('cache-control', 'no-cache');
      response.setHeader('etag', asset.etag);
      if (request.headers['if-none-match'] === asset.etag) {
        response.statusCode = 304;
        response.end();
        return undefined;
      }
      const zipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
      response.setHeader('vary', 'accept-encoding');
      if (zipped) response.setHeader('content-encoding', 'gzip');
      return send(response, 200, asset.type, zipped ? asset.gzipped : asset.body);
    }
    if (path === '/state') return sendState(response);
    if (path === '/events') return open(request, response);
    return refuse(response, 404, 'there is nothing here');
  }

  async function sendState(response: ServerResponse): Promise<void> {
    try {
      send(response, 200, 'application/json; charset=utf-8', JSON.stringify(await feed.now()));
    } catch (error) {
      refuse(response, 502, `the cluster could not be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  function open(request: IncomingMessage, response: ServerResponse): void {
    if (streams.size >= MOST_STREAMS) {
      response.setHeader('retry-after', '30');
      refuse(response, 503, 'too many people look at this page: wait until somebody closes it');
      return;
    }
    const lastId = request.headers['last-event-id'];
    const made = stream(response, {
      // Who may look may lose that right: then the stream ends, and the next one is refused.
      admitted: async () => (await admit(request)).kind === 'admitted',
      onEnd: () => streams.delete(made),
    });
    streams.add(made);
    made.follow((on) => feed.subscribe(typeof lastId === 'string' ? lastId : undefined, on));
  }

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch((error: unknown) => {
      onError(error);
      if (response.headersSent) response.destroy();
      else refuse(response, 500, 'the server failed: its log says why');
    });
  };
  const limits = {
    ...{ headersTimeout: 10_000, requestTimeout: 15_000, keepAliveTimeout: 10_000, maxHeaderSize: 16_384 },
    connectionsCheckingInterval: 1000,
  };
  const secure =
    tls === undefined
      ? undefined
      : createHttps({ ...limits, ...tls, minVersion: 'TLSv1.2', handshakeTimeout: HANDSHAKE_MS }, listener);
  const server: Server = secure ?? createHttp(limits, listener);
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    unproven.set(peer, socket);
    connections += 1;
    socket.once('close', () => {
      connections -= 1;
      if (unproven.get(peer) === socket) unproven.delete(peer);
    });
    // Whoever has shown no token makes room, the one that waited longest first.
    const [oldest] = connections > MOST_CONNECTIONS ? unproven.values() : [];
    oldest?.destroy();
  });
  server.maxRequestsPerSocket = 1000;
  await listen(server, port, host);
  const { port: taken } = server.address() as AddressInfo;
  const name = host === '*' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${name}:${taken}/`,
    renew: (next) => secure?.setSecureContext({ ...next, minVersion: 'TLSv1.2' }),
    [Symbol.asyncDispose]: async () => {
      for (const one of streams) one[Symbol.dispose]();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host === '*' ? {} : { host }) }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function send(response: ServerResponse, code: number, type: string, body: string | Buffer): void {
  response.statusCode = code;
  response.setHeader('content-type', type);
  response.setHeader('content-length', Buffer.byteLength(body));
  response.end(body);
}

function refuse(response: ServerResponse, code: number, why: string): void {
  send(response, code, 'text/plain; charset=utf-8', `drydock: ${oneLine(why)}\n`);
}
