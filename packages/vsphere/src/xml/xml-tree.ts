import { type QName, type XmlAttribute, type XmlElement, type XmlNode, XSI_NS } from './xml.ts';
import { XmlSyntaxError } from './xml-characters.ts';
import { DEFAULT_XML_LIMITS, type XmlLimits, type XmlSink, XmlTokenizer } from './xml-tokenizer.ts';

/** A tree costs several times its text, so whole answers are kept smaller than streamed ones. */
export const TREE_LIMITS: XmlLimits = { ...DEFAULT_XML_LIMITS, total: 64 << 20 };

/** Builds a tree from chunks. */
export interface XmlTreeBuilder {
  feed(chunk: Uint8Array): void;
  /** Says that the document is complete. */
  end(): XmlElement;
}

const XML_NS = 'http://www.w3.org/XML/1998/namespace';
const XMLNS_NS = 'http://www.w3.org/2000/xmlns/';
const NONE: readonly XmlAttribute[] = [];

type Scope = ReadonlyMap<string, string>;

interface Open {
  readonly element: XmlElement;
  readonly children: XmlNode[];
  readonly scope: Scope;
}

/** Reads a document with namespaces resolved. Every failure is an {@link XmlSyntaxError}. */
export function xmlTreeBuilder(limits: XmlLimits = TREE_LIMITS): XmlTreeBuilder {
  const stack: Open[] = [];
  let root: XmlElement | undefined;
  let text = '';

  const flush = (): void => {
    if (text === '') return;
    stack.at(-1)?.children.push(text);
    text = '';
  };
  const sink: XmlSink = {
    open(name, names, values) {
      flush();
      const parent = stack.at(-1);
      const scope = declare(parent?.scope ?? BASE, names, values);
      const children: XmlNode[] = [];
      const own = resolve(name, scope, true);
      const rest = readAttributes(names, values, scope);
      const element: XmlElement = {
        uri: own.uri,
        name: own.local,
        ...(rest.type === undefined ? {} : { type: rest.type }),
        attributes: rest.attributes,
        children,
      };
      if (parent === undefined) root = element;
      else parent.children.push(element);
      stack.push({ element, children, scope });
    },
    close() {
      flush();
      stack.pop();
    },
    text(run) {
      text += run;
    },
  };
  const tokenizer = new XmlTokenizer(sink, limits);
  return {
    feed: (chunk) => tokenizer.feed(chunk),
    end() {
      tokenizer.end();
      if (root === undefined) throw new XmlSyntaxError('the document has no root element');
      return root;
    },
  };
}

/** Reads a whole document at once. */
export function parseXml(text: string, limits: XmlLimits = TREE_LIMITS): XmlElement {
  const builder = xmlTreeBuilder(limits);
  builder.feed(Buffer.from(text, 'utf8'));
  return builder.end();
}

const BASE: Scope = new Map([
  ['', ''],
  ['xml', XML_NS],
]);

function declare(outer: Scope, names: readonly string[], values: readonly string[]): Scope {
  let scope: Map<string, string> | undefined;
  for (const [index, name] of names.entries()) {
    if (name !== 'xmlns' && !name.startsWith('xmlns:')) continue;
    const prefix = name === 'xmlns' ? '' : name.slice(6);
    const uri = values[index] ?? '';
    if (name !== 'xmlns' && (prefix === '' || prefix.includes(':') || uri === ''))
      throw new XmlSyntaxError(`${name} is not a namespace declaration`);
    if (prefix === 'xmlns' || uri === XMLNS_NS || (prefix === 'xml') !== (uri === XML_NS))
      throw new XmlSyntaxError(`${name} redeclares a reserved namespace`);
    scope ??= new Map(outer);
    scope.set(prefix, uri);
  }
  return scope ?? outer;
}

function resolve(name: string, scope: Scope, useDefault: boolean): QName {
  const colon = name.indexOf(':');
  if (colon < 0) return { uri: useDefault ? (scope.get('') ?? '') : '', local: name };
  const local = name.slice(colon + 1);
  const uri = scope.get(name.slice(0, colon));
  if (colon === 0 || local === '' || local.includes(':')) throw new XmlSyntaxError(`${name} is not a qualified name`);
  if (uri === undefined) throw new XmlSyntaxError(`the prefix of ${name} is not declared`);
  return { uri, local };
}

function readAttributes(
  names: readonly string[],
  values: readonly string[],
  scope: Scope,
): { readonly type?: QName; readonly attributes: readonly XmlAttribute[] } {
  let type: QName | undefined;
  let attributes: XmlAttribute[] | undefined;
  for (const [index, name] of names.entries()) {
    if (name === 'xmlns' || name.startsWith('xmlns:')) continue;
    const value = values[index] ?? '';
    const own = resolve(name, scope, false);
    const twice =
      own.uri === XSI_NS && own.local === 'type'
        ? type !== undefined
        : attributes?.some((at) => at.uri === own.uri && at.local === own.local);
    if (twice === true) throw new XmlSyntaxError(`attribute ${name} appears twice`);
    if (own.uri === XSI_NS && own.local === 'type') type = resolveType(value.trim(), scope);
    else {
      attributes ??= [];
      attributes.push({ ...own, value });
    }
  }
  return { ...(type === undefined ? {} : { type }), attributes: attributes ?? NONE };
}

/** Servers are not careful with the prefix of a type: one that is not declared is dropped, not fatal. */
function resolveType(value: string, scope: Scope): QName {
  const colon = value.lastIndexOf(':');
  if (colon < 0) return { uri: scope.get('') ?? '', local: value };
  return { uri: scope.get(value.slice(0, colon)) ?? '', local: value.slice(colon + 1) };
}
