import { type XmlElement, XSD_NS, XSI_NS } from './xml.ts';
import { escapeAttribute, escapeText } from './xml-characters.ts';

/** Prefixes that the surrounding document declares. */
export const ENVELOPE_PREFIXES: ReadonlyMap<string, string> = new Map([
  [XSD_NS, 'xsd'],
  [XSI_NS, 'xsi'],
]);

/**
 * Writes a subtree. `defaultUri` is the default namespace at that place, `prefixes` (URI → prefix) what is declared around it; whatever else the subtree needs it
 * declares itself, so its meaning does not depend on the prefixes of the document that it came from.
 */
export function writeXml(
  element: XmlElement,
  defaultUri = '',
  prefixes: ReadonlyMap<string, string> = ENVELOPE_PREFIXES,
): string {
  const out: string[] = [];
  write(element, defaultUri, { of: new Map(prefixes), made: prefixes.size }, out);
  return out.join('');
}

/** The prefixes in force by URI, and how many were made so far. */
interface Prefixes {
  readonly of: Map<string, string | undefined>;
  made: number;
}

/** What the element adds to the prefixes it takes back, but leaves in the map: one that is taken out and put in again makes a large map slow. */
function write(element: XmlElement, outerUri: string, prefixes: Prefixes, out: string[]): void {
  const added: string[] = [];
  let declarations = element.uri === outerUri ? '' : ` xmlns="${escapeAttribute(element.uri)}"`;
  const prefixOf = (uri: string): string => {
    const known = prefixes.of.get(uri);
    if (known !== undefined) return known;
    const fresh = `n${prefixes.made++}`;
    prefixes.of.set(uri, fresh);
    added.push(uri);
    declarations += ` xmlns:${fresh}="${escapeAttribute(uri)}"`;
    return fresh;
  };
  let attributes = '';
  for (const { uri, local, value } of element.attributes) {
    const name = uri === '' ? local : uri === XML_NS ? `xml:${local}` : `${prefixOf(uri)}:${local}`;
    attributes += ` ${name}="${escapeAttribute(value)}"`;
  }
  if (element.type !== undefined) {
    const { uri, local } = element.type;
    // Without a prefix, the default namespace of this element holds.
    const value = uri === '' || uri === element.uri ? local : `${prefixOf(uri)}:${local}`;
    attributes += ` ${prefixOf(XSI_NS)}:type="${escapeAttribute(value)}"`;
  }
  out.push('<', element.name, declarations, attributes);
  if (element.children.length === 0) out.push('/>');
  else {
    out.push('>');
    for (const node of element.children) {
      if (typeof node === 'string') out.push(escapeText(node));
      else write(node, element.uri, prefixes, out);
    }
    out.push('</', element.name, '>');
  }
  for (const uri of added) prefixes.of.set(uri, undefined);
}

const XML_NS = 'http://www.w3.org/XML/1998/namespace';
