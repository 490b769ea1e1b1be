import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVimError } from '../errors.ts';
import { scriptedCaller } from '../testing/scripted-caller.ts';
import type { ImportRequest } from '../vcenter.ts';
import { parseXml } from '../xml/xml-tree.ts';
import { writeXml } from '../xml/xml-writer.ts';
import { createImportSpec, markSpec, startImport } from './import.ts';

const request: ImportRequest = {
  descriptor: '<Envelope a="1">&amp;</Envelope>',
  name: 'R&D-1',
  resourcePool: { type: 'ResourcePool', value: 'resgroup-1' },
  datastore: { type: 'Datastore', value: 'datastore-1' },
  folder: { type: 'Folder', value: 'group-v1' },
  host: { type: 'HostSystem', value: 'host-1' },
  networks: new Map([['VM Network', { type: 'Network', value: 'network-1' }]]),
  diskProvisioning: 'thin',
  instanceUuid: 'uuid-1',
  extraConfig: new Map([['drydock', 'a<b']]),
};

const SPEC =
  '<importSpec xsi:type="VirtualMachineImportSpec"><entityConfig/><configSpec><name>R&amp;D-1</name><version>vmx-15</version>' +
  '<guestId>rhel9_64Guest</guestId><fieldOfTomorrow xmlns:v="urn:vendor" v:a="1">x</fieldOfTomorrow>' +
  '<deviceChange xsi:type="VirtualDeviceConfigSpec"><operation>add</operation></deviceChange>' +
  '<extraConfig xsi:type="OptionValue"><key>nvram</key><value xsi:type="xsd:string" xmlns:xsd="http://www.w3.org/2001/XMLSchema">n</value></extraConfig>' +
  '<bootOptions><efiSecureBootEnabled>true</efiSecureBootEnabled></bootOptions><firmware>efi</firmware></configSpec><resPoolEntity type="ResourcePool">resgroup-1</resPoolEntity></importSpec>';
const RESULT = `<returnval>${SPEC}<fileItem><deviceId>/R&amp;D-1/disk:0</deviceId><path>disk.vmdk</path><size>7</size><cimType>17</cimType><create>false</create></fileItem></returnval>`;

test('VS-W86 CreateImportSpec has the order of the schema', async () => {
  const caller = scriptedCaller({ answer: () => RESULT });
  const made = await createImportSpec(caller, request);
  assert.deepEqual(made.items, [{ deviceId: '/R&D-1/disk:0', path: 'disk.vmdk', size: 7, create: false }]);
  assert.equal(
    caller.calls[0]?.body,
    '<ovfDescriptor>&lt;Envelope a="1"&gt;&amp;amp;&lt;/Envelope&gt;</ovfDescriptor><resourcePool type="ResourcePool">resgroup-1</resourcePool>' +
      '<datastore type="Datastore">datastore-1</datastore><cisp><locale>US</locale><deploymentOption/><entityName>R&amp;D-1</entityName>' +
      '<hostSystem type="HostSystem">host-1</hostSystem><networkMapping><name>VM Network</name><network type="Network">network-1</network></networkMapping>' +
      '<diskProvisioning>thin</diskProvisioning></cisp>',
  );
});

test('VS-W86 VS-W88 ImportVApp echoes the spec with unknown fields, ours at the place of the schema', async () => {
  const caller = scriptedCaller({
    answer: ({ method }) => {
      if (method === 'CreateImportSpec') return RESULT;
      if (method === 'ImportVApp') return '<returnval type="HttpNfcLease">lease-1</returnval>';
      return '';
    },
    properties: () => ({
      state: 'error',
      error: '<fault xsi:type="FileAlreadyExists"><file>f</file></fault><localizedMessage/>',
    }),
  });
  await assert.rejects(
    startImport(caller, request),
    (error) => isVimError(error) && error.fault?.name === 'FileAlreadyExists',
  );
  const sent = caller.calls.find((call) => call.method === 'ImportVApp');
  assert.equal(
    sent?.body,
    '<spec xsi:type="VirtualMachineImportSpec"><entityConfig/><configSpec><name>R&amp;D-1</name><version>vmx-15</version><instanceUuid>uuid-1</instanceUuid>' +
      '<guestId>rhel9_64Guest</guestId><fieldOfTomorrow xmlns:n2="urn:vendor" n2:a="1">x</fieldOfTomorrow>' +
      '<deviceChange xsi:type="VirtualDeviceConfigSpec"><operation>add</operation></deviceChange>' +
      '<extraConfig xsi:type="OptionValue"><key>nvram</key><value xsi:type="xsd:string">n</value></extraConfig>' +
      '<extraConfig xsi:type="OptionValue"><key>drydock</key><value xsi:type="xsd:string">a&lt;b</value></extraConfig>' +
      '<bootOptions><efiSecureBootEnabled>true</efiSecureBootEnabled></bootOptions><firmware>efi</firmware></configSpec>' +
      '<resPoolEntity type="ResourcePool">resgroup-1</resPoolEntity></spec><folder type="Folder">group-v1</folder><host type="HostSystem">host-1</host>',
  );
  // A lease that fails is aborted all the same.
  assert.equal(caller.calls.at(-1)?.method, 'HttpNfcLeaseAbort');
});

test('a mark replaces what the spec says of the same key, and fits into an empty configSpec', () => {
  const spec = (inside: string) =>
    parseXml(`<importSpec xmlns="urn:vim25"><configSpec>${inside}</configSpec></importSpec>`);
  const once = markSpec(spec(''), { instanceUuid: 'one', extraConfig: new Map([['k', '1']]) });
  const twice = markSpec(once, { instanceUuid: 'two', extraConfig: new Map([['k', '2']]) });
  const value = '<value xsi:type="xsd:string">2</value>';
  assert.equal(
    writeXml(twice, 'urn:vim25'),
    `<importSpec><configSpec><instanceUuid>two</instanceUuid><extraConfig xsi:type="OptionValue"><key>k</key>${value}</extraConfig></configSpec></importSpec>`,
  );
});

test('a note stands where the schema has it, before what the descriptor says, and the mark stays as it is', () => {
  const marked = (inside: string) =>
    writeXml(
      markSpec(parseXml(`<importSpec xmlns="urn:vim25"><configSpec>${inside}</configSpec></importSpec>`), {
        instanceUuid: 'u',
        extraConfig: new Map(),
        annotation: 'ours <&>',
      }),
      'urn:vim25',
    );
  const around = (note: string) =>
    `<importSpec><configSpec><name>n</name><instanceUuid>u</instanceUuid><guestId>g</guestId><annotation>${note}</annotation><numCPUs>2</numCPUs></configSpec></importSpec>`;
  assert.equal(marked('<name>n</name><guestId>g</guestId><numCPUs>2</numCPUs>'), around('ours &lt;&amp;&gt;'));
  assert.equal(
    marked('<name>n</name><guestId>g</guestId><annotation>theirs</annotation><numCPUs>2</numCPUs>'),
    around('ours &lt;&amp;&gt;\n\ntheirs'),
  );
});

test('an error of the descriptor is VIM_OVF_REFUSED with the first message, a vApp as well', async () => {
  const error =
    '<error><fault xsi:type="OvfUnsupportedElement"/><localizedMessage>No support for X</localizedMessage></error>';
  const caller = scriptedCaller({ answer: () => `<returnval>${error}</returnval>` });
  await assert.rejects(
    createImportSpec(caller, request),
    (e) => isVimError(e, 'VIM_OVF_REFUSED') && e.message.includes('No support for X'),
  );
  const vapp = parseXml('<importSpec xmlns="urn:vim25"><vAppConfigSpec/></importSpec>');
  assert.throws(
    () => markSpec(vapp, { instanceUuid: 'u', extraConfig: new Map() }),
    (e) => isVimError(e, 'VIM_OVF_REFUSED'),
  );
});
