import { foreignText } from '../foreign-text.ts';
import type { MoRef } from '../vcenter.ts';
import { child, childText, descend, elements, referenceOf, type XmlElement } from '../xml/xml.ts';

/**
 * A fault of the server: a method's, a task's, a lease's or a missing property's. The name is the only thing to decide by; texts are localized, often empty,
 * and Go type names in the simulator. A name that we do not know is kept with its fields. All texts are fit for a message (`foreignText`).
 */
export interface VimFault {
  /** `DuplicateName`, `NotAuthenticated`, … */
  readonly name: string;
  /** faultstring or localizedMessage; may be ''. */
  readonly message: string;
  /** faultCause: what lies behind it. */
  readonly cause?: VimFault;
  /** Exactly this fault. `NotAuthenticated` extends `NoPermission` in the schema, but is not one here. */
  is(name: string): boolean;
  /** This fault or one of its causes. */
  has(name: string): boolean;
  /** The text of a field: `field('invalidProperty')`. */
  field(name: string): string | undefined;
  /** A field that is a reference: `reference('obj')`. */
  reference(name: string): MoRef | undefined;
}

/** Causes nested deeper than this are dropped: no real chain is. */
const MAX_CHAIN = 16;

/** Reads a fault object (`<XFault xsi:type="X">…`). The name is the type, else the element's name without its final "Fault". */
export function readFault(xml: XmlElement, message: string, depth = 0): VimFault {
  const name = foreignText(
    xml.type?.local ?? (xml.name.endsWith('Fault') ? xml.name.slice(0, -'Fault'.length) : xml.name),
  );
  const behind = child(xml, 'faultCause');
  const cause = behind === undefined || depth >= MAX_CHAIN ? undefined : readLocalizedFault(behind, depth + 1);
  return {
    name,
    message: foreignText(message),
    ...(cause === undefined ? {} : { cause }),
    is: (wanted) => name === wanted,
    has: (wanted) => name === wanted || (cause?.has(wanted) ?? false),
    field: (field) => {
      const value = childText(xml, field);
      return value === undefined ? undefined : foreignText(value);
    },
    reference: (field) => referenceOf(child(xml, field)),
  };
}

/** Reads a LocalizedMethodFault: `<error><fault xsi:type="X">…</fault><localizedMessage>…`. */
export function readLocalizedFault(xml: XmlElement, depth = 0): VimFault | undefined {
  const fault = child(xml, 'fault');
  return fault === undefined ? undefined : readFault(fault, childText(xml, 'localizedMessage') ?? '', depth);
}

/** Reads `<soapenv:Fault>`. A fault without detail (malformed request) is `InvalidRequest`, as the API reference calls it. */
export function readSoapFault(xml: XmlElement): VimFault {
  const message = childText(xml, 'faultstring') ?? '';
  const detail = elements(descend(xml, 'detail'))[0];
  if (detail !== undefined) return readFault(detail, message);
  return readFault({ uri: xml.uri, name: 'InvalidRequest', attributes: [], children: xml.children }, message);
}

/** Faults that may be gone when the same call is made again later, the world unchanged by us. */
const PASSING: ReadonlySet<string> = new Set([
  'ConcurrentAccess',
  'HostCommunication',
  'HostNotConnected',
  'HostNotReachable',
  'InsufficientResourcesFault',
  'InvalidCollectorVersion',
  'NotAuthenticated',
  'RequestCanceled',
  'ResourceInUse',
  'SystemError',
  'TaskInProgress',
  'Timedout',
]);

/** Whether time alone may cure this fault. */
export function isPassing(fault: VimFault): boolean {
  return PASSING.has(fault.name);
}
