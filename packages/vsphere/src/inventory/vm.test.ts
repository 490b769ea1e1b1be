import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority } from '@drydock/sandbox';
import { connectVCenter } from '../connect.ts';
import { isVimError } from '../errors.ts';
import { type Reply, type SoapServer, startSoapServer } from '../testing/soap-server.ts';
import type { VCenter } from '../vcenter.ts';

const authority = createAuthority('test');
const identity = authority.issueServer(['127.0.0.1']);
const VM = { type: 'VirtualMachine', value: 'vm-1' };
const TASK: Reply = '<returnval type="Task">task-1</returnval>';

function client(server: SoapServer): VCenter {
  return connectVCenter({
    url: server.url,
    env: {},
    tls: { ca: authority.certificate },
    credentials: async () => ({ user: 'u', password: 'p' }),
  });
}

/** One machine as RetrievePropertiesEx shows it; a task by its info. */
function inventory(server: SoapServer, state: { vm?: { name: string; template?: boolean }; task?: string }): void {
  const property = (name: string, value: string): string =>
    `<propSet><name>${name}</name><val>${value}</val></propSet>`;
  server.on('RetrievePropertiesEx', (call) => {
    if (call.body.includes('>task-1<')) {
      return state.task === undefined
        ? ''
        : `<returnval><objects><obj type="Task">task-1</obj>${property('info', state.task)}</objects></returnval>`;
    }
    if (state.vm === undefined)
      return { fault: 'ManagedObjectNotFound', fields: '<obj type="VirtualMachine">vm-1</obj>' };
    const { name, template = false } = state.vm;
    return `<returnval><objects><obj type="VirtualMachine">vm-1</obj>${property('name', name)}${property('config.template', String(template))}</objects></returnval>`;
  });
}

const failed = (fault: string, fields = ''): string =>
  `<state>error</state><error><fault x:type="${fault}">${fields}</fault><localizedMessage/></error>`;

for (const [what, task] of [
  ['DuplicateName', failed('DuplicateName', '<name>new</name>')],
  ['InvalidArgument of the name', failed('InvalidArgument', '<invalidProperty>name</invalidProperty>')],
] as const) {
  test(`a rename that ends in ${what} is one outcome, unless the machine bears the name`, async () => {
    await using server = await startSoapServer(identity);
    await using vcenter = client(server);
    server.on('Rename_Task', TASK);
    inventory(server, { vm: { name: 'old' }, task });
    await assert.rejects(vcenter.rename(VM, 'new'), (error) => isVimError(error, 'VIM_NAME_TAKEN'));
    inventory(server, { vm: { name: 'new' }, task });
    await vcenter.rename(VM, 'new');
  });
}

test('a rename whose answer was lost is decided by the name that the machine bears then', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  server.on('Rename_Task', { act: 'reset' });
  inventory(server, { vm: { name: 'new' } });
  await vcenter.rename(VM, 'new');
  inventory(server, { vm: { name: 'old' } });
  await assert.rejects(
    vcenter.rename(VM, 'new'),
    (error) => isVimError(error) && error.retriable && error.kind === 'transport',
  );
  assert.equal(server.calls.filter(({ method }) => method === 'Rename_Task').length, 2, 'it was never sent twice');
});

test('OWN-21 a rename whose answer was lost is judged when nothing runs on the machine any more, not while it is being renamed', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  server.on('Rename_Task', { act: 'reset' });
  let looks = 0;
  const property = (name: string, value: string): string =>
    `<propSet><name>${name}</name><val>${value}</val></propSet>`;
  server.on('RetrievePropertiesEx', ({ body }) => {
    const ended = looks > 1;
    if (body.includes('>task-7<')) {
      const state = ended ? 'success' : 'running';
      const info = `${property('info.state', state)}${property('info', `<state>success</state>`)}`;
      return `<returnval><objects><obj type="Task">task-7</obj>${info}</objects></returnval>`;
    }
    looks += 1;
    const task =
      '<propSet><name>recentTask</name><val><ManagedObjectReference type="Task">task-7</ManagedObjectReference></val></propSet>';
    const name = property('name', looks > 1 ? 'new' : 'old');
    return `<returnval><objects><obj type="VirtualMachine">vm-1</obj>${name}${property('config.template', 'true')}${task}</objects></returnval>`;
  });
  await vcenter.rename(VM, 'new');
  assert.equal(looks, 2, 'it looked again after the task');
});

test('a task that vanished while it was waited for is decided by a look', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  server.on('Rename_Task', TASK);
  inventory(server, { vm: { name: 'new' } });
  await vcenter.rename(VM, 'new');
});

test('a look that fails, too, leaves the outcome unknown', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  server.on('Rename_Task', { act: 'reset' });
  server.on('RetrievePropertiesEx', { act: 'reset' });
  await assert.rejects(
    vcenter.rename(VM, 'new'),
    (error) => isVimError(error, 'VIM_UNKNOWN_OUTCOME') && error.retriable,
  );
});

test('a destroy whose answer was lost has succeeded when the machine is gone, and one of a gone machine, too', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  inventory(server, {});
  server.on('Destroy_Task', { act: 'reset' });
  await vcenter.destroy(VM);
  server.on('Destroy_Task', { fault: 'ManagedObjectNotFound', fields: '<obj type="VirtualMachine">vm-1</obj>' });
  await vcenter.destroy(VM);
  inventory(server, { vm: { name: 'here' } });
  server.on('Destroy_Task', { act: 'reset' });
  await assert.rejects(vcenter.destroy(VM), (error) => isVimError(error) && error.retriable);
});

test('destroy refuses anything but a machine before it calls the server', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  await assert.rejects(vcenter.destroy({ type: 'Folder', value: 'group-1' }), (error) =>
    isVimError(error, 'VIM_REFUSED'),
  );
  assert.equal(server.calls.length, 0);
});

test('marking is decided by config.template when the answer was lost or the machine was marked already', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  inventory(server, { vm: { name: 'a', template: true } });
  server.on('MarkAsTemplate', { act: 'reset' });
  await vcenter.markAsTemplate(VM);
  server.on('MarkAsTemplate', { fault: 'NotSupported' });
  await vcenter.markAsTemplate(VM);
  inventory(server, { vm: { name: 'a' } });
  await assert.rejects(vcenter.markAsTemplate(VM), (error) => isVimError(error, 'VIM_FAULT'));
});

test('an empty or over-long name is refused before it is sent', async () => {
  await using server = await startSoapServer(identity);
  await using vcenter = client(server);
  for (const name of ['', 'x'.repeat(81)]) {
    await assert.rejects(vcenter.rename(VM, name), (error) => isVimError(error, 'VIM_INVALID_NAME'));
  }
  assert.equal(server.calls.length, 0);
});
