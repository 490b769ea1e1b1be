import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { CustomResourceDefinition } from '@drydock/api';
import type { JsonObject } from '@drydock/crd';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { type ApiGate, openApiGate } from './support/api-gate.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { crdOf, setTrap } from './support/crd-trap.ts';
import { startProcess } from './support/operator-process.ts';

// What a killed probe leaves behind, and who tidies up.

const drydock = resolve(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const running = new AsyncDisposableStack();
const schema = (format: JsonObject): JsonObject => ({
  properties: { status: { type: 'object', properties: { code: { type: 'string', ...format } } } },
});

let sandbox: Sandbox;
let server: CrdServer;
let client: KubeClient;
let gate: ApiGate;

before(async () => {
  sandbox = running.use(await startSandbox());
  server = running.use(connectCrdServer(sandbox));
  client = running.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  gate = running.use(await openApiGate(sandbox));
});
after(() => running.disposeAsync());

async function doctor(...args: readonly string[]) {
  return new Promise<{ readonly code: number; readonly stdout: string }>((done) => {
    const command = [drydock, 'crd', 'doctor', '--kubeconfig', sandbox.kubeconfig, ...args];
    const child = execFile(process.execPath, command, (_error, stdout) => done({ code: child.exitCode ?? -1, stdout }));
  });
}

async function shadows(): Promise<readonly string[]> {
  const all = await Array.fromAsync(client.list(CustomResourceDefinition));
  return all
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.endsWith('.shadow.drydock.dev'));
}

test('a definition that a killed probe left is listed, and removed after a yes; what only carries the label is left alone', async () => {
  assert.deepEqual(await doctor(), { code: 0, stdout: 'Nothing was left behind.\n' });
  const open = crdOf('books', schema({}));
  await setTrap(server, open, undefined, { metadata: { name: 'one' }, status: { code: 'x' } });
  // Its label says shadow, its group does not.
  await client.mergePatch(
    CustomResourceDefinition,
    { name: open.name },
    { metadata: { labels: { 'drydock.dev/shadow': 'x' } } },
  );
  const to = join(sandbox.directory, 'to.json');
  // Nobody but the server knows this format.
  await writeFile(to, JSON.stringify(crdOf('books', schema({ format: 'isbn' })).manifest));
  const kubeconfig = join(sandbox.directory, 'gate.kubeconfig');
  await writeFile(kubeconfig, gate.kubeconfig, { mode: 0o600 });
  {
    await using hold = gate.hold(({ verb }) => verb === 'DELETE', 'before');
    const files = {
      sandbox: sandbox.directory,
      log: join(sandbox.directory, 'probe.log'),
    };
    const args = ['crd', 'preflight', '--to', to, '--server-probe', '--yes', '--kubeconfig', kubeconfig];
    const probe = startProcess(drydock, args, files);
    await Promise.race([hold.held, probe.died]);
    await probe.crash();
  }
  const [left = '', ...more] = await shadows();
  assert.deepEqual([left.startsWith('books-'), more], [true, []]);

  const asked = await doctor();
  assert.equal(asked.code, 5);
  assert.match(
    asked.stdout,
    new RegExp(`^DEFINITION +RUN +AGE\n${left} +probe-[0-9a-f]{8} +\\d+[sm]\n\nThey serve nobody`),
  );
  assert.deepEqual(await shadows(), [left]);

  const json = await doctor('--yes', '-o', 'json');
  assert.equal(json.code, 0);
  const { left: found, removed } = JSON.parse(json.stdout) as {
    readonly left: readonly { readonly name: string }[];
    readonly removed: number;
  };
  assert.deepEqual([found.map(({ name }) => name), removed], [[left], 1]);
  assert.deepEqual(await shadows(), []);
  assert.equal((await client.get(CustomResourceDefinition, { name: open.name })).metadata.name, open.name);
  assert.equal((await doctor('-o', 'xml')).code, 2);
});
