import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { fixedCredentials } from '../access/credentials.ts';
import { type ClusterConfig, loadKubeconfig } from '../access/kubeconfig.ts';
import { createClient } from '../client/rest.ts';
import { failureOf } from '../testing/failure.ts';
import { connectionError } from './transport-errors.ts';

/** All that DRYDOCK_DEBUG could show of an error. */
const whole = (error: Error): string => `${error.stack}\n${inspect(error, { depth: 10, showHidden: true })}`;

test('SAFE-9 user and password of a server’s or a proxy’s address are in no error, no cause of it and no warning', async () => {
  const refusing = createServer();
  refusing.on('connect', (_, socket) => socket.end('HTTP/1.1 407 no\r\n\r\n'));
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  const { port } = refusing.address() as AddressInfo;
  const warned: string[] = [];
  for (const proxy of [
    'http://user:hunter2@127.0.0.1:1',
    'http://user:hun%zzter2@127.0.0.1:1',
    'http://user:hunter2@',
    'ftp://user:hunter2@127.0.0.1',
    'user:hunter2@127.0.0.1:1',
    `http://user:hunter2@127.0.0.1:${port}`,
  ])
    for (const server of ['https://user:hunter3@127.0.0.1:1/path', 'http://user:hunter3@127.0.0.1:1'])
      for (const fromEnv of [true, false]) {
        const config: ClusterConfig = {
          ...{ server: server.replace('127.0.0.1', '10.9.8.7'), context: 'c', namespace: 'd' },
          ...{ credentials: fixedCredentials({}), insecureSkipTlsVerify: true },
          ...(fromEnv ? {} : { proxyUrl: proxy }),
        };
        const env = fromEnv ? { HTTPS_PROXY: proxy, HTTP_PROXY: proxy } : {};
        await using client = createClient(config, { env, callDeadline: 5_000, warn: (text) => warned.push(text) });
        const error = await failureOf(client.raw({ path: '/version' }));
        assert.doesNotMatch(whole(error), /hun(?:ter|%)/, `${proxy} before ${server}`);
      }
  assert.ok(warned.length > 0);
  assert.doesNotMatch(warned.join('\n'), /hunter/);
  await new Promise((resolve) => refusing.close(resolve));
});

test('SAFE-9 an address of a kubeconfig that is no URL is not quoted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drydock-address-'));
  const kubeconfig = join(folder, 'config');
  const clusters = (cluster: string): string =>
    `current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: {}}]\nclusters: [{name: k, cluster: ${cluster}}]\n`;
  try {
    for (const cluster of [
      '{server: "https://user:hunter2@:x"}',
      '{server: "user:hunter2@host"}',
      '{server: "ftp://user:hunter2@host"}',
      '{server: "https://host", proxy-url: "user:hunter2@host"}',
    ]) {
      await writeFile(kubeconfig, clusters(cluster));
      const error = await failureOf(loadKubeconfig({ kubeconfig, env: {} }));
      assert.equal(error.code, 'Kubeconfig');
      assert.doesNotMatch(whole(error), /hunter/, cluster);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('SAFE-11 a handshake that fails will fail again: it is Tls, and not retriable, whatever of the certificate OpenSSL refuses', () => {
  for (const code of [
    'INVALID_PURPOSE',
    'PATH_LENGTH_EXCEEDED',
    'HOSTNAME_MISMATCH',
    'CERT_CHAIN_TOO_LONG',
    'UNSPECIFIED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
  ]) {
    const error = connectionError(Object.assign(new Error('no'), { code }), 'get ConfigMap ns/a', 'https://x');
    assert.deepEqual([error.code, error.retriable], ['Tls', false], code);
  }
  const late = Object.assign(new Error('late'), { code: 'ERR_TLS_HANDSHAKE_TIMEOUT' });
  assert.deepEqual(connectionError(late, 'get', 'https://x').retriable, true);
});
