import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, suite, test } from 'node:test';
import { type JsonObject, ledgerName } from '@drydock/crd';
import { capabilitiesOf, clusterVersionCrd, clusterVersionObject } from '@drydock/crd/testing';
import { API_SERVER_ERAS, type Sandbox, startSandbox } from '@drydock/sandbox';
import { fromJSONSchema } from 'zod';
import { skips } from './support/crd-eras.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { setTrap } from './support/crd-trap.ts';
import { type LegacyWriter, legacyWriter } from './support/legacy-writer.ts';

// `drydock release rescue` as a person runs it: a ClusterVersion that went back from 4.14 to 4.13 unprepared, and a writer as upstream's, which reads four capabilities too many, keeps them, and
// is refused for ever. First it is seen stuck, then it is freed.

const BIN = join(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const C8 = capabilitiesOf(13);
const C12 = capabilitiesOf(14);
const PATH = '/apis/config.openshift.io/v1/clusterversions/version';
const LEDGER = `/api/v1/namespaces/default/configmaps/${ledgerName({ plural: 'clusterversions', group: 'config.openshift.io' })}`;
const WRITER = 'openshift-cluster-version';

let sandbox: Sandbox;
let server: CrdServer;
let writer: LegacyWriter | undefined;

before(async () => {
  sandbox = await startSandbox();
  server = connectCrdServer(sandbox);
});
afterEach(async () => {
  await writer?.[Symbol.asyncDispose]();
  writer = undefined;
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command; `heard` is called with each line that it tells meanwhile. */
async function rescue(args: readonly string[], heard: (line: string) => void = () => undefined): Promise<Ran> {
  const words = ['release', 'rescue', '--kubeconfig', sandbox.kubeconfig, '--lease-namespace', 'default', ...args];
  const child = spawn(process.execPath, [BIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (said: string) => {
    stderr += said;
    for (const line of said.split('\n')) heard(line);
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const stdout = await text(child.stdout);
  const [code] = await closed;
  return { code, stdout, stderr };
}

/** What is wrong with an output by its published schema, in which no other field may be. */
function flaws(out: string): readonly string[] {
  const file = new URL('../../docs/schemas/release-rescue.json', import.meta.url);
  const schema = JSON.parse(readFileSync(file, 'utf8')) as object;
  const strict = { ...schema, additionalProperties: false } as Parameters<typeof fromJSONSchema>[0];
  return (fromJSONSchema(strict).safeParse(JSON.parse(out)).error?.issues ?? []).map(({ message }) => message);
}

const get = async (path: string): Promise<JsonObject> => (await server.call({ method: 'GET', path })).object;

async function enabled(): Promise<unknown> {
  const { status } = (await get(PATH)) as { readonly status: { readonly capabilities: JsonObject } };
  return status.capabilities['enabledCapabilities'];
}

async function version(): Promise<unknown> {
  return ((await get(PATH))['metadata'] as JsonObject)['resourceVersion'];
}

/** One capability is not enabled yet: with it the list is another one, which no era tolerates. */
async function stuck(): Promise<LegacyWriter> {
  const { status, ...object } = clusterVersionObject(14) as { readonly status: JsonObject };
  const enabledCapabilities = C12.filter((name) => name !== 'Storage');
  const capabilities = { enabledCapabilities, knownCapabilities: C12 };
  await setTrap(server, clusterVersionCrd(14), clusterVersionCrd(13), {
    ...object,
    status: { ...status, capabilities },
  });
  const started = legacyWriter(server, C8);
  await started.wrote('refused');
  assert.equal(started.taken, 0, 'the writer is stuck before anybody helps it');
  return started;
}

for (const era of API_SERVER_ERAS) {
  suite(`a ClusterVersion whose writer is refused on ${era}`, { skip: skips(era) }, () => {
    before(async () => {
      if (sandbox.era !== era) await sandbox.switchEra(era);
    });

    test('it is told what is refused and what would be done, and nothing is written; then it is freed, and its writer goes on', async () => {
      writer = await stuck();
      const was = await version();
      const planned = await rescue(['--writer', 'none', '--show-values']);
      assert.equal(planned.code, 5, planned.stderr);
      assert.match(planned.stdout, /^version of clusterversions\.config\.openshift\.io, judged by v1/);
      assert.match(
        planned.stdout,
        /status\.capabilities\.enabledCapabilities\[\]: 4 values that the schema does not hold: "Build"|enabledCapabilities\[\]: 4 values.*"MachineAPI"/,
      );
      assert.match(
        planned.stdout,
        era === 'E2' ? /status writes: taken as long as nobody changes it/ : /status writes: refused/,
      );
      assert.match(planned.stdout, era === 'E0' ? /other writes: refused: nobody can even ask/ : /other writes: taken/);
      assert.match(
        planned.stdout,
        /^next: drydock release rescue clusterversions\.config\.openshift\.io version --kubeconfig \S+ --writer none --lease-namespace default --yes$/m,
      );
      assert.equal(await version(), was);

      const freed = await rescue(['--writer', 'none', '--yes', '--wait', '2m', '-o', 'json'], (line) => {
        if (line.startsWith('wait until its writer was restarted')) writer?.restart();
      });
      assert.equal(freed.code, 0, freed.stdout + freed.stderr);
      assert.deepEqual(flaws(freed.stdout), []);
      const output = JSON.parse(freed.stdout) as {
        readonly result: string;
        readonly kept: number;
        readonly proofs: readonly { readonly accepted: boolean }[];
      };
      assert.deepEqual(
        [output.result, output.kept, output.proofs.map(({ accepted }) => accepted)],
        ['free', 8, [true, true, true]],
      );
      // Not once, but from now on.
      await writer.wrote('taken', 3);
      assert.deepEqual(await enabled(), C8);

      const healthy = await rescue(['--writer', 'none', '--yes']);
      assert.equal(healthy.code, 0);
      assert.match(healthy.stdout, /the stored status is legal/);
      const early = await rescue(['--undo', '--yes']);
      assert.match(early.stdout, /nothing to put back\. 8 values that the schema still does not hold stay/);
    });

    test('forward again, an undo puts back what the schema takes', async () => {
      await server.install(clusterVersionCrd(14));
      const back = await rescue(['--undo', '--yes']);
      assert.equal(back.code, 0, back.stderr);
      assert.match(back.stdout, /8 values put back/);
      assert.deepEqual(await enabled(), C12);
      assert.deepEqual(Object.values((await get(LEDGER))['data'] ?? {}), []);
    });
  });
}

test('REL-2 pods of the writer that have it in memory are evicted, no other pod is, and a rescue whose writer stays silent says so and is gone on with', async () => {
  writer = await stuck();
  const made = async (path: string, body: object): Promise<void> => {
    const { message, status } = await server.call({ method: 'POST', path, body });
    assert.ok(status === 201 || status === 409, `${status} ${message}`);
  };
  const name = 'cluster-version-operator';
  const labels = { 'k8s-app': name };
  const containers = [{ name, image: 'none' }];
  const template = { metadata: { labels }, spec: { containers } };
  await made('/api/v1/namespaces', { metadata: { name: WRITER } });
  await made(`/apis/apps/v1/namespaces/${WRITER}/deployments`, {
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template },
  });
  const pod = `/api/v1/namespaces/${WRITER}/pods`;
  const replicaSet = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${name}-5d7b9`, uid: 'rs', controller: true };
  const metadata = { labels: { ...labels, 'pod-template-hash': '5d7b9' }, ownerReferences: [replicaSet] };
  await made(pod, { metadata: { ...metadata, name: `${name}-a` }, spec: { containers } });
  await made(pod, { metadata: { name: 'debugging-copy', labels }, spec: { containers } });

  const silent = await rescue(['--yes', '--wait', '2s']);
  assert.equal(silent.code, 3, silent.stderr);
  assert.match(silent.stderr, new RegExp(`evict Pod ${WRITER}/${name}-a`));
  assert.equal((await server.call({ method: 'GET', path: `${pod}/${name}-a` })).status, 404);
  assert.match(
    silent.stdout,
    /Not proved: the stored status is legal now, and its writer has not written in that time/,
  );

  // What a Deployment does; its pod reads what is stored now.
  await made(pod, { metadata: { ...metadata, name: `${name}-b` }, spec: { containers } });
  writer.restart();
  const freed = await rescue(['--yes', '--wait', '2m']);
  assert.equal(freed.code, 0, freed.stdout + freed.stderr);
  assert.match(freed.stdout, /^Free: its writer has written since/m);
  for (const left of [`${name}-b`, 'debugging-copy'])
    assert.equal((await server.call({ method: 'GET', path: `${pod}/${left}` })).status, 200);
});

test('what is not there, or is nobody’s, is told with the next step', async () => {
  const absent = await rescue(['clusterversions.config.openshift.io', 'other']);
  assert.equal(absent.code, 1);
  assert.match(
    absent.stderr,
    /there is no other of clusterversions\.config\.openshift\.io\. Name it as DEFINITION NAME/,
  );
  const unknown = await rescue(['--writer', 'no/where']);
  assert.match(unknown.stderr, /the writer no\/where is no Deployment of this cluster\. Name the Deployment/);
  assert.equal((await rescue(['--wait', 'soon'])).code, 2);
});
