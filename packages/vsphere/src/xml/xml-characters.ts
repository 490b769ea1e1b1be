import { foreignText } from '../foreign-text.ts';

/** The document is not well-formed, or exceeds a limit. Carries no content of the document except names. */
export class XmlSyntaxError extends Error {
  override readonly name = 'XmlSyntaxError';

  constructor(message: string, options?: ErrorOptions) {
    super(foreignText(message), options);
  }
}

const NAME_START =
  ':A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}-\\u{200D}\\u{2070}-\\u{218F}\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}';
const NAME = new RegExp(`^[${NAME_START}][-.0-9\\u{B7}\\u{300}-\\u{36F}\\u{203F}-\\u{2040}${NAME_START}]*$`, 'u');

/** XML 1.0, production 5. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** XML 1.0, production 3. */
export function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 13;
}

/** XML 1.0, production 2, leaves these out, and lone surrogates. */
const CONTROLS = '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\ufffe\\uffff';
const FORBIDDEN = new RegExp(
  `[${CONTROLS}]|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]`,
);

/** Whether every character may appear in an XML 1.0 document. */
export function isXmlText(text: string): boolean {
  return !FORBIDDEN.test(text);
}

/** Decodes a run of text: line ends, references. With `verbatim` (CDATA, comments) references are not looked at. */
export function characterData(raw: string, verbatim = false): string {
  if (!isXmlText(raw)) throw new XmlSyntaxError('there is a character that XML does not allow');
  const text = raw.includes('\r') ? raw.replaceAll(/\r\n?/g, '\n') : raw;
  if (verbatim) return text;
  if (text.includes(']]>')) throw new XmlSyntaxError('there is "]]>" in text');
  return text.includes('&') ? decodeReferences(text) : text;
}

/** Decodes an attribute value: white space becomes a space, then references. */
export function attributeText(raw: string): string {
  if (!isXmlText(raw)) throw new XmlSyntaxError('there is a character that XML does not allow');
  if (raw.includes('<')) throw new XmlSyntaxError('there is "<" in an attribute value');
  const text = /[\t\n\r]/.test(raw) ? raw.replaceAll(/\r\n|[\t\n\r]/g, ' ') : raw;
  return text.includes('&') ? decodeReferences(text) : text;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

function decodeReferences(text: string): string {
  let out = '';
  let at = 0;
  for (;;) {
    const amp = text.indexOf('&', at);
    if (amp < 0) return out + text.slice(at);
    const end = text.indexOf(';', amp);
    if (end < 0) throw new XmlSyntaxError('there is "&" without a reference');
    out += text.slice(at, amp) + referred(text.slice(amp + 1, end));
    at = end + 1;
  }
}

function referred(name: string): string {
  const entity = ENTITIES.get(name);
  if (entity !== undefined) return entity;
  const code = /^#[0-9]+$/.test(name)
    ? Number.parseInt(name.slice(1), 10)
    : /^#x[0-9a-fA-F]+$/.test(name)
      ? Number.parseInt(name.slice(2), 16)
      : -1;
  if (code < 0) throw new XmlSyntaxError('there is a reference to an unknown entity');
  const text = code <= 0x10ffff ? String.fromCodePoint(code) : '';
  if (text === '' || !isXmlText(text))
    throw new XmlSyntaxError('there is a reference to a character that XML does not allow');
  return text;
}

/** Escapes text for element content. Throws on characters that no XML document can carry. */
export function escapeText(text: string): string {
  if (!isXmlText(text)) throw new XmlSyntaxError('the text has a character that XML does not allow');
  return /[&<>\r]/.test(text) ? text.replaceAll(/[&<>\r]/g, escaped) : text;
}

/** Escapes text for an attribute value in double quotes. */
export function escapeAttribute(text: string): string {
  if (!isXmlText(text)) throw new XmlSyntaxError('the text has a character that XML does not allow');
  return /[&<>"\t\n\r]/.test(text) ? text.replaceAll(/[&<>"\t\n\r]/g, escaped) : text;
}

function escaped(character: string): string {
  switch (character) {
    case '&':
      return '&amp;';
    case '<':
      return '&lt;';
    case '>':
      return '&gt;';
    case '"':
      return '&quot;';
    default:
      return `&#${character.charCodeAt(0)};`;
  }
}
