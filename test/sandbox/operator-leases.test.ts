import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { Lease } from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { eventually } from './support/kube-kinds.ts';
import { type Process, startProcess } from './support/operator-process.ts';
import { createCluster, machineApi, oldRelease } from './support/voyage-cluster.ts';

// `drydock operator` with two roles, one of which loses its Lease.

const root = resolve(import.meta.dirname, '../..');
const running = new AsyncDisposableStack();
let sandbox: Sandbox;
let client: KubeClient;
let operator: Process;

before(async () => {
  sandbox = running.use(await startSandbox({ crds: ['openshift', join(root, 'api/crds')] }));
  client = running.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const image = { release: oldRelease, location: 'https://mirror.invalid/rhcos.ova', sha256: '0'.repeat(64) };
  await createCluster(client, { user: 'nobody', password: 'nothing' }, image);
  const { directory, kubeconfig } = sandbox;
  const args = [
    ...['operator', '--roles', 'boot-images,release', '--kubeconfig', kubeconfig, '--port', '0'],
    ...['--lease-namespace', machineApi, '--identity', 'ours', '--cache-dir', join(directory, 'images')],
  ];
  const files = { sandbox: directory, log: join(directory, 'operator.log') };
  operator = running.use(startProcess(join(root, 'apps/drydock/bin/drydock.js'), args, files));
});
after(() => running.disposeAsync());

const soon = (what: string, check: () => Promise<boolean>): Promise<void> =>
  Promise.race([eventually(what, check), operator.died]);

async function lease(role: string): Promise<Lease | undefined> {
  return client.get(Lease, { namespace: machineApi, name: `drydock-${role}` }).catch(() => undefined);
}

const led = async (role: string): Promise<boolean> => (await lease(role))?.spec?.holderIdentity === 'ours';

test('FIND-2: a role that loses its Lease contests it again, while the other role of the process goes on leading', async () => {
  await soon('both lead', async () => (await led('boot-images')) && (await led('release')));
  await soon('another process takes the Lease', async () => {
    const taken = await lease('boot-images');
    if (taken === undefined) return false;
    const leaseTransitions = (taken.spec?.leaseTransitions ?? 0) + 1;
    const spec = { ...taken.spec, holderIdentity: 'theirs', leaseDurationSeconds: 3, leaseTransitions };
    return client.replace(Lease, { ...taken, spec }).then(
      () => true,
      () => false,
    );
  });
  await soon('the role is begun anew and leads again', () => led('boot-images'));
  const log = readFileSync(join(sandbox.directory, 'operator.log'), 'utf8');
  assert.match(log, /"role":"boot-images".*the role lost its Lease/);
  assert.doesNotMatch(log, /"role":"release".*lost its Lease/);
  const other = (await lease('release'))?.spec;
  assert.deepEqual([other?.holderIdentity, other?.leaseTransitions], ['ours', 0]);
  const { port } = JSON.parse(log.split('\n').find((line) => line.includes('"port":')) ?? '{}') as { port: number };
  const live = await (await fetch(`http://127.0.0.1:${port}/livez?verbose`)).text();
  assert.match(live, /\[\+\]lease-drydock-boot-images ok\n\[\+\]lease-drydock-release ok/);
});
