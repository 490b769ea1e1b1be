import type { MoRef } from '../../vcenter.ts';
import { escapeText } from '../../xml/xml-characters.ts';
import { render, type Value } from './vim-values.ts';

/** A fault that the server answers. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly fault: string;
  /** Its fields, as XML. */
  readonly fields: string;
  /** What people are told. */
  readonly text: string;

  constructor(fault: string, fields = '', text = '') {
    super(fault);
    this.fault = fault;
    this.fields = fields;
    this.text = text;
  }
}

/** A fault with fields. */
export function refusal(fault: string, fields: Readonly<Record<string, Value>> = {}, text = ''): Refusal {
  const xml = Object.entries(fields).map(([name, value]) => render(name, value));
  return new Refusal(fault, xml.join(''), text);
}

/** There is no such object. */
export function notFound(ref: MoRef): Refusal {
  return refusal('ManagedObjectNotFound', { obj: ref }, `managed object not found: ${ref.type}:${ref.value}`);
}

/** The caller has no session. */
export function notAuthenticated(): Refusal {
  const object = { type: 'Folder', value: 'group-d1' };
  return refusal('NotAuthenticated', { object, privilegeId: 'System.View' }, 'The session is not authenticated.');
}

/** An argument that makes no sense. */
export function invalidArgument(property: string, text = ''): Refusal {
  return refusal('InvalidArgument', { invalidProperty: property }, text);
}

/** The thing, or the refusal that says that it is not there. */
export function found<T>(thing: T | undefined, ref: MoRef | undefined): T {
  if (thing !== undefined) return thing;
  throw notFound(ref ?? { type: '', value: '' });
}

/** `<soapenv:Fault>` of a refusal. */
export function faultXml({ fault, fields, text }: Refusal): string {
  return `<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>${escapeText(text)}</faultstring><detail><${fault}Fault xmlns="urn:vim25" xsi:type="${fault}">${fields}</${fault}Fault></detail></soapenv:Fault>`;
}
