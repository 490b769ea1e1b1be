import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority } from '../../../sandbox/src/certificate.ts';
import { connectVCenter } from '../connect.ts';
import { isVimError } from '../errors.ts';
import { type SoapServer, startSoapServer } from '../testing/soap-server.ts';
import type { VCenter } from '../vcenter.ts';

const authority = createAuthority('test');
const identity = authority.issueServer(['127.0.0.1']);

const CONTENT =
  '<returnval><rootFolder type="Folder">group-d1</rootFolder><propertyCollector type="PropertyCollector">pc</propertyCollector>' +
  '<viewManager type="ViewManager">vm</viewManager><about/><sessionManager type="SessionManager">sm</sessionManager></returnval>';

async function connected(): Promise<{ readonly server: SoapServer; readonly vcenter: VCenter } & AsyncDisposable> {
  const server = await startSoapServer(identity);
  server.on('RetrieveServiceContent', CONTENT);
  let views = 0;
  server.on('CreateContainerView', () => `<returnval type="ContainerView">view-${++views}</returnval>`);
  const vcenter = connectVCenter({
    url: server.url,
    env: {},
    tls: { ca: authority.certificate },
    credentials: async () => ({ user: 'u', password: 'sesame' }),
  });
  return {
    server,
    vcenter,
    async [Symbol.asyncDispose]() {
      await vcenter[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const entity = (type: string, id: string, name: string, parent: string): string =>
  `<objects><obj type="${type}">${id}</obj><propSet><name>name</name><val>${name}</val></propSet>` +
  `<propSet><name>parent</name><val type="${parent.split(':')[0] ?? ''}">${parent.split(':')[1] ?? ''}</val></propSet></objects>`;

const ESTATE = `<returnval>${[
  entity('Folder', 'group-d2', 'Europe', 'Folder:group-d1'),
  entity('Datacenter', 'dc-1', 'a%2fb', 'Folder:group-d2'),
  entity('Folder', 'group-v', 'vm', 'Datacenter:dc-1'),
  entity('Folder', 'group-h', 'host', 'Datacenter:dc-1'),
  entity('Folder', 'group-v2', 'vm', 'Folder:group-h'),
  entity('ClusterComputeResource', 'c-1', 'C0', 'Folder:group-h'),
  entity('DistributedVirtualPortgroup', 'n-1', 'Net', 'Datacenter:dc-1'),
  entity('VmwareDistributedVirtualSwitch', 's-1', 'Switch', 'Datacenter:dc-1'),
].join('')}</returnval>`;

const destroyed = (server: SoapServer): number => server.calls.filter(({ method }) => method === 'DestroyView').length;

test('places have their paths through folders of datacenters, escaped as they are found, and folders are those of machines', async () => {
  await using rig = await connected();
  rig.server.on('RetrievePropertiesEx', ESTATE);
  assert.deepEqual(
    (await rig.vcenter.places()).map(({ kind, name, path }) => `${kind} ${name} ${path}`),
    [
      'datacenter a/b /Europe/a%2fb',
      'network Net /Europe/a%2fb/Net',
      'cluster C0 /Europe/a%2fb/host/C0',
      'folder vm /Europe/a%2fb/vm',
    ],
  );
  assert.equal(destroyed(rig.server), 1);
});

test('a view that went with its session is made once more, and each one is given back', async () => {
  await using rig = await connected();
  let reads = 0;
  rig.server.on('RetrievePropertiesEx', () =>
    ++reads === 1 ? { fault: 'ManagedObjectNotFound', fields: '<obj type="ContainerView">view-1</obj>' } : ESTATE,
  );
  assert.equal((await rig.vcenter.places()).length, 4);
  assert.equal(destroyed(rig.server), 2);
  rig.server.on('RetrievePropertiesEx', {
    fault: 'ManagedObjectNotFound',
    fields: '<obj type="ContainerView">v</obj>',
  });
  await assert.rejects(rig.vcenter.places(), (error) => isVimError(error, 'VIM_GONE'));
});
