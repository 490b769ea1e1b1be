import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { fixedCredentials } from '../access/credentials.ts';
import type { ClusterConfig } from '../access/kubeconfig.ts';
import type { KubeObject, Resource } from '../resource.ts';

/** One request as the server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Answers one request; `n` counts from 0. */
export type Answer = (request: SeenRequest, response: ServerResponse, n: number) => void;

/** A real HTTP server on loopback that misbehaves on demand. */
export interface MisbehavingServer extends AsyncDisposable {
  readonly config: ClusterConfig;
  readonly requests: readonly SeenRequest[];
  /** Connections opened so far. */
  readonly connections: number;
}

/** Starts a server whose every answer is the script's. Disposing it cuts all connections. */
export async function misbehavingServer(answer: Answer): Promise<MisbehavingServer> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const url = new URL(incoming.url ?? '/', 'http://server');
      const seen: SeenRequest = {
        method: incoming.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      answer(seen, response, requests.push(seen) - 1);
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    config: {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      context: 'test',
      namespace: 'default',
      credentials: fixedCredentials({ authorization: 'Bearer test' }),
    },
    requests,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Sends a JSON body. */
export function sendJson(
  response: ServerResponse,
  body: unknown,
  code = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Sends a Status, as the API server answers failed calls. */
export function sendStatus(
  response: ServerResponse,
  code: number,
  status: Readonly<Record<string, unknown>> = {},
  headers: Record<string, string> = {},
): void {
  sendJson(response, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, ...status }, code, headers);
}

/** A kind for tests. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: { readonly phase?: string; readonly count?: number };
}

/** ConfigMap of the core group. */
export const CONFIG_MAP: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
};
