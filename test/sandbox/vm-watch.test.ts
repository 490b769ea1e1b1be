import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Secret, VirtualMachine, Zone } from '@drydock/api';
import { createCache, run } from '@drydock/kube';
import { type Links, type VmWatchRole, vmWatchRole } from '@drydock/vm-watch';
import { quickest } from '@drydock/vm-watch/testing';
import { systemClock } from '@drydock/vsphere';
import { pino } from 'pino';
import {
  simulatorLinks,
  startVmCluster,
  type VmCluster,
  vmNamespace,
  vmSecret,
  vmServer,
} from './support/vm-cluster.ts';
import { eventually } from './support/voyage.ts';

const log = pino({ level: process.env['DRYDOCK_TEST_LOG'] ?? 'silent' });

let cluster: VmCluster;
let role: VmWatchRole;
let ways: Links;
let made: () => number;
const running = new AsyncDisposableStack();

before(async () => {
  cluster = await startVmCluster();
  const { client, sandbox } = cluster;
  const where = { namespace: vmNamespace, fields: `metadata.name=${vmSecret.name}` };
  const secrets = running.use(createCache({ client, resource: Secret, where }));
  await secrets.synced;
  ({ ways, made } = await simulatorLinks(sandbox, () => secrets.get(vmSecret)));
  running.use(ways);
  secrets.subscribe(() => ways.refresh());
  role = vmWatchRole({ client, links: ways, firstServer: () => vmServer, clock: systemClock, log, maxWaitSeconds: 5 });
  running.use(await run({ client, ...role, log, signal: new AbortController().signal }));
});

after(async () => {
  await running.disposeAsync();
  const left = await cluster?.switchboard.sessions();
  await cluster?.[Symbol.asyncDispose]();
  assert.deepEqual(left?.sessions, [], 'a session was left on the vCenter');
});

const live = async (): Promise<void> => {
  await eventually(
    'the watch is live',
    async () => role.watch.reports().find(({ state, dirty }) => state.name === 'live' && dirty === 0),
    () => role.watch.reports(),
  );
};

async function power(name: string, folder: string, on: boolean): Promise<number> {
  const at = performance.now();
  await cluster.switchboard.powerVm(`${folder}/${name}`, on);
  await cluster.shows(name, `power ${on}`, ({ powerState }) => powerState === (on ? 'PoweredOn' : 'PoweredOff'));
  return performance.now() - at;
}

test('VS-W54 VS-W58 VS-W59 a machine in the folder of a Zone shows in its object, each change within a second, and a key that leads nowhere harms nobody', async () => {
  const folder = '/DC0/vm/w58';
  await cluster.machine('a', await folderOf(folder));
  await cluster.zone('z58', (await cluster.switchboard.find(folder)).moref);
  const status = await cluster.shows('a', 'its machine', ({ uniqueID }) => uniqueID !== undefined);
  const [vm] = await cluster.switchboard.vms({ folder });
  assert.equal(status.uniqueID, vm?.moref);
  assert.equal(status.instanceUUID, vm?.instanceUuid);
  assert.equal(status.nodeName, vm?.host.split('/').at(-1));
  assert.equal(status.zone, 'z58');
  const zone = await cluster.client.get(Zone, { namespace: vmNamespace, name: 'z58' });
  assert.deepEqual(zone.metadata.finalizers, ['vmoperator.vmware.com/zone-finalizer']);
  await live();
  let on = false;
  await quickest(1_000, () => {
    on = !on;
    return power('a', folder, on);
  });

  const { resourceVersion } = (await cluster.client.get(VirtualMachine, { namespace: vmNamespace, name: 'a' }))
    .metadata;
  await cluster.switchboard.createVm({
    name: 'stray',
    folder,
    extraConfig: { 'vmservice.namespacedName': 'invalid/a' },
  });
  await cluster.switchboard.editVm(`${folder}/stray`, { extraConfig: { 'guestinfo.ipaddr': '10.0.0.1' } });
  await cluster.machine('b', folder);
  await cluster.shows('b', 'its machine', ({ uniqueID }) => uniqueID !== undefined);
  const { metadata } = await cluster.client.get(VirtualMachine, { namespace: vmNamespace, name: 'a' });
  assert.equal(metadata.resourceVersion, resourceVersion);
});

test('VS-W51 VS-W23 a session that is killed on the server: one login more, the same client, and what changed meanwhile shows', async () => {
  const folder = '/DC0/vm/w51';
  await cluster.machine('c', await folderOf(folder));
  await cluster.zone('z51', (await cluster.switchboard.find(folder)).moref);
  await cluster.shows('c', 'its machine', ({ uniqueID }) => uniqueID !== undefined);
  await live();
  const { logins } = await cluster.switchboard.sessions();
  const clients = made();
  const gate = await cluster.switchboard.rule({ on: 'Login', do: 'delay', delayMs: 300, times: 1 });
  await cluster.switchboard.killSessions();
  await cluster.switchboard.powerVm(`${folder}/c`, true);
  await cluster.shows('c', 'power', ({ powerState }) => powerState === 'PoweredOn');
  await gate.remove();
  assert.equal((await cluster.switchboard.sessions()).logins, logins + 1);
  assert.equal(made(), clients);
  await live();
  await power('c', folder, false);
});

test('VS-W66 VS-W52 equal credentials change nothing; a wrong password is tried a few times; the right one is taken up at once', async () => {
  const folder = '/DC0/vm/w66';
  await cluster.machine('d', await folderOf(folder));
  await cluster.zone('z66', (await cluster.switchboard.find(folder)).moref);
  await cluster.shows('d', 'its machine', ({ uniqueID }) => uniqueID !== undefined);
  const { logouts, refused } = await cluster.switchboard.sessions();
  await cluster.client.mergePatch(Secret, vmSecret, { metadata: { labels: { touched: 'yes' } } });
  await power('d', folder, true);
  assert.equal((await cluster.switchboard.sessions()).logouts, logouts);

  await cluster.password('wrong');
  // The second refusal: then it is not asked again for ten seconds.
  const { state } = await eventually('the refusals', async () =>
    role.watch.reports().find(({ state: { until = 0 } }) => until > systemClock.now() + 7_000),
  );
  assert.equal(state.name, 'backoff');
  assert.equal((await cluster.switchboard.sessions()).logouts, logouts + 1);
  await cluster.switchboard.powerVm(`${folder}/d`, false);
  await cluster.password(cluster.sandbox.vcenter.password);
  await cluster.shows('d', 'power', ({ powerState }) => powerState === 'PoweredOff');
  assert.ok(systemClock.now() < (state.until ?? 0), 'it was not waited for');
  const refusals = (await cluster.switchboard.sessions()).refused - refused;
  assert.ok(refusals >= 1 && refusals <= 3, `${refusals} refused logins`);
});

test('VS-W69 VS-W9 two Zones share a folder: one is deleted and changes still show; both, and none do; a machine destroyed by hand is marked', async () => {
  const folder = '/DC0/vm/w69';
  await cluster.machine('e', await folderOf(folder));
  await cluster.machine('f', folder);
  const { moref } = await cluster.switchboard.find(folder);
  for (const name of ['z69a', 'z69b']) await cluster.zone(name, moref);
  for (const name of ['e', 'f']) await cluster.shows(name, 'its machine', ({ uniqueID }) => uniqueID !== undefined);
  await live();
  const gone = async (name: string): Promise<void> => {
    await cluster.client.delete(Zone, { namespace: vmNamespace, name });
    const look = async (): Promise<true | undefined> =>
      cluster.client.get(Zone, { namespace: vmNamespace, name }).then(
        () => undefined,
        () => true as const,
      );
    await eventually(`${name} is gone`, look);
  };
  await gone('z69a');
  await power('e', folder, true);
  await cluster.switchboard.destroyVm(`${folder}/f`);
  const marked = await cluster.shows(
    'f',
    'the mark',
    ({ conditions }) => conditions?.[0]?.reason === 'DeletedOutOfBand',
  );
  assert.equal(marked.uniqueID, undefined);
  await gone('z69b');
  await eventually('the folder is not watched', async () =>
    role.watch.holdings(`${vmNamespace}/z69b`).length === 0 ? true : undefined,
  );
  await live();
  await cluster.switchboard.powerVm(`${folder}/e`, false);
  // Another machine that is watched shows a later change.
  await power('b', '/DC0/vm/w58', true);
  assert.equal((await cluster.status('e')).powerState, 'PoweredOn');
});

async function folderOf(path: string): Promise<string> {
  await cluster.folder(path);
  return path;
}
