import type { MoRef } from '../vcenter.ts';

/** The namespace of every vSphere element. */
export const VIM_NS = 'urn:vim25';
/** XML Schema's built-in types (`xsd:string`). */
export const XSD_NS = 'http://www.w3.org/2001/XMLSchema';
/** XML Schema instance: `xsi:type`. */
export const XSI_NS = 'http://www.w3.org/2001/XMLSchema-instance';
/** SOAP 1.1 envelope. */
export const SOAP_NS = 'http://schemas.xmlsoap.org/soap/envelope/';

/** A name resolved to its namespace. `uri` is '' for no namespace. */
export interface QName {
  readonly uri: string;
  readonly local: string;
}

/** An attribute other than a namespace declaration and `xsi:type`. */
export interface XmlAttribute extends QName {
  readonly value: string;
}

/**
 * An element with its names resolved, so that it can be echoed under another envelope: prefixes are not kept, and `xsi:type`, whose value is itself a
 * prefixed name, is kept resolved in `type`. Nodes keep their order. Nothing in it refers to its parent.
 */
export interface XmlElement {
  readonly uri: string;
  readonly name: string;
  /** `xsi:type`, resolved. An undeclared prefix resolves to ''. */
  readonly type?: QName;
  readonly attributes: readonly XmlAttribute[];
  readonly children: readonly XmlNode[];
}

/** An element or a run of text, entities decoded. */
export type XmlNode = XmlElement | string;

/** A subtree that is passed on as it came: fields that we do not know survive. */
export type OpaqueXml = XmlElement;

const NO_ATTRIBUTES: readonly XmlAttribute[] = [];

/** An element of `urn:vim25`. `undefined` children are left out, which makes optional fields read well. */
export function element(name: string, ...children: readonly (XmlNode | undefined)[]): XmlElement {
  return { uri: VIM_NS, name, attributes: NO_ATTRIBUTES, children: children.filter((node) => node !== undefined) };
}

/** An element whose concrete vim25 type has to be said: `<selectSet xsi:type="TraversalSpec">`. */
export function typed(name: string, type: string, ...children: readonly (XmlNode | undefined)[]): XmlElement {
  return { ...element(name, ...children), type: { uri: VIM_NS, local: type } };
}

/** A value of an XML Schema type where the schema says `any`: `<value xsi:type="xsd:string">`. */
export function xsd(name: string, type: 'string' | 'int' | 'long' | 'boolean', value: string): XmlElement {
  return { ...element(name, value), type: { uri: XSD_NS, local: type } };
}

/** A managed object reference: `<name type="VirtualMachine">vm-12</name>`. */
export function reference(name: string, ref: MoRef): XmlElement {
  return {
    uri: VIM_NS,
    name,
    attributes: [{ uri: '', local: 'type', value: ref.type }],
    children: ref.value === '' ? [] : [ref.value],
  };
}

/** The first child element of this local name. */
export function child(parent: XmlElement | undefined, name: string): XmlElement | undefined {
  for (const node of parent?.children ?? []) if (typeof node !== 'string' && node.name === name) return node;
  return undefined;
}

/** The descendant reached by first children of these local names. */
export function descend(parent: XmlElement | undefined, ...names: readonly string[]): XmlElement | undefined {
  let at = parent;
  for (const name of names) at = child(at, name);
  return at;
}

/** All child elements, or those of one local name, in order. */
export function elements(parent: XmlElement | undefined, name?: string): readonly XmlElement[] {
  const found: XmlElement[] = [];
  for (const node of parent?.children ?? []) {
    if (typeof node !== 'string' && (name === undefined || node.name === name)) found.push(node);
  }
  return found;
}

/** The element's own text, untrimmed; '' when it has none. */
export function textOf(parent: XmlElement): string {
  let text = '';
  for (const node of parent.children) if (typeof node === 'string') text += node;
  return text;
}

/** The text of the first child of this name; undefined when there is no such child. */
export function childText(parent: XmlElement | undefined, name: string): string | undefined {
  const found = child(parent, name);
  return found === undefined ? undefined : textOf(found);
}

/** The value of an attribute without a namespace. */
export function attribute(of: XmlElement, local: string): string | undefined {
  return of.attributes.find((at) => at.local === local && at.uri === '')?.value;
}

/** Reads an element as a managed object reference; undefined when it is none. */
export function referenceOf(of: XmlElement | undefined): MoRef | undefined {
  if (of === undefined) return undefined;
  const type = attribute(of, 'type');
  return type === undefined ? undefined : { type, value: textOf(of) };
}
