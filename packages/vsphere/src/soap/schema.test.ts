import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VimError } from '../errors.ts';
import { element, reference } from '../xml/xml.ts';
import { writeXml } from '../xml/xml-writer.ts';
import { data, type Fields, methodBody } from './schema.ts';
import { envelope } from './soap.ts';

const POOL = { type: 'ResourcePool', value: 'resgroup-1' };
const VM = { type: 'VirtualMachine', value: 'vm-1' };
const FOLDER = { type: 'Folder', value: 'group-1' };

const written = (method: string, fields: Fields): string =>
  methodBody(method, fields)
    .map((node) => (typeof node === 'string' ? node : writeXml(node, 'urn:vim25')))
    .join('');

for (const [method, fields, golden] of [
  [
    'Login',
    { locale: 'en_US', password: 'p', userName: 'u' },
    '<userName>u</userName><password>p</password><locale>en_US</locale>',
  ],
  [
    'FindByUuid',
    { instanceUuid: true, uuid: 'x', vmSearch: true },
    '<uuid>x</uuid><vmSearch>true</vmSearch><instanceUuid>true</instanceUuid>',
  ],
  ['Rename_Task', { newName: 'a%2fb' }, '<newName>a%2fb</newName>'],
  [
    'SetField',
    { value: 'v', key: 101, entity: VM },
    '<entity type="VirtualMachine">vm-1</entity><key>101</key><value>v</value>',
  ],
  ['AddCustomFieldDef', { moType: 'VirtualMachine', name: 'n' }, '<name>n</name><moType>VirtualMachine</moType>'],
  [
    'RetrievePropertiesEx',
    {
      options: data('RetrieveOptions', { maxObjects: 100 }),
      specSet: data('PropertyFilterSpec', {
        reportMissingObjectsInResults: true,
        objectSet: [
          data('ObjectSpec', {
            selectSet: data(
              'TraversalSpec',
              { skip: false, path: 'childEntity', type: 'Folder', name: 'n' },
              { concrete: true },
            ),
            skip: true,
            obj: FOLDER,
          }),
        ],
        propSet: data('PropertySpec', { pathSet: ['name', 'parent'], all: false, type: 'VirtualMachine' }),
      }),
    },
    '<specSet><propSet><type>VirtualMachine</type><all>false</all><pathSet>name</pathSet><pathSet>parent</pathSet></propSet>' +
      '<objectSet><obj type="Folder">group-1</obj><skip>true</skip><selectSet xsi:type="TraversalSpec"><name>n</name><type>Folder</type><path>childEntity</path><skip>false</skip></selectSet></objectSet>' +
      '<reportMissingObjectsInResults>true</reportMissingObjectsInResults></specSet><options><maxObjects>100</maxObjects></options>',
  ],
  [
    'ReconfigVM_Task',
    {
      spec: data('VirtualMachineConfigSpec', {
        firmware: 'efi',
        bootOptions: data('VirtualMachineBootOptions', { efiSecureBootEnabled: true }),
        annotation: 'a',
        instanceUuid: 'i',
        name: 'n',
      }),
    },
    '<spec><name>n</name><instanceUuid>i</instanceUuid><annotation>a</annotation><bootOptions><efiSecureBootEnabled>true</efiSecureBootEnabled></bootOptions><firmware>efi</firmware></spec>',
  ],
  [
    'CreateImportSpec',
    {
      cisp: data('OvfCreateImportSpecParams', {
        diskProvisioning: 'thin',
        networkMapping: data('OvfNetworkMapping', { network: { type: 'Network', value: 'n-1' }, name: 'nat' }),
        entityName: 'e',
        deploymentOption: '',
        locale: 'US',
      }),
      datastore: { type: 'Datastore', value: 'ds-1' },
      resourcePool: POOL,
      ovfDescriptor: '<Envelope/>',
    },
    '<ovfDescriptor>&lt;Envelope/&gt;</ovfDescriptor><resourcePool type="ResourcePool">resgroup-1</resourcePool><datastore type="Datastore">ds-1</datastore>' +
      '<cisp><locale>US</locale><deploymentOption/><entityName>e</entityName><networkMapping><name>nat</name><network type="Network">n-1</network></networkMapping><diskProvisioning>thin</diskProvisioning></cisp>',
  ],
  [
    'CreateFilter',
    { partialUpdates: false, spec: data('PropertyFilterSpec', {}) },
    '<spec/><partialUpdates>false</partialUpdates>',
  ],
  [
    'WaitForUpdatesEx',
    { options: data('WaitOptions', { maxObjectUpdates: 100, maxWaitSeconds: 300 }), version: '' },
    '<version/><options><maxWaitSeconds>300</maxWaitSeconds><maxObjectUpdates>100</maxObjectUpdates></options>',
  ],
] as const) {
  test(`VS-W86 ${method} is written in schema order, whatever order it is given in`, () => {
    assert.equal(written(method, fields), golden);
  });
}

test('VS-W86 an envelope is complete, with _this first', () => {
  assert.equal(
    envelope('ImportVApp', POOL, [element('spec'), reference('folder', FOLDER)], 'op-1'),
    '<?xml version="1.0" encoding="UTF-8"?>\n<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
      '<soapenv:Header><operationID>op-1</operationID></soapenv:Header><soapenv:Body><ImportVApp xmlns="urn:vim25"><_this type="ResourcePool">resgroup-1</_this><spec/><folder type="Folder">group-1</folder></ImportVApp></soapenv:Body></soapenv:Envelope>',
  );
});

test('VS-W86 what is out of order or unknown is refused before it is sent', () => {
  const refused = (build: () => unknown): void =>
    assert.throws(build, (error) => error instanceof VimError && error.code === 'VIM_REFUSED');
  refused(() => envelope('ImportVApp', POOL, [reference('folder', FOLDER), element('spec')], 'op'));
  refused(() => envelope('ImportVApp', POOL, [element('specs')], 'op'));
  refused(() => envelope('NoSuchMethod', POOL, [], 'op'));
  refused(() => data('VirtualMachineConfigSpec', { instanceUUID: 'x' }));
});
