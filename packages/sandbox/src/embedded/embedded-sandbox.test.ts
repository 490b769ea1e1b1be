import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type Api, createApi } from '../api.ts';
import { backendOf } from '../backend.ts';
import { SandboxError } from '../errors.ts';
import { type Sandbox, startSandbox } from '../sandbox.ts';
import { textAt, valueAt } from './apiserver/object-fields.ts';

const NAMESPACES = '/api/v1/namespaces';
const namespace = (name: string): unknown => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const needsReal = (error: unknown): boolean =>
  error instanceof SandboxError && error.code === 'NeedsRealServers' && /SERVERS=real/.test(error.message);

test('SERVERS names the back end, without it the embedded servers are used; anything else is refused with its value', () => {
  assert.deepEqual([backendOf('embedded'), backendOf('real'), backendOf('')], ['embedded', 'real', 'embedded']);
  assert.throws(() => backendOf('fake'), /SERVERS is fake/);
});

suite('a sandbox with the embedded API server', () => {
  let sandbox: Sandbox;
  let api: Api;

  before(async () => {
    sandbox = await startSandbox({ backend: 'embedded' });
    api = createApi(sandbox.admin);
  });
  after(async () => {
    await api[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
    assert.equal(existsSync(sandbox.directory), false);
    assert.equal(sandbox.apiserver.pid, undefined);
  });

  test('its kubeconfig and its keys are for the owner alone, and it has no etcd and no replicas', async () => {
    assert.equal(sandbox.backend, 'embedded');
    for (const file of [
      sandbox.kubeconfig,
      join(sandbox.directory, 'api-server.json'),
      join(sandbox.directory, 'api-server.state'),
    ])
      assert.equal(statSync(file).mode & 0o777, 0o600, file);
    await assert.rejects(sandbox.etcd.restart(), needsReal);
    await assert.rejects(sandbox.startReplica('E2'), needsReal);
    await assert.rejects(
      startSandbox({ backend: 'embedded', apiserverFlags: ['--max-requests-inflight=1'] }),
      needsReal,
    );
  });

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    test(`after ${signal} it has what it had answered, and an older watch gets 410`, async () => {
      const old = sandbox.apiserver.pid;
      const names = Array.from({ length: 30 }, (_, n) => `kept-${signal.toLowerCase()}-${n}`);
      const first = await api.call('POST', NAMESPACES, { body: namespace(`first-${signal.toLowerCase()}`) });
      const answered: string[] = [];
      const writes = names.map(async (name) => {
        const { status } = await api.call('POST', NAMESPACES, { body: namespace(name) });
        if (status === 201) answered.push(name);
      });
      // In the middle of the writes: some are answered, some are not.
      await Promise.race(writes);
      await sandbox.apiserver.kill(signal);
      await Promise.allSettled(writes);
      await sandbox.apiserver.start();
      assert.notEqual(sandbox.apiserver.pid, old);
      assert.ok(answered.length > 0);
      for (const name of answered) assert.equal((await api.call('GET', `${NAMESPACES}/${name}`)).status, 200, name);
      const since = textAt(first.body, 'metadata.resourceVersion');
      const watch = await api.call('GET', `${NAMESPACES}?watch=1&resourceVersion=${since}&timeoutSeconds=10`);
      assert.deepEqual([textAt(watch.body, 'type'), valueAt(watch.body, 'object.code')], ['ERROR', 410]);
    });
  }

  test('CRDs are installed and served, over a restart as well', async () => {
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
    const file = join(sandbox.directory, 'ship.json');
    const spec = { group: 'example.com', scope: 'Cluster', names: { plural: 'ships', kind: 'Ship' }, versions };
    const crd = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
    writeFileSync(
      file.replace('json', 'yaml'),
      JSON.stringify({ ...crd, metadata: { name: 'ships.example.com' }, spec }),
    );
    await sandbox.installCrds([file.replace('json', 'yaml')]);
    const ship = { apiVersion: 'example.com/v1', kind: 'Ship', metadata: { name: 'argo' } };
    assert.equal((await api.call('POST', '/apis/example.com/v1/ships', { body: ship })).status, 201);
    await sandbox.apiserver.restart();
    assert.equal((await api.call('GET', '/apis/example.com/v1/ships/argo')).status, 200);
  });
});

test('"up" names its back end in the first line on stderr, and prints JSON alone on stdout', async () => {
  const bin = join(import.meta.dirname, '../../bin/drydock-sandbox.js');
  const child = spawn(
    process.execPath,
    [bin, 'up', '--no-vcenter', '--crds', join(import.meta.dirname, '../../../../api/crds')],
    {
      env: { ...process.env, SERVERS: 'embedded' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let [out, said] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
    if (out.includes('\n')) child.kill('SIGTERM');
  });
  await once(child, 'close');
  assert.match(said, /^sandbox: embedded servers \(.*\), for tests and demos, not for production\n/);
  assert.match((JSON.parse(out) as { readonly server: string }).server, /^https:\/\/127\.0\.0\.1:\d+$/);
});
