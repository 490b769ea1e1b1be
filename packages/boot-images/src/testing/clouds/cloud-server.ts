import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createAuthority } from '@drydock/sandbox';
import type { CloudHttpsOptions } from '../../cloud/https.ts';

/** A request as it arrived. */
export interface CloudCall {
  /** The host that the client means, in its `host` header. */
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An answer. A body that is no text is sent as JSON. */
export interface CloudReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What goes wrong in place of an answer. */
export type CloudFault =
  | CloudReply
  /** Nothing comes. */
  | 'hang'
  /** The connection breaks. */
  | 'reset'
  /** Headers promise more than comes. */
  | 'truncated'
  /** A body without an end. */
  | 'endless'
  /** One character after another, without an end. */
  | 'drip';

/** A cloud on loopback: TLS with an authority of its own, and the proxy by which all of its hosts lead there. */
export interface CloudServer extends AsyncDisposable {
  /** For clients of ours: they go through the proxy, and trust the authority. */
  readonly options: Required<Pick<CloudHttpsOptions, 'ca' | 'env'>>;
  /** `http://127.0.0.1:<port>` of the proxy. */
  readonly proxy: string;
  /** PEM of the authority. */
  readonly ca: string;
  /** All that arrived, oldest first. */
  readonly calls: readonly CloudCall[];
  /** Names of hosts to which the proxy led. */
  readonly hosts: ReadonlySet<string>;
  /** Asked about each call before it is answered, which waits for it; what it returns happens in place of the answer. */
  fault: ((call: CloudCall) => CloudFault | undefined | Promise<CloudFault | undefined>) | undefined;
}

/** Starts it for these hosts. */
export async function startCloudServer(
  hosts: readonly string[],
  answer: (call: CloudCall) => CloudReply | Promise<CloudReply>,
): Promise<CloudServer> {
  const authority = createAuthority('cloud of a test');
  const identity = authority.issueServer(hosts);
  const calls: CloudCall[] = [];
  const led = new Set<string>();
  const sockets = new Set<Socket>();
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await buffer(request)).toString('utf8');
    const { host = '' } = request.headers;
    const url = new URL(request.url ?? '/', `https://${host}`);
    const call = {
      ...{ host: url.hostname, method: request.method ?? '', path: url.pathname, query: url.searchParams },
      ...{ headers: request.headers, body },
    };
    calls.push(call);
    const fault = await server.fault?.(call);
    if (typeof fault === 'string') misbehave(fault, response);
    else send(fault ?? (await answer(call)), response);
  };
  const https = createServer({ cert: identity.certificate, key: identity.privateKey }, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  https.on('connection', track);
  https.listen(0, '127.0.0.1');
  await once(https, 'listening');
  const { port } = https.address() as AddressInfo;

  // RFC 9110 §9.3.6: whatever host is asked for, the cloud is there.
  const proxy = createTcpServer((client) => {
    track(client);
    let head = '';
    const read = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      client.off('data', read);
      const [, target = ''] = /^CONNECT (\S+) /.exec(head) ?? [];
      const host = target.slice(0, target.lastIndexOf(':'));
      if (!hosts.includes(host)) return void client.end('HTTP/1.1 502 no such host\r\n\r\n');
      led.add(host);
      const cloud = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 led\r\n\r\n');
        client.pipe(cloud).pipe(client);
      });
      track(cloud);
      cloud.once('close', () => client.destroy());
      client.once('close', () => cloud.destroy());
    };
    client.on('data', read);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const server: CloudServer = {
    options: { ca: authority.certificate, env: { HTTPS_PROXY: address } },
    ...{ proxy: address, ca: authority.certificate, calls, hosts: led, fault: undefined },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all([https, proxy].map((one) => new Promise((resolve) => one.close(resolve))));
    },
  };
  return server;
}

function send({ status, body, headers = {} }: CloudReply, response: ServerResponse): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html; charset=UTF-8' : 'application/json; charset=UTF-8';
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), ...headers }).end(text);
}

function misbehave(fault: Extract<CloudFault, string>, response: ServerResponse): void {
  response.on('error', () => undefined);
  if (fault === 'hang') return;
  if (fault === 'reset') return void response.destroy();
  const json = { 'content-type': 'application/json' };
  if (fault === 'truncated') {
    response.writeHead(200, { ...json, 'content-length': 4096 });
    response.write('{"kind":"compute#image","name":', () => response.destroy());
    return;
  }
  response.writeHead(200, json);
  const flow = (): void => {
    if (fault === 'drip') {
      if (response.destroyed) return;
      response.write(' ');
      setTimeout(flow, 20).unref();
      return;
    }
    while (!response.destroyed) if (!response.write(' '.repeat(65_536))) return void response.once('drain', flow);
  };
  flow();
}
