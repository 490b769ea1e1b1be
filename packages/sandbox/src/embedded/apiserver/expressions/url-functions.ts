import { EvaluationError } from './expression-errors.ts';
import { Dictionary, List, Opaque } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';

interface Url {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

/** Parses an absolute URL or an absolute path; undefined for other texts. */
export function parseUrl(text: string): Url | undefined {
  if (Array.from(text).some((letter) => letter <= ' ')) return undefined;
  const [, scheme, host, rest = '', query = ''] =
    /^(?:([A-Za-z][-A-Za-z0-9+.]*):(?:\/\/([^/?#]*))?)?([^?#]*)(?:\?([^#]*))?(?:#.*)?$/.exec(text) ?? [];
  if (scheme === undefined && !text.startsWith('/')) return undefined;
  // `mailto:x` is opaque: it has no path.
  const path = rest.startsWith('/') ? rest : '';
  if (host !== undefined && rest !== '' && path === '') return undefined;
  const hasPort = /^(?:.*@)?(?:\[[^\]]*\]|[^:]*)(?::(\d*))?$/.test(host ?? '');
  return hasPort ? { scheme: scheme ?? '', host: (host ?? '').replace(/^.*@/, ''), path, query } : undefined;
}

const urlOf = ({ data }: Opaque): Url => data as Url;

/** Functions of URLs. */
export const URL_FUNCTIONS: Functions = {
  'isURL(string):bool': (text: string) => parseUrl(text) !== undefined,
  'url(string):url': (text: string) => {
    const url = parseUrl(text);
    if (url !== undefined) return new Opaque('url', url, text);
    throw new EvaluationError(
      `URL parse error during conversion from string: parse "${text}": invalid URI for request`,
    );
  },
  'url.getScheme():string': (a: Opaque) => urlOf(a).scheme,
  'url.getHost():string': (a: Opaque) => urlOf(a).host,
  'url.getHostname():string': (a: Opaque) =>
    urlOf(a)
      .host.replace(/:\d*$/, '')
      .replace(/^\[(.*)\]$/, '$1'),
  'url.getPort():string': (a: Opaque) => /:(\d*)$/.exec(urlOf(a).host)?.[1] ?? '',
  'url.getEscapedPath():string': (a: Opaque) => encodeURI(decodeURI(urlOf(a).path)),
  'url.getQuery():map<string,list<string>>': (a: Opaque) => {
    const values = Map.groupBy(new URLSearchParams(urlOf(a).query), ([key]) => key);
    return Dictionary.of([...values].map(([key, pairs]) => [key, List.of(pairs.map(([, value]) => value))]));
  },
};
