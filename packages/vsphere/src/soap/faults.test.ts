import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VimError } from '../errors.ts';
import { SOAP_NS, VIM_NS, XSI_NS } from '../xml/xml.ts';
import { parseXml } from '../xml/xml-tree.ts';
import { readLocalizedFault } from './faults.ts';
import { readResponse } from './soap.ts';

const VM = { type: 'VirtualMachine', value: 'vm-1' };

function faultOf(detail: string): VimError {
  const document = parseXml(
    `<s:Envelope xmlns:s="${SOAP_NS}" xmlns:x="${XSI_NS}"><s:Body><s:Fault><faultcode>ServerFaultCode</faultcode><faultstring/>${detail}</s:Fault></s:Body></s:Envelope>`,
  );
  try {
    readResponse(document, 'Rename_Task', VM, 'op-1');
  } catch (error) {
    assert.ok(error instanceof VimError);
    return error;
  }
  return assert.fail('no fault was thrown');
}

for (const [name, fields, code] of [
  ['InvalidLogin', '', 'VIM_LOGIN_REFUSED'],
  [
    'NotAuthenticated',
    '<object type="Folder">group-1</object><privilegeId>System.View</privilegeId>',
    'VIM_NOT_AUTHENTICATED',
  ],
  ['ManagedObjectNotFound', '<obj type="VirtualMachine">vm-1</obj>', 'VIM_GONE'],
  ['DuplicateName', '<name>x</name><object type="VirtualMachine">vm-2</object>', 'VIM_NAME_TAKEN'],
] as const) {
  test(`VS-W76 ${name} decodes to its name and fields with an empty faultstring`, () => {
    const error = faultOf(`<detail><${name}Fault xmlns="${VIM_NS}" x:type="${name}">${fields}</${name}Fault></detail>`);
    assert.equal(error.kind, 'fault');
    assert.equal(error.code, code);
    assert.equal(error.fault?.name, name);
    assert.equal(error.fault?.message, '');
    assert.match(error.message, /Rename_Task \(op-1\): VirtualMachine:vm-1/);
    // Without xsi:type the name is the element's, less its final "Fault".
    assert.equal(
      faultOf(`<detail><${name}Fault xmlns="${VIM_NS}">${fields}</${name}Fault></detail>`).fault?.name,
      name,
    );
  });
}

test('VS-W76 fields and references of a fault can be read', () => {
  const { fault } = faultOf(
    `<detail><DuplicateNameFault xmlns="${VIM_NS}" x:type="DuplicateName"><name>x</name><object type="VirtualMachine">vm-2</object></DuplicateNameFault></detail>`,
  );
  assert.equal(fault?.field('name'), 'x');
  assert.deepEqual(fault?.reference('object'), { type: 'VirtualMachine', value: 'vm-2' });
  assert.equal(fault?.field('absent'), undefined);
});

test('VS-W76 the chain by faultCause is walked; only the outer name is the fault itself', () => {
  const { fault } = faultOf(
    `<detail><SystemErrorFault xmlns="${VIM_NS}" x:type="SystemError"><faultCause><fault x:type="FileFault"><faultCause><fault x:type="NotAuthenticated"/><localizedMessage>why</localizedMessage></faultCause>` +
      '<file>[ds] a.vmdk</file></fault><localizedMessage/></faultCause></SystemErrorFault></detail>',
  );
  assert.ok(fault);
  assert.ok(fault.has('NotAuthenticated') && fault.has('FileFault') && fault.has('SystemError'));
  assert.ok(!fault.is('FileFault') && !fault.has('NoPermission'));
  assert.equal(fault.cause?.field('file'), '[ds] a.vmdk');
  assert.equal(fault.cause?.cause?.message, 'why');
});

test('VS-W87 an unknown fault keeps its name and its fields', () => {
  const { fault, code } = faultOf(
    `<detail><QuantumFlux xmlns="${VIM_NS}" x:type="QuantumFlux"><phase>7</phase></QuantumFlux></detail>`,
  );
  assert.equal(fault?.name, 'QuantumFlux');
  assert.equal(code, 'VIM_FAULT');
  assert.equal(fault?.field('phase'), '7');
});

test('a fault without detail is InvalidRequest', () => {
  assert.equal(faultOf('').fault?.name, 'InvalidRequest');
});

test('a task error is read like a method fault', () => {
  const xml = parseXml(
    `<error xmlns="${VIM_NS}" xmlns:x="${XSI_NS}"><fault x:type="DuplicateName"><name>x</name></fault><localizedMessage>*types.DuplicateName</localizedMessage></error>`,
  );
  assert.equal(readLocalizedFault(xml)?.name, 'DuplicateName');
});

test('a chain of thousands of causes is cut, not followed', () => {
  const deep = 60;
  const { fault } = faultOf(
    `<detail><A xmlns="${VIM_NS}" x:type="A">${'<faultCause><fault x:type="A">'.repeat(deep)}${'</fault></faultCause>'.repeat(deep)}</A></detail>`,
  );
  let length = 0;
  for (let at = fault; at !== undefined; at = at.cause) length++;
  assert.ok(length <= 20, `${length}`);
});
