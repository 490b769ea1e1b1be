import { isRequestUri } from '../text/formats.ts';
import { type Add, decided, fault, undecidable } from './fault.ts';

/** An address as net/url of Go takes it apart. */
export class Url {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  /** As a whole. */
  readonly text: string;

  constructor(text: string) {
    // What Go would escape, decode or keep apart, and an address without a path from the root, are left to the server.
    const found =
      /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):\/\/([\w.~:[\]-]*))?((?:\/[\w.~$&+,/:;=@-]*)?)(?:\?([^#]*))?(?:#[\w.~-]*)?$/.exec(
        text,
      );
    if (found === null || (found[1] === undefined && text.startsWith('//'))) throw undecidable('an odd address');
    const [, scheme = '', host = '', path = '', query = ''] = found;
    this.scheme = scheme.toLowerCase();
    this.host = host;
    this.path = path;
    this.query = query;
    this.text = text;
  }
}

/** k8s.io/apiserver, pkg/cel/library/urls.go. */
export function addUrls(add: Add): void {
  add('url(string): Url', (text: string) => {
    if (!decided(isRequestUri(text))) throw fault('a text that is no address');
    return new Url(text);
  });
  add('isURL(string): bool', (text: string) => decided(isRequestUri(text)));
  add('Url == Url', (a: Url, b: Url) => {
    if (a.text !== b.text && a.text.toLowerCase() === b.text.toLowerCase())
      throw undecidable('addresses that are nearly the same');
    return a.text === b.text;
  });
  add('Url.getScheme(): string', ({ scheme }: Url) => scheme);
  add('Url.getHost(): string', ({ host }: Url) => host);
  add('Url.getHostname(): string', ({ host }: Url) => {
    const name = host.replace(/:\d*$/, '');
    return name.startsWith('[') ? name.slice(1, -1) : name;
  });
  add('Url.getPort(): string', ({ host }: Url) => /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? '');
  add('Url.getEscapedPath(): string', ({ path }: Url) => path);
  add('Url.getQuery(): map<string, list<string>>', ({ query }: Url) => {
    if (/[%;]/.test(query)) throw undecidable('an escaped query');
    const all = new Map<string, string[]>();
    for (const part of query.split('&').filter((one) => one !== '')) {
      const at = part.indexOf('=');
      const [key, value] = (at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]).map((one) =>
        one.replaceAll('+', ' '),
      );
      all.set(key ?? '', [...(all.get(key ?? '') ?? []), value ?? '']);
    }
    return all;
  });
}
