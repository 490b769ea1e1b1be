import { type QName, type XmlAttribute, type XmlElement, type XmlNode, XSI_NS } from './xml.ts';
import { XmlSyntaxError } from './xml-characters.ts';
import { XmlScope } from './xml-scope.ts';
import { DEFAULT_XML_LIMITS, type XmlLimits, type XmlSink, XmlTokenizer } from './xml-tokenizer.ts';

/** What a whole document may cost. */
export interface TreeLimits extends XmlLimits {
  /** Elements, attributes and runs of text. Each costs about a hundred bytes however short it is written: 64 MB of `<a/>` would be more than a gigabyte. */
  readonly nodes: number;
}

/** A tree costs several times its text, so whole answers are kept smaller than streamed ones. A page of a hundred machines has 200,000 nodes at most; two answers at their bound fit beside each other into 256 MiB. */
export const TREE_LIMITS: TreeLimits = { ...DEFAULT_XML_LIMITS, total: 32 << 20, nodes: 400_000 };

/** Builds a tree from chunks. */
export interface XmlTreeBuilder {
  feed(chunk: Uint8Array): void;
  /** Says that the document is complete. */
  end(): XmlElement;
  /** Elements, attributes and texts so far. */
  readonly nodes: number;
}

const NONE: readonly XmlAttribute[] = [];

interface Open {
  readonly children: XmlNode[];
  /** Prefixes that it declares. */
  readonly declared: readonly string[];
}

/**
 * Reads a document with namespaces resolved, or one element of a document in which `outer` is declared around it. Every failure is an
 * {@link XmlSyntaxError}.
 */
export function xmlTreeBuilder(limits: TreeLimits = TREE_LIMITS, outer?: XmlScope): XmlTreeBuilder {
  const stack: Open[] = [];
  const scope = new XmlScope(outer);
  let nodes = 0;
  let root: XmlElement | undefined;
  let text = '';

  const count = (more: number): void => {
    nodes += more;
    if (nodes > limits.nodes)
      throw new XmlSyntaxError(`the document has more than ${limits.nodes} elements, attributes and texts`);
  };
  const flush = (): void => {
    if (text === '') return;
    count(1);
    stack.at(-1)?.children.push(text);
    text = '';
  };
  const sink: XmlSink = {
    open(name, names, values) {
      flush();
      count(1 + names.length);
      const parent = stack.at(-1);
      const declared = scope.declare(names, values);
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
      stack.push({ children, declared });
    },
    close() {
      flush();
      scope.leave(stack.pop()?.declared ?? []);
    },
    text(run) {
      text += run;
    },
  };
  const tokenizer = new XmlTokenizer(sink, limits);
  return {
    get nodes() {
      return nodes;
    },
    feed: (chunk) => tokenizer.feed(chunk),
    end() {
      tokenizer.end();
      if (root === undefined) throw new XmlSyntaxError('the document has no root element');
      return root;
    },
  };
}

/** Reads a whole document at once. */
export function parseXml(text: string, limits: TreeLimits = TREE_LIMITS): XmlElement {
  const builder = xmlTreeBuilder(limits);
  builder.feed(Buffer.from(text, 'utf8'));
  return builder.end();
}

function resolve(name: string, scope: XmlScope, useDefault: boolean): QName {
  const colon = name.indexOf(':');
  if (colon < 0) return { uri: useDefault ? (scope.uriOf('') ?? '') : '', local: name };
  const local = name.slice(colon + 1);
  const uri = scope.uriOf(name.slice(0, colon));
  if (colon === 0 || local === '' || local.includes(':')) throw new XmlSyntaxError(`${name} is not a qualified name`);
  if (uri === undefined) throw new XmlSyntaxError(`the prefix of ${name} is not declared`);
  return { uri, local };
}

function readAttributes(
  names: readonly string[],
  values: readonly string[],
  scope: XmlScope,
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
function resolveType(value: string, scope: XmlScope): QName {
  const colon = value.lastIndexOf(':');
  if (colon < 0) return { uri: scope.uriOf('') ?? '', local: value };
  return { uri: scope.uriOf(value.slice(0, colon)) ?? '', local: value.slice(colon + 1) };
}
