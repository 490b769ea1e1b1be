import { escapeText } from '../../xml/xml-characters.ts';

/** A whole `<val>` element as the server sends it. */
export type Val = string;

/** Text under a type; `xsd:string` unless said. */
export function textVal(text: string, type = 'xsd:string'): Val {
  return `<val xsi:type="${type}">${escapeText(text)}</val>`;
}

/** A reference to a managed object. */
export function refVal(type: string, value: string): Val {
  return `<val type="${type}" xsi:type="ManagedObjectReference">${escapeText(value)}</val>`;
}

/** `config.extraConfig`. */
export function optionsVal(options: Readonly<Record<string, string>>): Val {
  const items = Object.entries(options).map(
    ([key, value]) =>
      `<OptionValue xsi:type="OptionValue"><key>${escapeText(key)}</key><value xsi:type="xsd:string">${escapeText(value)}</value></OptionValue>`,
  );
  return `<val xsi:type="ArrayOfOptionValue">${items.join('')}</val>`;
}

/** `config.hardware.device`: each device by its key, its type and what is inside. */
export function devicesVal(devices: readonly (readonly [key: number, type: string, label: string])[]): Val {
  const items = devices.map(
    ([key, type, label]) =>
      `<VirtualDevice xsi:type="${type}"><key>${key}</key><deviceInfo><label>${escapeText(label)}</label><summary>${escapeText(label)} of this machine</summary></deviceInfo></VirtualDevice>`,
  );
  return `<val xsi:type="ArrayOfVirtualDevice">${items.join('')}</val>`;
}

/** The one option of an `optionsVal` with this key, as a keyed path answers it. */
export function keyedVal(options: Val, key: string): Val | undefined {
  const head = `<OptionValue xsi:type="OptionValue"><key>${escapeText(key)}</key>`;
  const from = options.indexOf(head);
  if (from < 0) return undefined;
  const inner = options.slice(options.indexOf('<key>', from), options.indexOf('</OptionValue>', from));
  return `<val xsi:type="OptionValue">${inner}</val>`;
}
