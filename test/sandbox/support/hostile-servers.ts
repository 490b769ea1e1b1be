import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { Sandbox } from '@drydock/sandbox';
import { Agent, request } from 'undici';

/** A server on loopback that does its clients harm. */
export interface HostileServer extends AsyncDisposable {
  /** `127.0.0.1:<port>`. */
  readonly address: string;
  /** Clients that it has now. */
  readonly clients: () => number;
}

/** A server that takes every connection and never says a word. */
export async function silentServer(): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    clients: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A server whose files never end: some bytes come now and then, for ever. */
export async function endlessFiles(): Promise<HostileServer> {
  let clients = 0;
  const server = createServer((_request, response) => {
    clients += 1;
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    const drip = setInterval(() => response.write(Buffer.alloc(1024)), 50);
    response.on('close', () => {
      clients -= 1;
      clearInterval(drip);
    });
  });
  return listening(server, () => clients);
}

/** A way to the API server on which the list of one resource has no end, while `endless` says so. */
export interface EndlessLists extends AsyncDisposable {
  /** Text of a kubeconfig for it. */
  readonly kubeconfig: string;
  /** Plural of the resource whose lists have no end. */
  endless: string | undefined;
  /** Pages of it that were given. */
  readonly pages: () => number;
}

/** Opens the way. Whoever comes through is a cluster administrator. */
export async function endlessLists({ admin }: Sandbox): Promise<EndlessLists> {
  const dispatcher = new Agent({
    bodyTimeout: 0,
    headersTimeout: 0,
    connect: { ca: admin.ca, cert: admin.certificate, key: admin.privateKey },
  });
  let pages = 0;
  const page = (response: ServerResponse, kind: string): void => {
    pages += 1;
    // A megabyte of objects that are all different.
    const items = Array.from({ length: 250 }, (_, at) => ({
      metadata: { name: `m-${pages}-${at}`, namespace: 'openshift-machine-api', uid: `${pages}-${at}` },
      spec: { lifecycleHooks: {}, providerSpec: { value: { text: `${pages} ${at} ${'x'.repeat(4000)}` } } },
    }));
    const metadata = { resourceVersion: '1', continue: `more-${pages}` };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind, apiVersion: 'machine.openshift.io/v1beta1', metadata, items }));
  };
  const forward = async (from: IncomingMessage, to: ServerResponse): Promise<void> => {
    const url = new URL(from.url ?? '/', admin.url);
    const lists = made.endless !== undefined && url.pathname.endsWith(`/${made.endless}`) && from.method === 'GET';
    if (lists && url.searchParams.get('watch') === 'true' && url.searchParams.get('sendInitialEvents') === 'true') {
      const message = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Invalid', code: 422, message };
      to.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify(status));
      return;
    }
    if (lists && url.searchParams.get('watch') !== 'true') {
      page(to, 'MachineList');
      return;
    }
    const gone = new AbortController();
    to.once('close', () => gone.abort());
    const { connection: _, host: __, ...headers } = from.headers;
    const body = from.method === 'GET' || from.method === 'HEAD' ? null : from;
    const method = (from.method ?? 'GET') as 'GET';
    const answer = await request(url, { dispatcher, method, headers, body, signal: gone.signal });
    to.writeHead(answer.statusCode, answer.headers);
    to.flushHeaders();
    await pipeline(answer.body, to);
  };
  const server = createServer((from, to) => {
    forward(from, to).catch(() => to.destroy());
  });
  const { address, ...listener } = await listening(server, () => 0);
  const made: EndlessLists = {
    kubeconfig: JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'way' },
      clusters: [{ name: 'way', cluster: { server: `http://${address}` } }],
      users: [{ name: 'way', user: { token: 'the-way-has-the-credentials' } }],
      contexts: [{ name: 'way', context: { cluster: 'way', user: 'way' } }],
    }),
    endless: undefined,
    pages: () => pages,
    async [Symbol.asyncDispose]() {
      await listener[Symbol.asyncDispose]();
      await dispatcher.destroy();
    },
  };
  return made;
}

async function listening(server: Server, clients: () => number): Promise<HostileServer> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    clients,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
