import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient, fixedCredentials } from '@drydock/kube';
import { httpStore, registryImage } from '@drydock/release';
import { requestLocation, throughProxies } from '@drydock/templates';
import { connectVCenter } from '@drydock/vsphere';
import { cloudHttps } from '../../packages/boot-images/src/cloud/https.ts';
import { sourceFiles } from '../../scripts/boundaries.ts';
import { root } from '../../scripts/command.ts';

/** A proxy that refuses each CONNECT, and remembers for whom it was. */
async function refusingProxy(): Promise<AsyncDisposable & { readonly url: string; readonly targets: Set<string> }> {
  const targets = new Set<string>();
  const server = createServer((_, response) => response.writeHead(502).end());
  server.on('connect', ({ url = '' }, socket) => {
    targets.add(url);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    targets,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

type Env = Readonly<Record<string, string>>;

/** Each way in which Drydock reaches a server over HTTPS, asked once. */
const CLIENTS: Readonly<Record<string, (host: string, env: Env, signal: AbortSignal) => Promise<unknown>>> = {
  'API server': async (host, env, signal) => {
    const credentials = fixedCredentials({ authorization: 'Bearer x' });
    const config = { server: `https://${host}`, context: 'test', namespace: 'default', credentials };
    await using client = createClient(config, { env });
    await client.raw({ path: '/version' }, { signal });
  },
  vCenter: async (host, env, signal) => {
    const credentials = async () => ({ user: 'a', password: 'b' });
    await using vcenter = connectVCenter({ url: `https://${host}/sdk`, credentials, env });
    await vcenter.about({ signal });
  },
  cloud: async (host, env, signal) => {
    await using https = cloudHttps({ env, bounds: { attempts: 1 } });
    await https.ask({ method: 'GET', url: `https://${host}/`, action: 'look', signal });
  },
  registry: async (host, _env, signal) => {
    await using image = registryImage({ registry: host, repository: 'a/b', tag: 'c' });
    await image.root({ signal });
  },
  'signature store': async (host, _env, signal) => {
    await using store = httpStore(`https://${host}/`);
    await Array.fromAsync(store.signatures(`sha256:${'0'.repeat(64)}`, signal));
  },
  download: (host, _env, signal) =>
    throughProxies(undefined, (dispatcher) => requestLocation(`https://${host}/a.ova`, { dispatcher, signal })),
};

/** Runs `body` with nothing but these proxies in the environment. */
async function withEnvironment<T>(env: Env, body: () => Promise<T>): Promise<T> {
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) delete process.env[name];
  Object.assign(process.env, env);
  try {
    return await body();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

test('HTTPS_PROXY leads each client to the proxy; NO_PROXY and loopback lead past it', async () => {
  await using proxy = await refusingProxy();
  const env = { HTTPS_PROXY: proxy.url, NO_PROXY: '.direct.invalid,10.0.0.0/8' };
  const seen = await withEnvironment(env, () =>
    Promise.all(
      Object.entries(CLIENTS).flatMap(([name, ask], at) =>
        // No server has these names: the test looks at whom the client asked. Go never proxies loopback; undici's EnvHttpProxyAgent does.
        [
          `client-${at}.invalid`,
          `[2001:db8::${at + 1}]`,
          `client-${at}.direct.invalid`,
          `127.0.0.1:${at + 1}`,
          `[::1]:${at + 1}`,
        ].map(async (host) => {
          await assert.rejects(ask(host, env, AbortSignal.timeout(20_000)), `${name} at ${host}`);
          return [name, host, proxy.targets.has(/:\d$/.test(host) ? host : `${host}:443`)] as const;
        }),
      ),
    ),
  );
  assert.equal(seen.length, 30);
  for (const [name, host, proxied] of seen)
    assert.equal(proxied, /^client-\d\.invalid$|^\[2001:/.test(host), `${name} at ${host}`);
});

test('one place reads the variables of proxies', () => {
  const reads = /EnvHttpProxyAgent|\[['"](?:https?|no)_proxy['"]\]/i;
  const others = sourceFiles().filter(
    (file) =>
      /^(?:packages|apps)\//.test(file) &&
      !file.endsWith('.test.ts') &&
      reads.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.deepEqual(others, []);
});
