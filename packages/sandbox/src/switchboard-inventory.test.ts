import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends, fault, method, skips, start, THIS, until, value } from './testing/simulator.ts';

for (const backend of backends)
  test(`${backend}: topology, tags, attributes, privileges and sabotage`, { skip: skips(backend) }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const { moref: datastore } = await board.createDatastore({ name: 'zone-b', cluster: '/DC0/host/DC0_C1' });
    assert.notEqual(datastore, '');
    const { moref } = await board.createVm({ name: 'v', folder: '/DC0/vm', cluster: 'DC0_C1', datastore: 'zone-b' });
    await board.createTag({ category: 'openshift', name: 'cluster-x', attachTo: [`VirtualMachine:${moref}`] });
    await board.setCustomValue(moref, 'drydock', 'yes');
    await board.editVm(moref, { extraConfig: { a: '1' }, annotation: 'note', productVersion: '1.2' });
    await board.powerVm(moref, true);
    await board.renameVm('/DC0/vm/v', 'w');
    const [vm] = await board.vms();
    assert.deepEqual(
      [
        vm?.name,
        vm?.datastores,
        vm?.tags,
        vm?.customValues,
        vm?.extraConfig['a'],
        vm?.annotation,
        vm?.productVersion,
        vm?.power,
      ],
      ['w', ['zone-b'], ['openshift/cluster-x'], { drydock: 'yes' }, '1', 'note', '1.2', 'poweredOn'],
    );
    await board.changeHost('DC0_C0_H0', { maintenance: true });
    await board.changeHost('DC0_C0_H1', { connectionState: 'notResponding' });
    assert.deepEqual(
      (await board.hosts()).slice(0, 2).map((h) => [h.inMaintenanceMode === true, h.connectionState]),
      [
        [true, 'connected'],
        [false, 'notResponding'],
      ],
    );

    await board.denyPrivileges(['VApp.Import']);
    const asked = await client.call(
      method(
        'HasPrivilegeOnEntities',
        `${THIS('AuthorizationManager')}<entity type="VirtualMachine">${moref}</entity><sessionId>s</sessionId><privId>VApp.Import</privId><privId>Other</privId>`,
      ),
    );
    assert.deepEqual(asked.text.match(/<isGranted>\w+/g), ['<isGranted>false', '<isGranted>true']);
    await board.denyPrivileges([]);

    const pool = (await board.find('/DC0/host/DC0_C0/Resources')).moref;
    const unmounted = await client.call(
      method(
        'ImportVApp',
        `${THIS('ResourcePool', pool)}<spec xsi:type="VirtualMachineImportSpec"><configSpec><name>x</name>` +
          '<files><vmPathName>[zone-b]</vmPathName></files></configSpec></spec>',
      ),
    );
    assert.equal(fault(unmounted), 'InvalidDatastore');
    const unknown = await client.call(
      method(
        'CreateImportSpec',
        `${THIS('OvfManager')}<ovfDescriptor>x</ovfDescriptor><resourcePool type="ResourcePool">${pool}</resourcePool>` +
          '<datastore type="Datastore">datastore-999</datastore><cisp><entityName>x</entityName></cisp>',
      ),
    );
    assert.equal(fault(unknown), 'ManagedObjectNotFound');
    await board.powerVm(moref, false);
    await board.destroyVm(moref);
    assert.deepEqual(await board.vms(), []);
  });

for (const backend of backends)
  test(`${backend}: an administrator converts, boots and hides a machine: traces stay, disabled methods are refused, and an unreadable configuration is unset`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const { moref } = await board.createVm({ name: 't', folder: '/DC0/vm', disks: 1, template: true });
    await board.convertVm(moref, 'machine');
    await board.powerVm(moref, true);
    await board.powerVm(moref, false);
    await board.convertVm(moref, 'template');
    const [vm] = await board.vms();
    assert.deepEqual([vm?.isTemplate, vm?.extraConfig['softPowerOff']], [true, 'FALSE']);

    const call = (name: string, rest = ''): ReturnType<typeof client.call> =>
      client.call(method(name, THIS('VirtualMachine', moref) + rest));
    await board.editVm(moref, { disabledMethods: ['Destroy_Task'] });
    assert.equal(fault(await call('Destroy_Task')), 'MethodDisabled');
    await board.editVm(moref, { disabledMethods: [], connectionState: 'inaccessible', unreadable: true });
    assert.equal(fault(await call('Rename_Task', '<newName>u</newName>')), 'InvalidState');
    const read = await client.call(
      method(
        'RetrievePropertiesEx',
        `${THIS('PropertyCollector', 'propertyCollector')}<specSet><propSet><type>VirtualMachine</type><pathSet>config.instanceUuid</pathSet>` +
          `<pathSet>summary.config.instanceUuid</pathSet></propSet><objectSet><obj type="VirtualMachine">${moref}</obj></objectSet></specSet><options/>`,
      ),
    );
    assert.deepEqual(read.text.match(/<name>[^<]+/g), ['<name>summary.config.instanceUuid']);
  });

for (const backend of backends)
  test(`${backend}: KEEP-1 a creation date that a client sends is ignored, in a new VM, a change and a clone`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const { moref: folder } = await board.find('/DC0/vm');
    const { moref: pool } = await board.find('/DC0/host/DC0_C0/Resources');
    const past = '<createDate>2001-01-01T00:00:00Z</createDate>';
    const createdOf = async (name: string): Promise<string> => {
      const { moref } = await board.find(`/DC0/vm/${name}`);
      const set = '<propSet><type>VirtualMachine</type><pathSet>config.createDate</pathSet></propSet>';
      const of = `<objectSet><obj type="VirtualMachine">${moref}</obj></objectSet>`;
      const collector = THIS('PropertyCollector', 'propertyCollector');
      const asked = method('RetrievePropertiesEx', `${collector}<specSet>${set}${of}</specSet><options/>`);
      return value(await client.call(asked), 'val');
    };
    const asks = async (body: string): Promise<void> => {
      const ran = await client.call(body);
      assert.equal(fault(ran), undefined, ran.text);
    };
    const began = Date.now();
    const files = '<files><vmPathName>[LocalDS_0]</vmPathName></files>';
    const config = `<config><name>dated</name>${past}<guestId>otherGuest</guestId>${files}</config>`;
    await asks(method('CreateVM_Task', `${THIS('Folder', folder)}${config}<pool type="ResourcePool">${pool}</pool>`));
    const created = await until('the VM', () => createdOf('dated').catch(() => undefined));
    assert.ok(Math.abs(Date.parse(created) - began) < 60_000, created);

    const { moref } = await board.find('/DC0/vm/dated');
    const change = `<spec>${past}<annotation>changed</annotation></spec>`;
    await asks(method('ReconfigVM_Task', `${THIS('VirtualMachine', moref)}${change}`));
    await until('the change', async () => (await board.vms())[0]?.annotation === 'changed');
    assert.equal(await createdOf('dated'), created);

    const spec = `<spec><location/><template>false</template><config>${past}</config><powerOn>false</powerOn></spec>`;
    const into = `<folder type="Folder">${folder}</folder><name>copy</name>`;
    await asks(method('CloneVM_Task', `${THIS('VirtualMachine', moref)}${into}${spec}`));
    const copied = await until('the clone', () => createdOf('copy').catch(() => undefined));
    assert.ok(Date.parse(copied) >= Date.parse(created) && copied !== created, copied);
  });

for (const backend of backends)
  test(`${backend}: OWN-11 the value of a custom attribute with more than 255 characters is refused, cut off at the 255th, or kept, as longCustomValues says`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const { moref } = await board.createVm({ name: 'v', folder: '/DC0/vm' });
    const manager = THIS('CustomFieldsManager');
    const key = value(await client.call(method('AddCustomFieldDef', `${manager}<name>note</name>`)), 'key');
    const set = async (text: string): Promise<string | undefined> => {
      const entity = `<entity type="VirtualMachine">${moref}</entity>`;
      const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
      return fault(
        await client.call(method('SetField', `${manager}${entity}<key>${key}</key><value>${escaped}</value>`)),
      );
    };
    const kept = async (): Promise<string | undefined> => (await board.vms())[0]?.customValues['note'];
    // Characters, not bytes: each of these is three bytes, or an entity.
    const most = '⚓&<'.repeat(85);
    assert.equal(await set(most), undefined);
    assert.equal(await kept(), most);
    assert.equal(await set(`${most}x`), 'InvalidArgument');
    assert.equal(await kept(), most, 'what is refused changes nothing');

    await board.setOptions({ longCustomValues: 'truncate' });
    assert.equal(await set(`>${most}`), undefined);
    assert.equal(await kept(), `>${most}`.slice(0, 255));
    assert.equal(await set('</value> short'), undefined);
    assert.equal(await kept(), '</value> short');

    await board.setOptions({ longCustomValues: 'keep' });
    assert.equal(await set(`${most}${most}`), undefined);
    assert.equal(await kept(), most + most);
  });
