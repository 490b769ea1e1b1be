import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Sandbox } from '@drydock/sandbox';
import { Agent, request } from 'undici';

/** A request that changes something. */
export interface ApiWrite {
  readonly verb: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Plural, with the subresource: `machinesets`, `bootimages/status`. */
  readonly resource: string;
  readonly body: string;
}

/** What a gate holds. Disposal lets go of it; a request held before the server acted then never gets there. */
export interface ApiHold extends AsyncDisposable {
  /** Resolves when a request is held; rejects after 60 s. */
  readonly held: Promise<ApiWrite>;
}

/** A way to the API server on which single writes can be held, before the server acts or before its answer comes back. */
export interface ApiGate extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`: whoever comes through is a cluster administrator. */
  readonly url: string;
  /** Text of a kubeconfig for the way through the gate, whose token means nothing. */
  readonly kubeconfig: string;
  /** The writes that came through, oldest first. */
  readonly writes: readonly ApiWrite[];
  /** Holds the next write that fits. */
  hold(fits: (write: ApiWrite) => boolean, when: 'before' | 'after'): ApiHold;
}

interface Armed {
  readonly fits: (write: ApiWrite) => boolean;
  readonly when: 'before' | 'after';
  readonly caught: PromiseWithResolvers<ApiWrite>;
  readonly end: PromiseWithResolvers<void>;
  used: boolean;
}

const path = /^\/apis?\/(?:[^/]+\/)?v[^/]+\/(?:namespaces\/[^/]+\/)?([^/?]+)(?:\/[^/?]+)?(?:\/([^/?]+))?(?:\?|$)/;

function writeOf({ method, url = '' }: IncomingMessage, body: Buffer): ApiWrite | undefined {
  const verb = (['POST', 'PUT', 'PATCH', 'DELETE'] as const).find((one) => one === method);
  if (verb === undefined) return undefined;
  const [, plural = url, subresource] = path.exec(url) ?? [];
  return { verb, resource: subresource === undefined ? plural : `${plural}/${subresource}`, body: body.toString() };
}

/** Opens the gate on a free port. Reads and watches pass as they are. */
export async function openApiGate({ admin }: Sandbox): Promise<ApiGate> {
  const dispatcher = new Agent({
    bodyTimeout: 0,
    headersTimeout: 0,
    connect: { ca: admin.ca, cert: admin.certificate, key: admin.privateKey },
  });
  const writes: ApiWrite[] = [];
  const armed = new Set<Armed>();

  const stop = async (hold: Armed, write: ApiWrite): Promise<void> => {
    hold.used = true;
    hold.caught.resolve(write);
    await hold.end.promise;
  };
  const forward = async (from: IncomingMessage, to: ServerResponse): Promise<void> => {
    const body = await buffer(from);
    const write = writeOf(from, body);
    const hold = write && [...armed].find((one) => !one.used && one.fits(write));
    if (write !== undefined) writes.push(write);
    if (write !== undefined && hold?.when === 'before') {
      await stop(hold, write);
      to.destroy();
      return;
    }
    const gone = new AbortController();
    // A write that is on its way arrives, whoever waits for its answer.
    if (write === undefined) to.once('close', () => gone.abort());
    const { connection: _, host: __, ...headers } = from.headers;
    const answer = await request(new URL(from.url ?? '/', admin.url), {
      dispatcher,
      method: (from.method ?? 'GET') as 'GET',
      headers,
      body: body.length === 0 ? null : body,
      signal: gone.signal,
    });
    if (write !== undefined && hold?.when === 'after') {
      await answer.body.dump();
      await stop(hold, write);
      to.destroy();
      return;
    }
    to.writeHead(answer.statusCode, answer.headers);
    to.flushHeaders();
    await pipeline(answer.body, to);
  };

  const server = createServer((from, to) => {
    forward(from, to).catch(() => to.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    kubeconfig: JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'gate' },
      clusters: [{ name: 'gate', cluster: { server: url } }],
      users: [{ name: 'gate', user: { token: 'the-gate-has-the-credentials' } }],
      contexts: [{ name: 'gate', context: { cluster: 'gate', user: 'gate' } }],
    }),
    writes,
    hold: (fits, when) => {
      const hold: Armed = {
        fits,
        when,
        caught: Promise.withResolvers(),
        end: Promise.withResolvers(),
        used: false,
      };
      armed.add(hold);
      const late = setTimeout(() => hold.caught.reject(new Error('no such write came within 60 s')), 60_000);
      hold.caught.promise.catch(() => undefined);
      return {
        held: hold.caught.promise,
        async [Symbol.asyncDispose]() {
          clearTimeout(late);
          armed.delete(hold);
          hold.end.resolve();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const { end } of armed) end.resolve();
      server.close();
      server.closeAllConnections();
      await dispatcher.destroy();
    },
  };
}
