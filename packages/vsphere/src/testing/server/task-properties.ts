import { XSI_NS } from '../../xml/xml.ts';
import { parseXml } from '../../xml/xml-tree.ts';
import type { Refusal } from './soap-refusal.ts';
import { type Data, data, readValue } from './vim-values.ts';

/** A refusal as `LocalizedMethodFault`. */
export function faultData({ fault, fields, text }: Refusal): Data {
  const read = readValue(parseXml(`<fault xmlns="urn:vim25" xmlns:xsi="${XSI_NS}">${fields}</fault>`));
  const known = typeof read === 'object' && 'data' in read ? read.fields : {};
  return data('LocalizedMethodFault', { fault: data(fault, known), localizedMessage: text });
}
