import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority } from '../../../sandbox/src/certificate.ts';
import { connectVCenter } from '../connect.ts';
import { isVimError } from '../errors.ts';
import { type SoapServer, startSoapServer } from '../testing/soap-server.ts';
import type { VCenter } from '../vcenter.ts';

const authority = createAuthority('test');
const identity = authority.issueServer(['127.0.0.1']);
const FOLDER = { type: 'Folder', value: 'group-1' };
const ASKED = ['VApp.Import', 'System.View', 'Datastore.AllocateSpace'];

const CONTENT =
  '<returnval><rootFolder type="Folder">group-d1</rootFolder><propertyCollector type="PropertyCollector">pc</propertyCollector>' +
  '<about><apiType>VirtualCenter</apiType></about><sessionManager type="SessionManager">sm</sessionManager>' +
  '<authorizationManager type="AuthorizationManager">am</authorizationManager></returnval>';

function reading(...properties: readonly string[]): string {
  return `<returnval><objects><obj type="SessionManager">sm</obj>${properties.join('')}</objects></returnval>`;
}
const session = (key: string, user: string): string =>
  `<UserSession><key>${key}</key><userName>${user}</userName></UserSession>`;
const CURRENT = '<propSet><name>currentSession</name><val><key>k1</key><userName>D\\u</userName></val></propSet>';

async function connected(): Promise<{ readonly server: SoapServer; readonly vcenter: VCenter } & AsyncDisposable> {
  const server = await startSoapServer(identity);
  server.on('RetrieveServiceContent', CONTENT);
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

test('the sessions of its own user are counted, and of no other', async () => {
  await using rig = await connected();
  const list = `<propSet><name>sessionList</name><val>${session('k1', 'D\\u')}${session('k2', 'D\\u')}${session('k3', 'other')}</val></propSet>`;
  rig.server.on('RetrievePropertiesEx', reading(CURRENT, list));
  assert.deepEqual(await rig.vcenter.sessions(), { user: 'D\\u', count: 2 });
});

test('a user who may not list sessions still learns who it is', async () => {
  await using rig = await connected();
  const refused =
    '<missingSet><path>sessionList</path><fault><fault x:type="NoPermission"><privilegeId>Sessions.TerminateSession</privilegeId></fault><localizedMessage/></fault></missingSet>';
  rig.server.on('RetrievePropertiesEx', reading(CURRENT, refused));
  assert.deepEqual(await rig.vcenter.sessions(), { user: 'D\\u' });
});

test('missing privileges come from the session, or from the user where the server cannot say', async () => {
  await using rig = await connected();
  rig.server.on('RetrievePropertiesEx', reading(CURRENT));
  const availability = (id: string, granted: boolean): string =>
    `<privAvailability><privId>${id}</privId><isGranted>${granted}</isGranted></privAvailability>`;
  rig.server.on('HasPrivilegeOnEntities', ({ body }) => {
    assert.match(body, /<sessionId>k1<\/sessionId>/);
    return `<returnval><entity type="Folder">group-1</entity>${availability('VApp.Import', false)}${availability('System.View', true)}</returnval>`;
  });
  // What the server does not mention is not granted.
  assert.deepEqual(await rig.vcenter.missingPrivileges(FOLDER, ASKED), ['VApp.Import', 'Datastore.AllocateSpace']);
  rig.server.on('HasPrivilegeOnEntities', { fault: 'NotSupported' });
  rig.server.on(
    'FetchUserPrivilegeOnEntities',
    '<returnval><entity type="Folder">group-1</entity><privileges>VApp.Import</privileges><privileges>System.View</privileges></returnval>',
  );
  assert.deepEqual(await rig.vcenter.missingPrivileges(FOLDER, ASKED), ['Datastore.AllocateSpace']);
  rig.server.on('HasPrivilegeOnEntities', { fault: 'ManagedObjectNotFound' });
  await assert.rejects(rig.vcenter.missingPrivileges(FOLDER, ASKED), (error) => isVimError(error, 'VIM_GONE'));
});
