import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends, fault, method, skips, start, THIS, TIME, value } from './testing/simulator.ts';

for (const backend of backends) {
  test(`${backend}: what cannot be done is refused with the name of what is missing`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const client = sim.client();
    assert.equal(fault(await client.call(TIME)), 'NotAuthenticated');
    await client.login();
    const { moref } = await sim.board.createVm({ name: 'v', folder: '/DC0/vm' });
    const unknown = await client.call(
      method('PowerOnVM_Task', THIS('Folder', (await sim.board.find('/DC0/vm')).moref)),
    );
    assert.deepEqual(
      [unknown.status, fault(unknown), value(unknown, 'method')],
      [500, 'MethodNotFound', 'PowerOnVM_Task'],
    );
    const gone = await client.call(method('Rename_Task', `${THIS('VirtualMachine', 'vm-9999')}<newName>x</newName>`));
    assert.deepEqual([fault(gone), value(gone, 'obj')], ['ManagedObjectNotFound', 'vm-9999']);
    const read = (path: string, of: string): string =>
      method(
        'RetrievePropertiesEx',
        `${THIS('PropertyCollector', 'propertyCollector')}<specSet><propSet><type>VirtualMachine</type><pathSet>${path}</pathSet></propSet>` +
          `<objectSet><obj type="VirtualMachine">${of}</obj></objectSet></specSet><options/>`,
      );
    const property = await client.call(read('nonsense', moref));
    assert.match(property.text, /<path>nonsense<\/path>.*"InvalidProperty"/s);
    assert.equal(fault(await client.call(read('name', 'vm-9999'))), 'ManagedObjectNotFound');
    const stale = await client.call(
      method('ContinueRetrievePropertiesEx', `${THIS('PropertyCollector', 'propertyCollector')}<token>none</token>`),
    );
    assert.equal(stale.status, 500);
    assert.equal((await client.call(TIME)).status, 200, 'the session is as it was');
  });

  test(`${backend}: a second login in one session, and one with a wrong password, are refused`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const client = sim.client();
    await client.login();
    assert.equal(fault(await client.login()), 'InvalidLogin');
    const wrong = method('Login', `${THIS('SessionManager')}<userName>sailor</userName><password>no</password>`);
    assert.equal(fault(await sim.client().call(wrong)), 'InvalidLogin');
    const { logins, refused } = await sim.board.sessions();
    assert.deepEqual([logins, refused], [1, 2]);
    assert.equal((await client.call(TIME)).status, 200);
    assert.equal((await client.call(method('Logout', THIS('SessionManager')))).status, 200);
    assert.equal(fault(await client.call(TIME)), 'NotAuthenticated');
  });
}
