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

const NAME = /[A-Za-z_][\w.:-]{0,99}/y;
const ATTRIBUTE = /\s+[^\s=<>"'/]+\s*=\s*(?:"[^"<]*"|'[^'<]*')/y;
const SPACE = /\s*/y;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));|&/gi;
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

interface Open {
  readonly name: string;
  readonly children: XmlElement[];
  text: string;
}

/** Reads one document, at linear cost. Document types are refused: nothing is expanded. Throws {@link XmlInvalid}. */
export function readXml(source: string): XmlElement {
  const document: Open = { name: '', children: [], text: '' };
  const open: Open[] = [document];
  let elements = 0;
  let at = source.startsWith('\ufeff') ? 1 : 0;
  const sticky = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(source) ?? [];
    at += found?.length ?? 0;
    return found;
  };
  const until = (mark: string): string => {
    const end = source.indexOf(mark, at);
    if (end < 0) throw new XmlInvalid('something has no end');
    const between = source.slice(at, end);
    at = end + mark.length;
    return between;
  };
  const close = (): void => {
    const done = open.pop();
    const around = open.at(-1);
    if (done === undefined || around === undefined) throw new XmlInvalid('an element is closed that is not open');
    around.children.push(done);
  };
  while (at < source.length) {
    const top = open.at(-1) ?? document;
    const tag = source.indexOf('<', at);
    const end = tag < 0 ? source.length : tag;
    if (end > at) top.text += decoded(source.slice(at, end));
    at = end + 1;
    if (tag < 0) break;
    if (source.startsWith('?', at)) until('?>');
    else if (source.startsWith('!--', at)) {
      at += 3;
      until('-->');
    } else if (source.startsWith('![CDATA[', at)) {
      at += 8;
      top.text += until(']]>');
    } else if (source.startsWith('/', at)) {
      at += 1;
      if (sticky(NAME) !== top.name) throw new XmlInvalid('an element is closed by another name');
      sticky(SPACE);
      if (source[at] !== '>') throw new XmlInvalid('a closing tag has no end');
      at += 1;
      close();
    } else {
      const name = sticky(NAME);
      if (name === undefined) throw new XmlInvalid('a tag has no name');
      while (sticky(ATTRIBUTE) !== undefined);
      sticky(SPACE);
      const empty = source[at] === '/';
      if (empty) at += 1;
      if (source[at] !== '>') throw new XmlInvalid('a tag has no end');
      at += 1;
      elements += 1;
      if (elements > MOST_ELEMENTS) throw new XmlInvalid(`there are more than ${MOST_ELEMENTS} elements`);
      if (open.length > MOST_DEPTH) throw new XmlInvalid(`elements are nested more than ${MOST_DEPTH} deep`);
      open.push({ name, children: [], text: '' });
      if (empty) close();
    }
  }
  const [root, second] = document.children;
  if (open.length > 1) throw new XmlInvalid('an element has no end');
  if (root === undefined || second !== undefined || document.text.trim() !== '')
    throw new XmlInvalid('there is not one element around everything');
  return root;
}

function decoded(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(REFERENCE, (found, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name] ?? invalidReference();
    if (found === '&') return invalidReference();
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code === 0 || code > 0x10ffff ? invalidReference() : String.fromCodePoint(code);
  });
}

function invalidReference(): never {
  throw new XmlInvalid('a reference means nothing');
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
