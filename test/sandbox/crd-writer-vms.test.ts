import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigMap, VirtualMachine } from '@drydock/api';
import { LEDGER_COMPONENT, ledgerName, lossPlace, readCrd, readRecord } from '@drydock/crd';
import { parse } from 'yaml';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { type Process, startProcess } from './support/operator-process.ts';
import { startVmCluster, type VmCluster, vmNamespace, vmSecret, vmServer } from './support/vm-cluster.ts';
import { eventually } from './support/voyage.ts';

// The mirror of VirtualMachines while their definition loses a field, and gets it back.

const root = resolve(import.meta.dirname, '../..');
const folder = '/DC0/vm/mirrored';
const running = new AsyncDisposableStack();

interface Manifest {
  spec: {
    versions: {
      schema: { openAPIV3Schema: { properties: { status: { properties: { [name: string]: unknown } } } } };
    }[];
  };
}

let cluster: VmCluster;
let server: CrdServer;
let operator: Process;

function definition(without?: string) {
  const file = join(root, 'api/optional/vmoperator.vmware.com_virtualmachines.yaml');
  const manifest = parse(readFileSync(file, 'utf8')) as Manifest;
  if (without !== undefined)
    for (const { schema } of manifest.spec.versions)
      delete schema.openAPIV3Schema.properties.status.properties[without];
  return readCrd(manifest as never, 'edited');
}

async function kept(): Promise<readonly string[]> {
  const labels = `app.kubernetes.io/component=${LEDGER_COMPONENT}`;
  const maps = await Array.fromAsync(cluster.client.list(ConfigMap, { namespace: vmNamespace, labels }));
  assert.ok(maps.every(({ metadata }) => metadata.name.startsWith(`${ledgerName(VirtualMachine)}-`)));
  return maps
    .flatMap(({ data = {} }) => Object.values(data))
    .flatMap((text) => readRecord(text).entries.map((entry) => lossPlace(entry)));
}

before(async () => {
  cluster = running.use(await startVmCluster());
  const { sandbox } = cluster;
  server = running.use(connectCrdServer(sandbox));
  await cluster.folder(folder);
  await cluster.machine('one', folder);
  await cluster.zone('zone', (await cluster.switchboard.find(folder)).moref);
  const args = [
    ...['operator', '--roles', 'watch', '--kubeconfig', sandbox.kubeconfig, '--port', '0'],
    ...['--lease-namespace', vmNamespace, '--vcenter', vmServer, '--vcenter-secret', `${vmNamespace}/${vmSecret.name}`],
    ...['--vcenter-url', `${vmServer}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca],
  ];
  const { directory } = sandbox;
  const files = { sandbox: directory, log: join(directory, 'operator.log') };
  operator = running.use(startProcess(join(root, 'apps/drydock/bin/drydock.js'), args, files));
});
after(() => running.disposeAsync());

test('a machine whose identity the definition hides is still followed, the identity is kept, and it comes back', async () => {
  const shown = await Promise.race([
    cluster.shows('one', 'its machine', ({ uniqueID }) => uniqueID !== undefined),
    operator.died,
  ]);
  const power = async (on: boolean): Promise<void> => {
    const wanted = on ? 'PoweredOn' : 'PoweredOff';
    await cluster.switchboard.powerVm(`${folder}/one`, on);
    await Promise.race([cluster.shows('one', wanted, ({ powerState }) => powerState === wanted), operator.died]);
  };
  await power(true);
  await server.install(definition('uniqueID'));
  await power(false);
  await power(true);
  assert.equal((await cluster.status('one')).uniqueID, undefined);
  assert.deepEqual(await kept(), ['status.uniqueID']);
  await server.install(definition());
  await Promise.race([
    cluster.shows('one', 'its identity', ({ uniqueID }) => uniqueID === shown.uniqueID),
    operator.died,
  ]);
  await eventually('an empty ledger', async () => (await kept()).length === 0 || undefined);
});
