import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { type ExecConfig, execCredentials } from './exec-credentials.ts';
import { fileCredentials } from './file-credentials.ts';
import { loadKubeconfig } from './kubeconfig.ts';

interface Folder extends AsyncDisposable {
  readonly path: string;
  write(name: string, content: unknown): Promise<string>;
}

async function folder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'drydock-kubeconfig-'));
  return {
    path,
    async write(name, content) {
      const file = join(path, name);
      await mkdir(join(file, '..'), { recursive: true });
      await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
      return file;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function config(server: string, user: unknown = { token: 't' }, cluster: object = {}): Record<string, unknown> {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  };
}

test('several files: the first wins by name and by current context, missing and empty ones are skipped', async () => {
  await using dir = await folder();
  const first = await dir.write('first', { clusters: [{ name: 'c', cluster: { server: 'https://first' } }] });
  const empty = await dir.write('empty', 'kind: Config\n');
  const second = await dir.write('second', config('https://second'));
  const third = await dir.write('third', { ...config('https://third', { token: 'other' }), 'current-context': 'x' });
  const env = { KUBECONFIG: [join(dir.path, 'none'), first, empty, second, third].join(':') };
  const loaded = await loadKubeconfig({ env });
  assert.equal(loaded.server, 'https://first');
  assert.deepEqual([loaded.context, loaded.namespace], ['c', 'default']);
  assert.deepEqual(await loaded.credentials.get(), { authorization: 'Bearer t' });
  await assert.rejects(loadKubeconfig({ env, kubeconfig: join(dir.path, 'none') }), { code: 'Kubeconfig' });
  await assert.rejects(loadKubeconfig({ env, context: 'nope' }), /context nope does not exist/);
});

test('file names belong to the folder of their file; certificates, CA, TLS name and proxy come through', async () => {
  await using dir = await folder();
  const pem = (what: string): string => `-----BEGIN ${what}-----\n`;
  await dir.write('sub/ca.pem', pem('CERTIFICATE'));
  await dir.write('sub/cert.pem', 'CERT');
  const user = { 'client-certificate': 'cert.pem', 'client-key-data': base64(pem('PRIVATE KEY')) };
  const cluster = { 'certificate-authority': 'ca.pem', 'tls-server-name': 'api', 'proxy-url': 'http://p:1' };
  const kubeconfig = await dir.write('sub/config', config('https://s:6443/base', user, cluster));
  const loaded = await loadKubeconfig({ kubeconfig });
  assert.deepEqual([loaded.ca, loaded.tlsServerName, loaded.proxyUrl], [pem('CERTIFICATE'), 'api', 'http://p:1']);
  assert.deepEqual(await loaded.credentials.get(), {
    ca: pem('CERTIFICATE'),
    cert: 'CERT',
    key: pem('PRIVATE KEY'),
  });
});

test('flags win over the file; impersonation has groups; groups without a user are refused', async () => {
  await using dir = await folder();
  const kubeconfig = await dir.write('config', config('https://s', { token: 't', as: 'a', 'as-groups': ['g'] }));
  const loaded = await loadKubeconfig({ kubeconfig, server: 'https://flag', token: 'f', namespace: 'n', as: 'b' });
  assert.deepEqual([loaded.server, loaded.namespace], ['https://flag', 'n']);
  assert.deepEqual(loaded.impersonate, { user: 'b', groups: ['g'] });
  assert.deepEqual(await loaded.credentials.get(), { authorization: 'Bearer f' });
  const bare = await dir.write('bare', config('https://s'));
  await assert.rejects(loadKubeconfig({ kubeconfig: bare, asGroups: ['g'] }), { code: 'Kubeconfig' });
});

test('what cannot be used is refused with its name, and no secret is quoted', async () => {
  await using dir = await folder();
  const cases: [unknown, RegExp][] = [
    [config('https://s', { 'auth-provider': { name: 'gcp' } }), /auth provider gcp .+gke-gcloud-auth-plugin/],
    [config('https://s', { exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' } }), /v1alpha1/],
    [config('https://s', { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' } }), /interactiveMode/],
    [config('ftp://s'), /not an http or https URL/],
    [config('https://s', {}, { 'insecure-skip-tls-verify': true, 'certificate-authority-data': 'eA==' }), /exclude/],
    [{ ...config('https://s'), users: [{ name: 'u' }, { name: 'u' }] }, /names u twice/],
    ['users: [{name: u, user: {token: hunter2}', /not valid YAML/],
    [config('https://s', {}, { 'proxy-url': 'hunter2:no url' }), /proxy-url is not an http, https or socks5 URL/],
    [config('https://s', {}, { 'certificate-authority-data': base64('hunter2') }), /holds no PEM certificate/],
    [config('https://s', {}, { 'certificate-authority': '/nowhere/ca' }), /\/nowhere\/ca could not be read/],
    [config('https://s', { 'client-certificate-data': 'hunter2', 'client-key-data': 'x' }), /is not base64 of PEM/],
    [
      config('https://s', { 'client-certificate': 'tls.crt' }),
      /a client certificate or a client key without the other/,
    ],
    [config('https://s', { exec: { command: 'x' }, token: 'hunter2' }), /it has both exec and a token/],
  ];
  for (const [content, expected] of cases) {
    const kubeconfig = await dir.write('config', content);
    const error = await loadKubeconfig({ kubeconfig }).then(
      () => assert.fail('loaded'),
      (reason: Error) => reason,
    );
    assert.match(error.message, expected);
    assert.equal(`${error.stack} ${String(error.cause)}`.includes('hunter2'), false);
  }
});

test('without any kubeconfig the service account of the pod is used', async () => {
  await using dir = await folder();
  await dir.write('ca.crt', 'CA');
  await dir.write('token', 'pod\n');
  await dir.write('namespace', 'mine\n');
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
  const loaded = await loadKubeconfig({ env, home: dir.path, serviceAccount: dir.path });
  assert.deepEqual([loaded.server, loaded.namespace, loaded.ca], ['https://[fd00::1]:6443', 'mine', 'CA']);
  assert.deepEqual(await loaded.credentials.get(), { ca: 'CA', authorization: 'Bearer pod' });
  await assert.rejects(
    loadKubeconfig({ env: {}, home: dir.path }),
    /no cluster is configured: the file does not exist/,
  );
  const [empty, gone] = [await dir.write('empty', 'kind: Config\n'), join(dir.path, 'gone')];
  const both = loadKubeconfig({ env: { KUBECONFIG: [empty, gone].join(delimiter) } });
  await assert.rejects(both, /no cluster is configured\. /);
  const neither = loadKubeconfig({ env: { KUBECONFIG: [gone, gone].join(delimiter) } });
  await assert.rejects(neither, /no cluster is configured: none of the files exists/);
});

test('a token file is read again each minute, and keeps its last content while it is absent', async () => {
  await using dir = await folder();
  const token = await dir.write('token', 'one');
  let now = 0;
  const credentials = fileCredentials({ token }, {}, () => now);
  const bearer = async () => (await credentials.get()).authorization;
  assert.equal(await bearer(), 'Bearer one');
  await dir.write('token', 'two');
  now = 59_000;
  assert.equal(await bearer(), 'Bearer one');
  now = 60_000;
  assert.equal(await bearer(), 'Bearer two');
  await rm(token);
  now = 130_000;
  assert.equal(await bearer(), 'Bearer two');
});

test('an exec plugin runs once for many, again when it expires or is refused, and its faults are named', async () => {
  await using dir = await folder();
  const script = `#!${process.execPath}
const fs = require('fs');
fs.appendFileSync(process.env.LOG, process.env.KUBERNETES_EXEC_INFO + '\\n');
const n = fs.readFileSync(process.env.LOG, 'utf8').split('\\n').length - 1;
if (process.argv[2] === 'fail') process.exit(3);
if (process.argv[2] === 'garble') { console.log('hunter2'); process.exit(0); }
console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1',
  status: { token: 'n' + n, expirationTimestamp: '2026-01-01T00:10:00Z' } }));`;
  await chmod(await dir.write('bin/plugin.cjs', script), 0o755);
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './plugin.cjs',
    interactiveMode: 'Never',
    provideClusterInfo: true,
    env: [{ name: 'LOG', value: join(dir.path, 'log') }],
  };
  const kubeconfig = await dir.write('bin/config', config('https://s', { exec }));
  const loaded = await loadKubeconfig({ kubeconfig });
  const [one, same] = await Promise.all([loaded.credentials.get(), loaded.credentials.get()]);
  assert.deepEqual([one.authorization, same.authorization], ['Bearer n1', 'Bearer n1']);

  let now = Date.parse('2026-01-01T00:00:00Z');
  const options = { now: () => now, env: { LOG: join(dir.path, 'log2') } };
  const base: ExecConfig = {
    apiVersion: exec.apiVersion,
    command: join(dir.path, 'bin/plugin.cjs'),
    args: [],
    env: {},
    interactiveMode: 'Never',
  };
  const plugin = execCredentials(base, options);
  const bearer = async () => (await plugin.get()).authorization;
  assert.deepEqual([await bearer(), await bearer()], ['Bearer n1', 'Bearer n1']);
  // Five seconds before it expires: it would expire on the way.
  now += 595_000;
  assert.equal(await bearer(), 'Bearer n2');
  now -= 595_000;
  assert.equal(plugin.reject(await plugin.get()), true);
  assert.equal(await bearer(), 'Bearer n3');

  const failing = async (change: Partial<ExecConfig>): Promise<Error & { code?: string }> =>
    execCredentials({ ...base, ...change, installHint: 'Install it.' }, options)
      .get()
      .then(
        () => assert.fail('gave a credential'),
        (error: Error) => error,
      );
  assert.match((await failing({ args: ['fail'] })).message, /exit code 3\. Install it\./);
  assert.match((await failing({ command: '/nowhere/plugin' })).message, /could not be started/);
  const garbled = await failing({ args: ['garble'] });
  assert.equal(garbled.code, 'Credentials');
  assert.equal(garbled.message.includes('hunter2'), false);
});
