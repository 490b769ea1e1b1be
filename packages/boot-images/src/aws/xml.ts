import { SaxesParser } from 'saxes';

/** An element of an answer of AWS. Its attributes say nothing that is used, and namespaces have no prefixes there. */
export interface XmlElement {
  readonly name: string;
  readonly children: readonly XmlElement[];
  /** All text directly in it. */
  readonly text: string;
}

/** The text is no XML of the kind that AWS sends, or there is too much of it. Nothing of it is in the message. */
export class XmlInvalid extends Error {
  override readonly name = 'XmlInvalid';
}

/** A page of a thousand images has 60,000 elements, nested nine deep. */
const MOST_ELEMENTS = 200_000;
const MOST_DEPTH = 32;

/** Not allowed in XML; as references XML 1.1 has them. A publisher who puts them into the name of an image must not hide the other images. */
const CONTROLS = /[^\P{Cc}\t\n\r]/gu;

interface Open extends XmlElement {
  readonly children: XmlElement[];
  text: string;
}

/** Reads one document, at linear cost. Document types are refused: nothing is expanded. Throws {@link XmlInvalid}. */
export function readXml(source: string): XmlElement {
  const document: Open = { name: '', children: [], text: '' };
  const open: Open[] = [document];
  let elements = 0;
  const parser = new SaxesParser({ position: false, forceXMLVersion: true, defaultXMLVersion: '1.1' });
  // Not as the cause: it may quote what it stumbled over.
  parser.on('error', () => {
    throw new XmlInvalid('it is not well-formed');
  });
  parser.on('doctype', () => {
    throw new XmlInvalid('it has a document type');
  });
  parser.on('opentag', ({ name }) => {
    elements += 1;
    if (elements > MOST_ELEMENTS) throw new XmlInvalid(`there are more than ${MOST_ELEMENTS} elements`);
    if (open.length > MOST_DEPTH) throw new XmlInvalid(`elements are nested more than ${MOST_DEPTH} deep`);
    const element: Open = { name, children: [], text: '' };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => void open.pop());
  const addText = (text: string): void => {
    const top = open.at(-1);
    if (top !== undefined) top.text += text;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.write(source.replaceAll(CONTROLS, ' ')).close();
  const [root] = document.children;
  if (root === undefined) throw new XmlInvalid('there is no element');
  return root;
}

/** The first child of a name. */
export function childOf(of: XmlElement | undefined, name: string): XmlElement | undefined {
  return of?.children.find((child) => child.name === name);
}

/** The text at a path of names; undefined where there is none, or an empty one. */
export function textAt(of: XmlElement | undefined, ...path: readonly string[]): string | undefined {
  let at = of;
  for (const name of path) at = childOf(at, name);
  const text = at?.text.trim();
  return text === '' ? undefined : text;
}

/** The members of a list, which EC2 calls `item`. */
export function itemsOf(of: XmlElement | undefined, list: string): readonly XmlElement[] {
  return childOf(of, list)?.children.filter(({ name }) => name === 'item') ?? [];
}
