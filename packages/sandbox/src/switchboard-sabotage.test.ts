import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends, fault, method, skips, start, THIS, value } from './testing/simulator.ts';

for (const backend of backends)
  test(`${backend}: a linked clone hangs from the disks of its template, a full one from nothing; snapshots have names`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const folder = '/DC0/vm/images';
    await board.createFolder(folder);
    await board.createVm({ name: 'template', folder, disks: 2, template: true });
    const template = `${folder}/template`;
    await board.cloneVm({ template, name: 'full' });
    await board.cloneVm({ template, name: 'linked', linked: true });
    await board.cloneVm({ template, name: 'away', folder: '/DC0/vm', linked: true });
    await board.snapshotVm(template, 'before the update');

    const vms = await board.vms({ folder });
    assert.deepEqual(
      vms.map(({ name }) => name),
      ['template', 'full', 'linked'],
    );
    const [base, full, linked] = vms;
    const files = base?.disks.map(({ file }) => file) ?? [];
    assert.equal(new Set(files).size, 2);
    assert.deepEqual(
      base?.disks.map(({ capacityKB, thin, parents }) => [capacityKB, thin, parents]),
      [
        [1024, true, []],
        [1024, true, []],
      ],
    );
    assert.deepEqual(
      full?.disks.map(({ parents }) => parents),
      [[], []],
    );
    assert.deepEqual(
      linked?.disks.map(({ parents }) => parents),
      files.map((file) => [file]),
    );
    assert.ok(linked?.disks.every(({ file }) => !files.includes(file)));
    assert.deepEqual(base?.snapshots, ['before the update']);
    const [away] = await board.vms({ folder: '/DC0/vm' });
    assert.deepEqual([away?.name, away?.disks[0]?.parents], ['away', [files[0]]]);

    await board.createVm({ name: 'empty', folder });
    await assert.rejects(board.cloneVm({ template: `${folder}/empty`, name: 'x', linked: true }), {
      code: 'BadInput',
      message: /no disk to link to/,
    });
  });

for (const backend of backends)
  test(`${backend}: one name in two folders, with marks of two owners; a second actor edits and marks a template`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    for (const owner of ['ours', 'theirs']) {
      await board.createFolder(`/DC0/vm/${owner}`);
      await board.createVm({
        ...{ name: 'rhcos', folder: `/DC0/vm/${owner}`, template: true },
        extraConfig: { 'mark.owner': owner },
      });
    }
    await board.setCustomValue('/DC0/vm/theirs/rhcos', 'mark', 'retired');
    const seen = (await board.templates()).map(({ name, folder, extraConfig, customValues }) => [
      ...[name, folder, extraConfig['mark.owner'], customValues],
    ]);
    assert.deepEqual(seen, [
      ['rhcos', '/DC0/vm/ours', 'ours', {}],
      ['rhcos', '/DC0/vm/theirs', 'theirs', { mark: 'retired' }],
    ]);
  });

for (const backend of backends)
  test(`${backend}: a datastore says what it is told: free space, reachability, maintenance`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    await board.changeDatastore('LocalDS_0', { freeSpace: 4096, accessible: false, maintenanceMode: 'inMaintenance' });
    const [datastore] = await board.datastores();
    assert.deepEqual(
      [datastore?.name, datastore?.freeSpace, datastore?.accessible ?? false, datastore?.maintenanceMode],
      ['LocalDS_0', 4096, false, 'inMaintenance'],
    );
    const read = await client.call(
      method(
        'RetrievePropertiesEx',
        `${THIS('PropertyCollector', 'propertyCollector')}<specSet><propSet><type>Datastore</type><pathSet>summary</pathSet>` +
          `</propSet><objectSet><obj type="Datastore">${datastore?.moref}</obj></objectSet></specSet><options/>`,
      ),
    );
    assert.deepEqual([value(read, 'freeSpace'), value(read, 'accessible')], ['4096', 'false']);
    await assert.rejects(board.changeDatastore('nowhere', {}), { code: 'BadInput', message: /no Datastore nowhere/ });
  });

for (const backend of backends)
  test(`${backend}: a denied privilege is named by the calls that need it, SOAP and REST, and nothing is done`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const { moref } = await board.createVm({ name: 'v', folder: '/DC0/vm' });
    const calls = [
      ['VirtualMachine.Config.Rename', method('Rename_Task', `${THIS('VirtualMachine', moref)}<newName>w</newName>`)],
      ['VirtualMachine.Inventory.Delete', method('Destroy_Task', THIS('VirtualMachine', moref))],
      ['VirtualMachine.Provisioning.MarkAsTemplate', method('MarkAsTemplate', THIS('VirtualMachine', moref))],
    ] as const;
    await board.denyPrivileges([...calls.map(([privilege]) => privilege), 'InventoryService.Tagging.AttachTag']);
    await using _busy = await board.rule({ on: 'Rename_Task', do: 'task', delayMs: 1 });
    for (const [privilege, body] of calls) {
      const answer = await client.call(body);
      assert.deepEqual(
        [fault(answer), value(answer, 'privilegeId'), value(answer, 'object')],
        ['NoPermission', privilege, moref],
      );
    }
    const id = await board.createTag({ category: 'c', name: 't' });
    const attach = await sim.rest('POST', `/rest/com/vmware/cis/tagging/tag-association/id:${id}?~action=attach`, {
      object_id: { type: 'VirtualMachine', id: moref },
    });
    assert.equal(attach.status, 403);
    assert.match(attach.text, /std\.errors\.unauthorized.*InventoryService\.Tagging\.AttachTag/);
    const [vm] = await board.vms();
    assert.deepEqual([vm?.name, vm?.isTemplate, vm?.tags], ['v', false, []]);

    await board.denyPrivileges([]);
    for (const [, body] of calls.slice(2)) assert.equal((await client.call(body)).status, 200);
  });
