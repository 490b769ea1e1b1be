import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { BootImage, bootImageName, ConfigMap, Event, Lease, MachineSet, Secret } from '@drydock/api';
import { type JsonObject, ledgerName, lossPlace, readCrd, readRecord } from '@drydock/crd';
import { createClient, isNotFound, type KubeClient, loadKubeconfig, readStatusNote } from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { parse } from 'yaml';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { eventually } from './support/kube-kinds.ts';
import { type Process, startProcess } from './support/operator-process.ts';
import {
  createCluster,
  credentials,
  machineApi,
  machineSet,
  oldRelease,
  serverName,
} from './support/voyage-cluster.ts';

// `drydock operator` and `drydock status` while the definition of BootImages loses a field, and gets it back.

const root = resolve(import.meta.dirname, '../..');
const drydock = join(root, 'apps/drydock/bin/drydock.js');
const key = { namespace: machineApi, name: bootImageName('ms', 'worker') };
const running = new AsyncDisposableStack();

let sandbox: Sandbox;
let server: CrdServer;
let client: KubeClient;
let operator: Process;

interface Manifest {
  spec: {
    versions: {
      schema: {
        openAPIV3Schema: { properties: { status: { required?: string[]; properties: { [name: string]: unknown } } } };
      };
    }[];
  };
}

/** The definition with another schema of the status. */
function definition(edit: (status: { required?: string[]; properties: { [name: string]: unknown } }) => void) {
  const manifest = parse(readFileSync(join(root, 'api/crds/drydock.dev_bootimages.yaml'), 'utf8')) as Manifest;
  for (const { schema } of manifest.spec.versions) edit(schema.openAPIV3Schema.properties.status);
  return readCrd(manifest as never, 'edited');
}

before(async () => {
  sandbox = running.use(await startSandbox({ crds: ['openshift', join(root, 'api/crds')] }));
  server = running.use(connectCrdServer(sandbox));
  client = running.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const image = { release: oldRelease, location: 'https://mirror.invalid/rhcos.ova', sha256: '0'.repeat(64) };
  await createCluster(client, { user: 'nobody', password: 'nothing' }, image);
  await client.create(MachineSet, machineSet({ name: 'worker', folder: '/DC0/vm/harbour' }));
  const { directory, kubeconfig } = sandbox;
  const args = [
    ...['operator', '--kubeconfig', kubeconfig, '--port', '0', '--lease-namespace', machineApi],
    // Nobody listens there: the set is reported as failed, with a message.
    ...['--vcenter-url', `${serverName}=https://127.0.0.1:1`, '--cache-dir', join(directory, 'images')],
  ];
  const files = { sandbox: directory, log: join(directory, 'operator.log') };
  operator = running.use(startProcess(drydock, args, files));
});
after(() => running.disposeAsync());

const soon = (what: string, check: () => Promise<boolean>): Promise<void> =>
  Promise.race([eventually(what, check), operator.died]);

async function status(): Promise<JsonObject> {
  try {
    return ((await client.get(BootImage, key)).status ?? {}) as unknown as JsonObject;
  } catch (error) {
    if (isNotFound(error)) return {};
    throw error;
  }
}

async function records(): Promise<readonly string[]> {
  try {
    const found = await client.get(ConfigMap, { namespace: machineApi, name: ledgerName(BootImage) });
    return Object.values(found.data ?? {});
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

const run = promisify(execFile);
const printed = (...args: readonly string[]) =>
  run(process.execPath, [
    drydock,
    'status',
    '--kubeconfig',
    sandbox.kubeconfig,
    '--lease-namespace',
    machineApi,
    ...args,
  ]);

async function note() {
  const lease = await client.get(Lease, { namespace: machineApi, name: 'drydock-boot-images' });
  return readStatusNote(lease.metadata.annotations);
}

test('a field that the definition loses is kept in the ledger and told, by the Lease and by drydock status, and comes back with it', async () => {
  await soon('a message', async () => typeof (await status())['message'] === 'string');
  assert.doesNotMatch((await printed()).stdout, /STATUS-WRITES/);
  await server.install(definition(({ properties }) => delete properties['message']));
  // The server hides it at once; it is gone when somebody writes.
  await soon('a record', async () => (await records()).length > 0);
  await soon('a status without it', async () => (await status())['message'] === undefined);
  const entries = (await records()).flatMap((text) => readRecord(text).entries);
  assert.deepEqual(entries.map(lossPlace), ['status.message']);
  assert.equal(entries[0]?.release, 'drydock 0.1.0');
  await soon('the note', async () => (await note())?.degraded === 1);
  const { stdout, stderr } = await printed();
  assert.match(stdout, /STATUS-WRITES .*\nms\/worker.* degraded \d+s /);
  assert.match(
    stderr,
    /The status of bootimages\.drydock\.dev openshift-machine-api\/ms-worker is not written whole since \d+s: left out: status\.message\n/,
  );
  await server.install(definition(() => undefined));
  await soon('the message', async () => typeof (await status())['message'] === 'string');
  await soon('an empty ledger', async () => (await records()).length === 0);
  await soon('the end of the note', async () => (await note()) === undefined);
  await soon('both events', async () => {
    const events = await Array.fromAsync(client.list(Event, { namespace: machineApi }));
    const told = events.filter(({ regarding }) => regarding?.name === key.name).map(({ reason = '' }) => reason);
    const reasons = told.filter((reason) => reason.startsWith('Status')).toSorted();
    return reasons.join() === 'StatusDegraded,StatusRestored';
  });
});

test('a field that nobody can supply blocks the status and not the work; drydock status says why, and the definition heals it', async () => {
  const sealed = definition((of) => {
    of.properties['seal'] = { type: 'string', pattern: '^[0-9a-f]{64}$' };
    of.required = ['seal'];
  });
  await server.install(sealed);
  // Something to write: the set fails for another reason.
  await client.delete(Secret, credentials);
  await soon('the note', async () => ((await note())?.blocked ?? 0) > 0);
  const { stdout, stderr } = await printed();
  assert.match(stdout, /ms\/worker.* blocked \d+s /);
  assert.match(stderr, /is not written since \d+s: .*seal/);
  const fixed = performance.now();
  await server.install(definition(() => undefined));
  await soon('the end of the note', async () => (await note()) === undefined);
  // Well before its timer of half a minute: it is the definition that wakes it.
  assert.ok(performance.now() - fixed < 20_000, `${performance.now() - fixed} ms`);
});
