import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAuthority } from '@drydock/sandbox';
import { connectVCenter } from '../connect.ts';
import { type SoapServer, startSoapServer } from '../testing/soap-server.ts';
import type { VCenter } from '../vcenter.ts';

const VM = { type: 'VirtualMachine', value: 'vm-1' };
const HEALTHY = { 'runtime.connectionState': 'connected' };
const AVAILABLE = { name: 'esx-7', 'runtime.connectionState': 'connected', 'runtime.inMaintenanceMode': 'false' };
const HOST = { 'runtime.host': 'host-9' };
type Properties = Readonly<Record<string, string>>;

const authority = createAuthority('test');
let server: SoapServer;
let vcenter: VCenter;
before(async () => {
  server = await startSoapServer(authority.issueServer(['127.0.0.1']));
  const credentials = async () => ({ user: 'u', password: 'p' });
  vcenter = connectVCenter({ url: server.url, env: {}, tls: { ca: authority.certificate }, credentials });
});
after(async () => {
  await vcenter?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

/** What stands in the way of a rename and a removal of a machine with these properties, on a host with those. */
function between(vm: Properties, host: Properties = {}): Promise<string | undefined> {
  server.on('RetrievePropertiesEx', ({ body }) =>
    body.includes('>vm-1<')
      ? shown('VirtualMachine', 'vm-1', { ...HEALTHY, ...vm })
      : shown('HostSystem', 'host-9', { ...AVAILABLE, ...host }),
  );
  return vcenter.obstacle(VM, ['Rename_Task', 'Destroy_Task']);
}

function shown(type: string, value: string, properties: Properties): string {
  const sets = Object.entries(properties).map(([name, text]) => {
    const attribute = name === 'runtime.host' ? ' type="HostSystem"' : '';
    return `<propSet><name>${name}</name><val${attribute}>${text}</val></propSet>`;
  });
  return `<returnval><objects><obj type="${type}">${value}</obj>${sets.join('')}</objects></returnval>`;
}

const disabled = (...methods: readonly string[]): Properties => ({
  disabledMethod: methods.map((method) => `<string>${method}</string>`).join(''),
});

test('OWN-13 OWN-21 a method that vCenter has disabled on the machine is named as what stands in the way; others do not', async () => {
  assert.equal(await between(disabled('PowerOnVM_Task')), undefined);
  assert.equal(await between(disabled('PowerOnVM_Task', 'Destroy_Task')), 'vCenter has disabled Destroy_Task on it');
  assert.equal(
    await between(disabled('Destroy_Task', 'Rename_Task')),
    'vCenter has disabled Rename_Task and Destroy_Task on it',
  );
});

test('OWN-13 what cannot be reached stands in the way, as does its host where that cannot be reached or is in maintenance', async () => {
  assert.equal(await between({ 'runtime.connectionState': 'inaccessible' }), 'it is inaccessible');
  assert.equal(await between(HOST), undefined);
  assert.equal(await between(HOST, { 'runtime.connectionState': 'notResponding' }), 'its host esx-7 is notResponding');
  assert.equal(await between(HOST, { 'runtime.inMaintenanceMode': 'true' }), 'its host esx-7 is in maintenance mode');
});
