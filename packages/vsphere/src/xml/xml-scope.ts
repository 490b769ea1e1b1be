import { XmlSyntaxError } from './xml-characters.ts';

const XML_NS = 'http://www.w3.org/XML/1998/namespace';
const XMLNS_NS = 'http://www.w3.org/2000/xmlns/';
const NOTHING: readonly string[] = [];

/**
 * The namespace declarations in force at one place of a document. Each prefix has a stack of its own, so that an element costs what it declares
 * and not what is declared around it.
 */
export class XmlScope {
  readonly #uris = new Map<string, string[]>();
  readonly #outer: XmlScope | undefined;

  /** `outer` is what is declared around the place where reading starts; it must not change meanwhile. */
  constructor(outer?: XmlScope) {
    this.#outer = outer;
    if (outer !== undefined) return;
    this.#uris.set('', ['']);
    this.#uris.set('xml', [XML_NS]);
  }

  /** Enters an element; the prefixes that its attributes declare, for {@link XmlScope.leave}. */
  declare(names: readonly string[], values: readonly string[]): readonly string[] {
    let declared: string[] | undefined;
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] ?? '';
      if (name !== 'xmlns' && !name.startsWith('xmlns:')) continue;
      const prefix = name === 'xmlns' ? '' : name.slice(6);
      const uri = values[index] ?? '';
      if (name !== 'xmlns' && (prefix === '' || prefix.includes(':') || uri === ''))
        throw new XmlSyntaxError(`${name} is not a namespace declaration`);
      if (prefix === 'xmlns' || uri === XMLNS_NS || (prefix === 'xml') !== (uri === XML_NS))
        throw new XmlSyntaxError(`${name} redeclares a reserved namespace`);
      const known = this.#uris.get(prefix);
      if (known === undefined) this.#uris.set(prefix, [uri]);
      else known.push(uri);
      declared ??= [];
      declared.push(prefix);
    }
    return declared ?? NOTHING;
  }

  /** Leaves the element that declared these. Prefixes stay in the map: one that is taken out and put in again and again makes a large map slow. */
  leave(declared: readonly string[]): void {
    for (const prefix of declared) this.#uris.get(prefix)?.pop();
  }

  /** undefined: the prefix is not declared here. */
  uriOf(prefix: string): string | undefined {
    return this.#uris.get(prefix)?.at(-1) ?? this.#outer?.uriOf(prefix);
  }
}
