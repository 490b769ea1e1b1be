import { UpdateScanner, type UpdateSink } from '@drydock/vsphere';

/** One object of an answer, as text: `val` content by path; undefined: the property is unset. */
export interface PageObject {
  readonly kind: 'enter' | 'modify' | 'leave';
  readonly vm: string;
  readonly changes?: Readonly<Record<string, string | undefined>>;
}

/** `ArrayOfOptionValue` content. */
export function extraConfig(options: Readonly<Record<string, string>>): string {
  return Object.entries(options)
    .map(
      ([key, value]) =>
        `<OptionValue xsi:type="OptionValue"><key>${key}</key><value xsi:type="xsd:string">${value}</value></OptionValue>`,
    )
    .join('');
}

/** The answer to WaitForUpdatesEx that reports these objects. */
export function updatePage(objects: readonly PageObject[], version = '1', truncated = false): Buffer {
  const sets = objects.map(({ kind, vm, changes = {} }) => {
    const set = Object.entries(changes).map(
      ([path, value]) =>
        `<changeSet><name>${path}</name><op>assign</op>${value === undefined ? '' : `<val xsi:type="xsd:string">${value}</val>`}</changeSet>`,
    );
    return `<objectSet><kind>${kind}</kind><obj type="VirtualMachine">${vm}</obj>${set.join('')}</objectSet>`;
  });
  return Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><WaitForUpdatesExResponse xmlns="urn:vim25"><returnval><version>${version}</version><filterSet><filter type="PropertyFilter">f</filter>${sets.join('')}</filterSet>${truncated ? '<truncated>true</truncated>' : ''}</returnval></WaitForUpdatesExResponse></soapenv:Body></soapenv:Envelope>`,
  );
}

/** Feeds an answer to a sink. */
export function feed(sink: UpdateSink, ...objects: readonly PageObject[]): void {
  const scanner = new UpdateScanner(sink);
  scanner.feed(updatePage(objects));
  scanner.end();
}
