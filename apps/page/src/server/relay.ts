import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { oneLine } from '@drydock/api/text';
import { loopbackOnly } from './loopback.ts';
import { type PageServer, SECURITY_HEADERS } from './server.ts';

/** A page that is served elsewhere, with the credentials that it wants. */
export interface RemotePage {
  /** The whole answer. Rejects with a sentence where it is refused. */
  readonly text: (path: string, signal: AbortSignal) => Promise<string>;
  /** The stream of events from `lastId` on. */
  readonly events: (lastId: string | undefined, signal: AbortSignal) => Promise<Readable>;
}

const TYPES: Readonly<Record<string, string>> = {
  '/': 'text/html; charset=utf-8',
  '/page.js': 'text/javascript; charset=utf-8',
  '/page.css': 'text/css; charset=utf-8',
  '/state': 'application/json; charset=utf-8',
};
const MOST_CONNECTIONS = 32;

/** Serves a page that is elsewhere to this machine alone: what a browser cannot send is added on the way, and what it sends besides is not passed on. */
export async function relayPage(
  remote: RemotePage,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Omit<PageServer, 'renew'>> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    const refuse = (code: number, why: string): void => {
      response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(`drydock: ${oneLine(why)}\n`);
    };
    if (request.method !== 'GET') return refuse(405, 'the page can only be read');
    const admission = await loopbackOnly(request);
    if (admission.kind === 'refused') return refuse(admission.code, admission.why);
    const path = URL.parse(request.url ?? '/', 'http://page.invalid')?.pathname ?? '';
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const type = TYPES[path];
    try {
      if (type !== undefined) {
        const body = await remote.text(path, gone.signal);
        response.writeHead(200, { 'content-type': type });
        response.end(body);
      } else if (path === '/events') {
        const last = request.headers['last-event-id'];
        const events = await remote.events(typeof last === 'string' ? last : undefined, gone.signal);
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        response.flushHeaders();
        await pipeline(events, response);
      } else refuse(404, 'there is nothing here');
    } catch (error) {
      if (gone.signal.aborted) return;
      if (response.headersSent) response.destroy();
      else refuse(502, error instanceof Error ? error.message : String(error));
    }
  }

  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 15_000, maxHeaderSize: 16_384 },
    (request, response) => {
      // Everything that can go wrong is told to whoever asked.
      answer(request, response).catch(() => response.destroy());
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host }, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}/`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
