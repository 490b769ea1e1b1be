import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type Authority, createAuthority } from '@drydock/sandbox';
import { fixedCredentials } from '../access/credentials.ts';
import { loadKubeconfig } from '../access/kubeconfig.ts';
import { createClient } from '../client/rest.ts';
import { failureOf } from '../testing/failure.ts';
import { CONFIG_MAP, sendJson, sendStatus } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const KEY = { namespace: 'ns', name: 'a' };

interface TlsServer extends AsyncDisposable {
  readonly url: string;
  /** The CN of each request's client certificate. */
  readonly users: string[];
  /** From now on, connections are made with these. */
  rotate(serving: Authority, clients: Authority): void;
}

/** An API server whose one object is always there; 401 for clients that its authority did not sign. */
async function tlsServer(serving: Authority, clients = serving): Promise<TlsServer> {
  const users: string[] = [];
  const sockets = new Set<Socket>();
  const identity = (of: Authority, ca: Authority): { cert: string; key: string; ca: string } => {
    const { certificate, privateKey } = of.issueServer(['127.0.0.1', 'localhost']);
    return { cert: certificate, key: privateKey, ca: ca.certificate };
  };
  const server: Server = createServer(
    { ...identity(serving, clients), requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const socket = request.socket as TLSSocket;
      const bearer = request.headers.authorization;
      if (!socket.authorized && bearer === undefined)
        return sendStatus(response, 401, { reason: 'Unauthorized', message: 'Unauthorized' });
      if (bearer === 'Bearer refused' || bearer?.includes('.'))
        return sendStatus(response, 401, { reason: 'Unauthorized', message: 'Unauthorized' });
      users.push(bearer ?? String(socket.getPeerCertificate().subject?.CN));
      sendJson(response, { metadata: { ...KEY, resourceVersion: '1' } });
    },
  );
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    users,
    rotate: (of, ca) => {
      server.setSecureContext(identity(of, ca));
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function config(server: string, ca: string | undefined, credentials = fixedCredentials({ authorization: 'Bearer t' })) {
  return { server, context: 'c', namespace: 'default', credentials, ...(ca === undefined ? {} : { ca }) };
}

test('a wrong authority, none, a wrong name, and no TLS at all are Tls errors that say what to check', async () => {
  const authority = createAuthority('right');
  await using server = await tlsServer(authority);
  const port = new URL(server.url).port;
  const configs = [
    config(server.url, createAuthority('wrong').certificate),
    config(server.url, undefined),
    { ...config(server.url, authority.certificate), tlsServerName: 'elsewhere' },
  ];
  for (const one of configs) {
    await using client = createClient(one);
    const error = await failureOf(client.get(CONFIG_MAP, KEY));
    assert.deepEqual([error.code, error.retriable], ['Tls', false], error.message);
    assert.match(
      error.message,
      /^get ConfigMap ns\/a: https:\/\/127\.0\.0\.1:\d+ did not answer: .+Check certificate-authority-data/,
    );
  }
  await using good = createClient({
    ...config(`https://127.0.0.1:${port}`, authority.certificate),
    tlsServerName: 'localhost',
  });
  await good.get(CONFIG_MAP, KEY);
});

test('client certificates that OpenSSL refuses are Credentials errors, before anything is sent', async () => {
  const authority = createAuthority('one');
  const { certificate: cert } = authority.issueClient({ user: 'jane' });
  const { privateKey: key } = authority.issueClient({ user: 'joe' });
  for (const credential of [
    { cert, key },
    { cert: 'no PEM', key },
    { cert, key: 'no PEM' },
  ]) {
    await using client = createClient(
      config('https://127.0.0.1:1', authority.certificate, fixedCredentials(credential)),
    );
    const error = await failureOf(client.get(CONFIG_MAP, KEY));
    assert.equal(error.code, 'Credentials', error.message);
    assert.match(error.message, /do not belong together\. Check the user entry/);
  }
  await using client = createClient(config('https://127.0.0.1:1', 'no PEM'));
  assert.equal((await failureOf(client.get(CONFIG_MAP, KEY))).code, 'Kubeconfig');
});

test('a 401 says what the client itself can see: nothing given, token expired, certificate expired', async () => {
  const authority = createAuthority('one');
  await using server = await tlsServer(authority);
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  mock.timers.enable({ apis: ['Date'], now: Date.UTC(2020, 0, 1) });
  const { certificate: cert, privateKey: key } = createAuthority('one').issueClient({ user: 'jane' });
  mock.timers.reset();
  const cases = [
    [{}, /the kubeconfig user has no credentials/],
    [
      { authorization: `Bearer ${part({})}.${part({ exp: 1_600_000_000 })}.x` },
      /the token expired at 2020-09-13T12:26:40/,
    ],
    [{ authorization: `Bearer ${part({})}.${part({ exp: 9_999_999_999 })}.x` }, /“Unauthorized”\. Log in again/],
    [{ authorization: 'Bearer refused' }, /“Unauthorized”\. Log in again/],
    [{ cert, key }, /the client certificate expired at 20(20|21)-/],
  ] as const;
  for (const [credential, expected] of cases) {
    await using client = createClient(config(server.url, authority.certificate, fixedCredentials(credential)));
    const error = await failureOf(client.get(CONFIG_MAP, KEY));
    assert.equal(error.code, 'Unauthorized');
    assert.match(error.message, expected);
    assert.equal(error.message.includes('eyJ'), false, 'no token in the message');
  }
});

test('authority, client certificate and key are rotated on disk, and the client follows without a restart', async () => {
  const [old, young] = [createAuthority('old'), createAuthority('young')];
  await using server = await tlsServer(old);
  const folder = await mkdtemp(join(tmpdir(), 'drydock-rotation-'));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  const write = async (authority: Authority, user: string): Promise<void> => {
    const { certificate, privateKey } = authority.issueClient({ user });
    await Promise.all([
      writeFile(join(folder, 'ca.crt'), authority.certificate),
      writeFile(join(folder, 'tls.crt'), certificate),
      writeFile(join(folder, 'tls.key'), privateKey),
    ]);
  };
  await write(old, 'one');
  const kubeconfig = join(folder, 'config');
  const text = {
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: server.url, 'certificate-authority': 'ca.crt' } }],
    users: [{ name: 'u', user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(text));
  let now = 0;
  await using client = createClient(await loadKubeconfig({ kubeconfig, now: () => now }));
  await client.get(CONFIG_MAP, KEY);

  // Within the minute: the failed handshake is what tells.
  now = 2_000;
  await write(young, 'two');
  server.rotate(young, young);
  await client.get(CONFIG_MAP, KEY);

  // Half a rotation: the pair that belongs together goes on.
  now = 70_000;
  await writeFile(join(folder, 'tls.crt'), young.issueClient({ user: 'three' }).certificate);
  await client.get(CONFIG_MAP, KEY);

  // After a minute, without any failure.
  now = 140_000;
  await write(young, 'four');
  await client.get(CONFIG_MAP, KEY);
  assert.deepEqual(server.users, ['one', 'two', 'two', 'four']);
  server.rotate(old, old);
  now = 142_000;
  assert.equal(
    (await failureOf(client.get(CONFIG_MAP, KEY))).code,
    'Tls',
    'negative control: files of the wrong authority',
  );
});

interface Proxy extends AsyncDisposable {
  readonly url: string;
  readonly asked: string[];
}

/** An HTTP proxy that answers CONNECT with `reply`; `tunnel` tunnels, `silence` says nothing. */
async function proxy(reply: string): Promise<Proxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server: TcpServer = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', (head: Buffer) => {
      asked.push(head.toString().split('\r\n')[0] ?? '');
      if (reply === 'silence') return;
      if (reply !== 'tunnel') return void socket.end(reply);
      const [host = '', port = ''] = (asked.at(-1)?.split(' ')[1] ?? '').split(':');
      const upstream = connect(Number(port), host, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      sockets.add(upstream);
      upstream.on('error', () => socket.destroy());
      socket.pipe(upstream).pipe(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://user:hunter2@127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('a proxy tunnels; one that refuses, answers nonsense or nothing, or is not there is named without its password', async () => {
  const authority = createAuthority('one');
  await using server = await tlsServer(authority);
  await using tunnel = await proxy('tunnel');
  const through = { ...config(server.url, authority.certificate), proxyUrl: tunnel.url };
  {
    await using client = createClient(through);
    await client.get(CONFIG_MAP, KEY);
    assert.match(tunnel.asked[0] ?? '', /^CONNECT 127\.0\.0\.1:\d+ HTTP/);
  }
  const bad = [
    'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
    'HTTP/1.1 502 Bad Gateway\r\n\r\n',
    'nonsense',
    'silence',
    'gone',
  ];
  for (const reply of bad) {
    await using broken = await proxy(reply);
    if (reply === 'gone') await broken[Symbol.asyncDispose]();
    // Only silence is waited for.
    const callDeadline = reply === 'silence' ? 500 : 60_000;
    await using client = createClient({ ...through, proxyUrl: broken.url }, { callDeadline });
    for (const call of [
      client.get(CONFIG_MAP, KEY),
      Array.fromAsync(client.watch(CONFIG_MAP, { resourceVersion: '1', timeoutSeconds: 300 })),
    ]) {
      const error = await failureOf(call);
      assert.equal(error.code, reply === 'silence' ? 'Timeout' : 'Connection', `${reply}: ${error.message}`);
      assert.match(error.message, /\(through proxy 127\.0\.0\.1:\d+\)/);
      assert.equal(`${error.message}`.includes('hunter2'), false);
    }
  }
  await until('the tunnel', () => tunnel.asked.length > 0);
});
