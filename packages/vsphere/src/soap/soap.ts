import { quotedPhrase } from '@drydock/api/text';
import { faultError, VimError } from '../errors.ts';
import { foreignText, refText } from '../foreign-text.ts';
import type { MoRef } from '../vcenter.ts';
import {
  child,
  element,
  elements,
  reference,
  SOAP_NS,
  VIM_NS,
  type XmlElement,
  type XmlNode,
  XSD_NS,
  XSI_NS,
} from '../xml/xml.ts';
import { escapeText } from '../xml/xml-characters.ts';
import { writeXml } from '../xml/xml-writer.ts';
import { readSoapFault } from './faults.ts';
import { checkOrder } from './schema.ts';

/** `VirtualMachine:vm-12`, for maps; messages have `refText`. */
export function refKey(ref: MoRef): string {
  return `${ref.type}:${ref.value}`;
}

/** The SOAP 1.1 envelope of one call. `opId` shows up in the vCenter logs. Refuses a body that is out of schema order. */
export function envelope(method: string, self: MoRef, body: readonly XmlNode[], opId: string): string {
  checkOrder(method, body);
  const call = element(method, reference('_this', self), ...body);
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<soapenv:Envelope xmlns:soapenv="${SOAP_NS}" xmlns:xsd="${XSD_NS}" xmlns:xsi="${XSI_NS}">` +
    `<soapenv:Header><operationID>${escapeText(opId)}</operationID></soapenv:Header>` +
    `<soapenv:Body>${writeXml(call)}</soapenv:Body></soapenv:Envelope>`
  );
}

const [OP_ID, TEXT] = ['(operation)', '(text)'];

/** The envelope of a call that is made again and again, written once: only its `opId`, and one text in its body, are another each time. */
export function repeatedEnvelope(
  method: string,
  self: MoRef,
  body: (text: string) => readonly XmlNode[],
): (opId: string, text: string) => string {
  const written = envelope(method, self, body(TEXT), OP_ID);
  const [head = '', rest = ''] = written.split(OP_ID);
  const [middle = '', tail = ''] = rest.split(TEXT);
  return (opId, text) => head + escapeText(opId) + middle + escapeText(text) + tail;
}

/** Takes the `<MResponse>` out of an envelope. A fault is thrown as `VimError` of kind `fault`; anything else than M's response is `protocol`. */
export function readResponse(document: XmlElement, method: string, self: MoRef, opId: string): XmlElement {
  if (document.name !== 'Envelope' || document.uri !== SOAP_NS)
    throw unexpected(method, opId, `<${document.name}> instead of an envelope`);
  const body = child(document, 'Body');
  const answer = elements(body)[0];
  if (answer === undefined) throw unexpected(method, opId, 'an empty body');
  if (answer.name === 'Fault' && answer.uri === SOAP_NS) {
    throw faultError(method, refText(self), readSoapFault(answer), opId);
  }
  if (answer.name !== `${method}Response` || answer.uri !== VIM_NS) throw unexpected(method, opId, `<${answer.name}>`);
  return answer;
}

function unexpected(method: string, opId: string, what: string): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_BAD_RESPONSE',
    op: method,
    opId,
    message: `the server answers ${quotedPhrase(foreignText(what))}`,
  });
}
