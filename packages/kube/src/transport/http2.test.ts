import assert from 'node:assert/strict';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse, type Http2Session } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { createAuthority } from '@drydock/sandbox';
import { fixedCredentials } from '../access/credentials.ts';
import type { ClusterConfig } from '../access/kubeconfig.ts';
import { createClient } from '../client/rest.ts';
import { failureOf } from '../testing/failure.ts';
import { CONFIG_MAP } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const KEY = { namespace: 'ns', name: 'a' };

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly version: string;
  readonly session: Http2Session | undefined;
  readonly answer: () => void;
}

interface Http2Server extends AsyncDisposable {
  readonly config: ClusterConfig;
  readonly seen: readonly Seen[];
  readonly sockets: ReadonlySet<Socket>;
  readonly connections: number;
}

/** An API server that speaks HTTP/2 to whoever offers it, unless `only1`; `each` may leave the answer to the test. */
async function http2Server(each: (seen: Seen, n: number) => void, only1: boolean = false): Promise<Http2Server> {
  const authority = createAuthority('server');
  const { certificate: cert, privateKey: key } = authority.issueServer(['127.0.0.1']);
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = only1 ? createServer({ cert, key }) : createSecureServer({ cert, key, allowHTTP1: true });
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const answer = (): void => {
      if (response.writableEnded || response.destroyed) return;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ metadata: { ...KEY, resourceVersion: '1' } }));
    };
    // A body is read to its end, or a peer waits for room.
    request.resume();
    request.on('end', () => {
      const one = {
        ...{ method: request.method, path: request.url, version: request.httpVersion, answer },
        session: request.httpVersion === '2.0' ? request.stream.session : undefined,
      };
      each(one, seen.push(one) - 1);
    });
  });
  // What a test cuts is no error of the server.
  server.on('sessionError', () => undefined);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    config: {
      server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ...{ context: '', namespace: '', ca: authority.certificate },
      credentials: fixedCredentials({ authorization: 'Bearer test' }),
    },
    ...{ seen, sockets },
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('many calls share one connection; watches and urgent calls have theirs, as ever', async () => {
  const MANY = 60;
  await using server = await http2Server((one, n) => {
    if (one.path.includes('watch=true') || n >= MANY) one.answer();
    else if (n === MANY - 1) for (const held of server.seen) held.answer();
  });
  await using client = createClient(server.config, { http2: true, connections: 32 });
  await Promise.all(Array.from({ length: MANY }, () => client.get(CONFIG_MAP, KEY)));
  assert.deepEqual([server.connections, new Set(server.seen.map(({ session }) => session)).size], [1, 1]);
  assert.ok(server.seen.every(({ version }) => version === '2.0'));
  await client.get(CONFIG_MAP, KEY, { urgent: true });
  await Array.fromAsync(client.watch(CONFIG_MAP, { resourceVersion: '1', timeoutSeconds: 1 })).catch(() => undefined);
  assert.deepEqual(
    server.seen.slice(MANY).map(({ version }) => version),
    ['1.1', '1.1'],
  );
  assert.equal(server.connections, 3);
});

test('nobody speaks HTTP/2 who was not asked to, and where the server does not, calls share as many connections as were asked for', async () => {
  for (const [http2, only1] of [
    [false, false],
    [true, true],
  ] as const) {
    await using server = await http2Server(() => undefined, only1);
    const client = createClient(server.config, { http2, connections: 12 });
    const hung = Array.from({ length: 16 }, () => client.get(CONFIG_MAP, KEY).catch(() => undefined));
    await until('twelve requests', () => server.seen.length === 12);
    assert.equal(server.connections, 12);
    assert.ok(server.seen.every(({ version }) => version === '1.1'));
    await client[Symbol.asyncDispose]();
    await Promise.all(hung);
  }
});

test('calls whose connection is cut are told so, and those after them go on with another one', async () => {
  await using server = await http2Server((one, n) => {
    if (n >= 5) one.answer();
  });
  await using client = createClient(server.config, { http2: true });
  const writes = Array.from({ length: 5 }, (_, at) =>
    failureOf(client.create(CONFIG_MAP, { metadata: { ...KEY, name: `w-${at}` } })),
  );
  await until('five writes', () => server.seen.length === 5);
  for (const socket of server.sockets) socket.destroy();
  for (const error of await Promise.all(writes)) {
    assert.deepEqual([error.code, error.retriable], ['Connection', true], error.message);
    assert.match(error.message, /^create ConfigMap ns\/w-\d: https:\S+ did not answer: /);
  }
  await client.get(CONFIG_MAP, KEY);
  assert.equal(server.seen.filter(({ method }) => method === 'POST').length, 5, 'no write is repeated');
});

test('a server that takes leave of a connection answers what it took, and gets the rest on another one: each write once', async () => {
  const MANY = 40;
  const held: Seen[] = [];
  await using server = await http2Server((one, n) => {
    if (n === 9) one.session?.close();
    // It has read them all, and answers those of the old connection after it said so.
    held.push(one);
    if (held.length === MANY || n >= 9) for (const each of held.splice(0)) each.answer();
  });
  await using client = createClient(server.config, { http2: true });
  const write = (at: number) => client.create(CONFIG_MAP, { metadata: { ...KEY, name: `w-${at}` } });
  for (let at = 0; at < MANY; at += 10) await Promise.all(Array.from({ length: 10 }, (_, of) => write(at + of)));
  assert.equal(server.seen.length, MANY);
  assert.ok(server.connections >= 2, `${server.connections} connections`);
});

test('a call that is ended ends alone', async () => {
  await using server = await http2Server((_, n) => {
    if (n === 2) for (const each of server.seen) each.answer();
  });
  await using client = createClient(server.config, { http2: true });
  const stop = new AbortController();
  const ended = client.get(CONFIG_MAP, KEY, { signal: stop.signal });
  const other = client.get(CONFIG_MAP, KEY);
  await until('two calls', () => server.seen.length === 2);
  stop.abort(new Error('enough'));
  await assert.rejects(ended, /^Error: enough$/);
  await client.get(CONFIG_MAP, KEY);
  await other;
  assert.equal(server.connections, 1);
});
