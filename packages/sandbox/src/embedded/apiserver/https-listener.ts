import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** A request and an answer of HTTP/1.1 or HTTP/2. */
export type WireRequest = IncomingMessage | Http2ServerRequest;
export type WireResponse = ServerResponse | Http2ServerResponse;

/** Where and as whom the server listens. */
export interface ListenOptions {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  readonly certificate: string;
  readonly privateKey: string;
  /** Signs client certificates. */
  readonly clientCa: string;
}

/** A listening server. Disposing it cuts all connections. */
export interface Listener extends AsyncDisposable {
  readonly port: number;
}

/** As Go's HTTP server bounds the headers of a request (bytes). */
const MAX_HEADER_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 10_000;
/** Within which a client must finish its handshake and its headers (ms). */
const HANDSHAKE_MS = 10_000;
const HEADERS_MS = 60_000;
const STREAMS_PER_CONNECTION = 100;

/** Listens for HTTP/1.1 and HTTP/2 over TLS. No error of a connection or of `handle` reaches the process. */
export async function listen(
  options: ListenOptions,
  handle: (request: WireRequest, response: WireResponse) => void,
): Promise<Listener> {
  const sockets = new Set<TLSSocket>();
  const server: Http2SecureServer = createSecureServer({
    allowHTTP1: true,
    cert: options.certificate,
    key: options.privateKey,
    ca: options.clientCa,
    requestCert: true,
    // A wrong certificate gets a 401, as from the real server, rather than a broken handshake.
    rejectUnauthorized: false,
    handshakeTimeout: HANDSHAKE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    maxHeaderListPairs: 4096,
    // Megabytes. Go's server has no such limit. Node's default of 10 refuses calls while a client does not read a large list, and then ends the connection.
    maxSessionMemory: 1024,
    settings: { maxConcurrentStreams: STREAMS_PER_CONNECTION, initialWindowSize: 1024 * 1024 },
  } as Parameters<typeof createSecureServer>[0]);
  Object.assign(server, { headersTimeout: HEADERS_MS, requestTimeout: 0, keepAliveTimeout: 180_000 });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.on('sessionError', () => undefined);
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('clientError', (error, socket) => refuse(error, socket as TLSSocket));
  server.on('request', (request: WireRequest, response: WireResponse) => {
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    handle(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port, backlog: 1024 }, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Answers what is no HTTP in HTTP, as Go's server does, and closes. */
function refuse(error: Error & { readonly code?: string }, socket: TLSSocket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`);
}
