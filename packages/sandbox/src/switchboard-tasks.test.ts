import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends, ended, fault, method, skips, start, THIS, value } from './testing/simulator.ts';

for (const backend of backends)
  test(`${backend}: tasks run as long as a rule says, and renames and clones behave as in vCenter`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    await board.createFolder('/DC0/vm/images');
    const { moref } = await board.createVm({
      ...{ name: 'old', folder: '/DC0/vm/images', template: true, extraConfig: { mark: 'm' }, productVersion: '9.6' },
    });
    const worker = await board.cloneVm({ template: moref, name: 'worker', powerOn: true });
    const [template, clone] = await board.vms();
    assert.deepEqual([template?.productVersion, clone?.moref, clone?.power], ['9.6', worker.moref, 'poweredOn']);
    assert.equal(clone?.extraConfig['mark'], 'm');
    assert.notEqual(clone?.instanceUuid, template?.instanceUuid);

    const rename = (name: string): string =>
      method('Rename_Task', `${THIS('VirtualMachine', moref)}<newName>${name}</newName>`);
    assert.equal(fault(await client.call(rename(''))), 'InvalidName');
    const taken = await ended(client, value(await client.call(rename('worker')), 'returnval'));
    assert.match(taken.text, /type="DuplicateName"/);

    await using busy = await board.rule({ on: 'Rename_Task', do: 'task', hold: true, work: 'last', times: 1 });
    const task = value(await client.call(rename('new')), 'returnval');
    await busy.held();
    assert.deepEqual((await board.vms())[0]?.tasks, ['VirtualMachine.rename']);
    assert.equal((await board.templates())[0]?.name, 'old');
    await busy.release();
    assert.equal(value(await ended(client, task), 'state'), 'success');
    assert.equal((await board.templates())[0]?.name, 'new');

    await using _failing = await board.rule({
      on: 'Rename_Task',
      do: 'task',
      times: 1,
      fault: { name: 'ResourceInUse' },
    });
    const failed = await ended(client, value(await client.call(rename('newer')), 'returnval'));
    assert.match(failed.text, /type="ResourceInUse"/);
  });

for (const backend of backends)
  test(`${backend}: while a clone runs, its template is busy and cannot be destroyed; a task may be ended with a fault`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const { moref } = await board.createVm({ name: 'source', folder: '/DC0/vm', template: true });
    const destroy = method('Destroy_Task', THIS('VirtualMachine', moref));
    {
      await using cloning = await board.startTask('/DC0/vm/source');
      assert.deepEqual((await board.vms())[0]?.tasks, ['VirtualMachine.clone']);
      const refused = await client.call(destroy);
      assert.deepEqual([fault(refused), value(refused, 'task')], ['TaskInProgress', cloning.id]);
    }
    const failing = await board.startTask(moref, 'ReconfigVM_Task');
    await failing.end({ name: 'ConcurrentAccess' });
    await failing.end();
    assert.match((await ended(client, failing.id)).text, /type="ConcurrentAccess"/);
    assert.deepEqual((await board.vms())[0]?.tasks, []);
    assert.equal(value(await ended(client, value(await client.call(destroy), 'returnval')), 'state'), 'success');
    assert.deepEqual(await board.vms(), []);
  });
