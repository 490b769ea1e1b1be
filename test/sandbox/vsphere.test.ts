import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { connectSwitchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import {
  checkManifest,
  connectVCenter,
  escapeName,
  isVimError,
  type MoRef,
  type SentFile,
  type VCenter,
} from '@drydock/vsphere';
import { ovfText } from '@drydock/vsphere/testing';
import { makeRequest } from './support/import-request.ts';
import { rawVCenter } from './support/raw-vcenter.ts';

let sandbox: VCenterSandbox;
let vcenter: VCenter;
let folder: MoRef;

before(async () => {
  sandbox = await startSandbox({ vcenter: true, kubernetes: false });
  const { url, user, password, ca } = sandbox.vcenter;
  vcenter = connectVCenter({
    url,
    tls: { ca: await readFile(ca, 'utf8') },
    credentials: async () => ({ user, password }),
    env: {},
  });
  folder = (await vcenter.findByPath('/DC0/vm')) ?? assert.fail('there is no /DC0/vm');
});

after(async () => {
  await vcenter?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

test('the inventory is read: cluster, hosts, datastore, absent things', async () => {
  assert.notEqual(await vcenter.instanceUuid(), '');
  const cluster = (await vcenter.findByPath('/DC0/host/DC0_C0')) ?? assert.fail('no cluster');
  const hosts = await vcenter.hosts(cluster);
  assert.ok(hosts.length > 0);
  for (const host of hosts)
    assert.deepEqual(
      [host.connectionState, host.powerState, host.inMaintenanceMode],
      ['connected', 'poweredOn', false],
    );
  const [datastore] = hosts[0]?.datastores ?? [];
  assert.ok(datastore);
  const { name, freeSpace, accessible } = await vcenter.datastore(datastore);
  assert.ok(name !== '' && freeSpace > 0 && accessible);
  assert.equal(await vcenter.findByPath('/DC0/vm/absent'), undefined);
  assert.equal(await vcenter.findChild(folder, 'absent'), undefined);
  assert.equal(await vcenter.vm({ type: 'VirtualMachine', value: 'vm-999999' }), undefined);
  await assert.rejects(vcenter.datastore({ type: 'Datastore', value: 'absent' }), (error) =>
    isVimError(error, 'VIM_GONE'),
  );
});

/** A machine without an upload: the lease is completed at once, which only a simulator accepts. */
async function makeMachine(name: string): Promise<MoRef> {
  const at = async (path: string): Promise<MoRef> =>
    (await vcenter.findByPath(path)) ?? assert.fail(`there is no ${path}`);
  const [host] = await vcenter.hosts(await at('/DC0/host/DC0_C0'));
  assert.ok(host);
  await using lease = await vcenter.startImport({
    descriptor: ovfText({ size: 1000 }),
    name,
    resourcePool: await at('/DC0/host/DC0_C0/Resources'),
    datastore: await at('/DC0/datastore/LocalDS_0'),
    folder,
    host: host.ref,
    networks: new Map([['VM Network', await at('/DC0/network/VM Network')]]),
    diskProvisioning: 'thin',
    instanceUuid: randomUUID(),
    extraConfig: new Map(),
  });
  await lease.complete();
  return lease.vm;
}

// The simulator cannot import under a name with "/", so each machine is born under a plain one.
test('VS-W84 names with special characters: create, rename, find, destroy', async () => {
  for (const [index, name] of ['a/b', '100%', 'x\\y', 'R&D <1>', 'ship 🚢'].entries()) {
    const ref = await makeMachine(`plain-${index}`);
    for (const wanted of [name, `${name}/2`]) {
      await vcenter.rename(ref, wanted);
      assert.deepEqual(await vcenter.findChild(folder, wanted), ref, wanted);
      assert.deepEqual(await vcenter.findByPath(`/DC0/vm/${escapeName(wanted)}`), ref, wanted);
      assert.equal((await vcenter.vm(ref))?.name, wanted);
    }
    assert.equal(await vcenter.findChild(folder, name), undefined);
    await vcenter.destroy(ref);
    assert.equal(await vcenter.findChild(folder, `${name}/2`), undefined);
  }
});

test('a machine is renamed, given attributes, marked and destroyed, each twice without harm', async () => {
  const machine = { ref: await makeMachine('twice') };
  const other = await makeMachine('other');
  await assert.rejects(vcenter.rename(machine.ref, 'other'), (error) => isVimError(error, 'VIM_NAME_TAKEN'));
  await vcenter.rename(machine.ref, 'twice');
  await vcenter.destroy(other);
  await vcenter.reconfigure(machine.ref, { extraConfig: new Map([['drydock.mark', '<1>']]) });
  await vcenter.setCustomValue(machine.ref, 'drydock.mark', 'R&D');
  await vcenter.markAsTemplate(machine.ref);
  await vcenter.markAsTemplate(machine.ref);
  const seen = await vcenter.vm(machine.ref);
  assert.equal(seen?.isTemplate, true);
  assert.equal(seen?.extraConfig.get('drydock.mark'), '<1>');
  assert.equal(seen?.customValues.get('drydock.mark'), 'R&D');
  assert.deepEqual(await vcenter.findByInstanceUuid(seen?.instanceUuid ?? ''), machine.ref);
  await vcenter.destroy(machine.ref);
  await vcenter.destroy(machine.ref);
  assert.equal(await vcenter.vm(machine.ref), undefined);
});

test('TRUTH-6 a missing privilege is told with the user, the privilege and the inventory path', async () => {
  const switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  const ref = await makeMachine('lacking');
  const { user } = sandbox.vcenter;
  const refused = async (id: string, call: () => Promise<unknown>): Promise<void> => {
    await assert.rejects(call, (error) => {
      assert.ok(isVimError(error, 'VIM_NO_PERMISSION'));
      assert.match(
        error.message,
        new RegExp(`the user ${user} lacks the privilege ${id} on /DC0/vm/(.*/)?lacking\\. `),
      );
      assert.deepEqual([error.denied?.user, error.denied?.privilege], [user, id]);
      return true;
    });
  };
  await switchboard.denyPrivileges(['VirtualMachine.Config.Rename']);
  await refused('VirtualMachine.Config.Rename', () => vcenter.rename(ref, 'other'));
  await switchboard.denyPrivileges([]);
  await vcenter.destroy(ref);
});

test('a short task ends sooner than a fixed poll would see it, and costs few calls', async () => {
  const switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  const ref = await makeMachine('short-task');
  await using _rule = await switchboard.rule({ on: 'Rename_Task', do: 'task', delayMs: 40 });
  let fastest = Number.POSITIVE_INFINITY;
  // The fastest, because whatever else the machine does may slow any of them.
  for (let round = 0; round < 20 && fastest > 90; round++) {
    await switchboard.resetCalls();
    const started = performance.now();
    await vcenter.rename(ref, `short-task-${round}`);
    fastest = Math.min(fastest, performance.now() - started);
    const { total } = await switchboard.calls();
    assert.ok(total <= 12, `${total} calls for a task of 40 ms`);
  }
  assert.ok(fastest <= 90, `${fastest.toFixed(0)} ms for a task of 40 ms`);
});

test('OWN-10 an import is judged by its checksums, whatever else the manifest of its lease says', async () => {
  const board = connectSwitchboard(sandbox.vcenter.switchboard);
  for (const uploadManifest of ['downloads', 'uploads', 'empty'] as const) {
    await board.setOptions({ uploadManifest });
    const { source, ...request } = await makeRequest(vcenter, `own-10-${uploadManifest}`);
    await using lease = await vcenter.startImport(request);
    const sent: SentFile[] = [];
    for (const file of lease.files) sent.push({ file, ...(await lease.upload(file, source)) });
    const manifest = await lease.manifest();
    assert.equal(manifest.length, uploadManifest === 'empty' ? 0 : 1);
    checkManifest(sent, manifest);
    await lease.complete();
  }
  await board.setOptions({ uploadManifest: 'downloads' });
});

test('OWN-14 networks of hosts have the port groups of distributed switches', async () => {
  const board = connectSwitchboard(sandbox.vcenter.switchboard);
  const cluster = (await vcenter.findByPath('/DC0/host/DC0_C0')) ?? assert.fail('no cluster');
  const group = (await vcenter.findByPath('/DC0/network/DC0_DVPG0')) ?? assert.fail('no port group');
  const reached = async () =>
    (await vcenter.hosts(cluster)).map(({ networks }) => networks?.some(({ value }) => value === group.value));
  assert.equal(group.type, 'DistributedVirtualPortgroup');
  assert.deepEqual(await reached(), [true, true]);
  await board.changeHost('DC0_C0_H0', { networks: ['VM Network'] });
  assert.deepEqual(await reached(), [false, true]);
  await board.changeHost('DC0_C0_H0', { networks: ['VM Network', 'DC0_DVPG0'] });
});

test('OWN-15 a datastore in a datastore cluster is found by its path alone', async () => {
  const board = connectSwitchboard(sandbox.vcenter.switchboard);
  await board.createDatastore({ name: 'in-pod', cluster: '/DC0/host/DC0_C0' });
  await board.createPod({ name: 'pod', datacenter: 'DC0', datastores: ['in-pod'] });
  assert.equal((await vcenter.findByPath('/DC0/datastore/pod'))?.type, 'StoragePod');
  assert.equal((await vcenter.findByPath('/DC0/datastore/pod/in-pod'))?.type, 'Datastore');
  assert.equal(await vcenter.findByPath('/DC0/datastore/in-pod'), undefined);
  const paths = (await vcenter.places()).filter(({ kind }) => kind === 'datastore').map(({ path }) => path);
  assert.ok(paths.includes('/DC0/datastore/pod/in-pod'), paths.join(' '));
});

test('OWN-19 what programs beside Drydock need: the name of a clone, guest data, a hardware version, a port', async () => {
  const board = connectSwitchboard(sandbox.vcenter.switchboard);
  assert.ok(Number(new URL(sandbox.vcenter.url).port) < 32_768);
  await board.setOptions({ guestData: true });
  const source = await board.createVm({ name: 'source', folder: '/DC0/vm', template: true });
  const holding = await board.rule({ on: 'CloneVM_Task', do: 'task', hold: true, work: 'last' });
  await using raw = await rawVCenter(sandbox);
  const pool = await vcenter.findByPath('/DC0/host/DC0_C0/Resources');
  const cloneTask = async (name: string): Promise<string> => {
    const spec = `<spec><location><pool type="ResourcePool">${pool?.value}</pool></location><template>false</template><powerOn>false</powerOn></spec>`;
    const fields = `<folder type="Folder">${folder.value}</folder><name>${name}</name>${spec}`;
    const answer = await raw.call('CloneVM_Task', 'VirtualMachine', source.moref, fields);
    return /<returnval[^>]*>([^<]*)</.exec(answer)?.[1] ?? '';
  };
  const running = await cloneTask('clone');
  assert.deepEqual((await board.vms()).find(({ moref }) => moref === source.moref)?.tasks, ['VirtualMachine.clone']);
  await holding.release();
  await board.clearRules();
  const done = await cloneTask('clone-2');
  for (const task of [running, done])
    assert.match(await raw.property('Task', task, 'info.descriptionId'), />VirtualMachine\.clone</);
  const { source: disk, ...request } = await makeRequest(vcenter, 'on');
  await using lease = await vcenter.startImport(request);
  for (const file of lease.files) await lease.upload(file, disk);
  await lease.complete();
  const moref = lease.vm.value;
  assert.match(await raw.property('VirtualMachine', source.moref, 'config.version'), />vmx-19</);
  await board.powerVm(moref, true);
  assert.match(await raw.property('VirtualMachine', moref, 'guest.toolsRunningStatus'), />guestToolsRunning</);
  assert.match(await raw.property('VirtualMachine', moref, 'guest.hostName'), />on</);
  assert.match(
    await raw.property('VirtualMachine', moref, 'guest.net'),
    /<macAddress>[0-9a-f:]{17}<.*<ipAddress>10\.|<ipAddress>10\..*<macAddress>[0-9a-f:]{17}</,
  );
  await board.powerVm(moref, false);
  assert.match(await raw.property('VirtualMachine', moref, 'guest.toolsRunningStatus'), />guestToolsNotRunning</);
  await board.setOptions({ guestData: false });
});

test("OWN-18 a machine as Machine API makes it: known by the UUID of its spec, its disk's file its own, powered on by its datacenter; a template outlives its clones", async () => {
  const board = connectSwitchboard(sandbox.vcenter.switchboard);
  await using raw = await rawVCenter(sandbox);
  const at = { folder: '/DC0/vm', cluster: '/DC0/host/DC0_C0' };
  const template = await board.createVm({ ...at, name: 'grown', disks: 1, template: true });
  const fileOf = async (moref: string): Promise<string | undefined> =>
    (await board.vms()).find((vm) => vm.moref === moref)?.disks[0]?.file;
  const theirs = (await fileOf(template.moref)) ?? assert.fail('no disk');
  const pool = await vcenter.findByPath('/DC0/host/DC0_C0/Resources');
  const datacenter = (await vcenter.findByPath('/DC0')) ?? assert.fail('no datacenter');
  const device = await raw.property('VirtualMachine', template.moref, 'config.hardware.device');
  const [, key, controller] =
    /"VirtualDisk"><key>(\d+)<.*<controllerKey>(\d+)</.exec(device) ?? assert.fail(`no disk in ${device}`);
  await board.setOptions({ guestData: true });
  for (const name of ['grown-1', 'grown-2']) {
    const uuid = randomUUID();
    const disk = `<device xsi:type="VirtualDisk"><key>${key}</key><backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName>${theirs}</fileName><diskMode>persistent</diskMode></backing><controllerKey>${controller}</controllerKey><unitNumber>0</unitNumber><capacityInKB>2048</capacityInKB></device>`;
    const config = `<config><instanceUuid>${uuid}</instanceUuid><deviceChange xsi:type="VirtualDeviceConfigSpec"><operation>edit</operation>${disk}</deviceChange></config>`;
    const spec = `<spec><location><pool type="ResourcePool">${pool?.value}</pool></location><template>false</template>${config}<powerOn>false</powerOn></spec>`;
    const fields = `<folder type="Folder">${folder.value}</folder><name>${name}</name>${spec}`;
    await raw.task('CloneVM_Task', 'VirtualMachine', template.moref, fields);
    const clone = (await vcenter.findByInstanceUuid(uuid)) ?? assert.fail(`${name} is not known by its UUID`);
    const own = await fileOf(clone.value);
    assert.ok(own?.includes(name) && own !== theirs, `${name} has ${own}`);
    await raw.task(
      'PowerOnMultiVM_Task',
      datacenter.type,
      datacenter.value,
      `<vm type="${clone.type}">${clone.value}</vm>`,
    );
    const { power, tools, hostName } = (await vcenter.guest(clone)) ?? {};
    assert.deepEqual([power, tools, hostName], ['poweredOn', 'guestToolsRunning', name]);
    await board.powerVm(clone.value, false);
    await vcenter.destroy(clone);
    assert.equal(await vcenter.guest(clone), undefined);
  }
  await board.setOptions({ guestData: false });
});
