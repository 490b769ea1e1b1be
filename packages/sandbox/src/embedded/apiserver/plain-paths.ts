import { methodNotAllowed, notImplemented, notServed } from './api-failure.ts';
import type { AggregatedForm, DiscoveryDocuments } from './discovery-documents.ts';
import type { WireRequest } from './https-listener.ts';
import { acceptClauses } from './media-types.ts';
import type { OpenApiDocuments } from './openapi-documents.ts';
import type { RequestInfo } from './request-info.ts';
import { ISSUER } from './service-account-tokens.ts';
import { type Answer, headerOf, JSON_TYPE, jsonAnswer, PAGE_NOT_FOUND, textAnswer } from './wire-answer.ts';

/** What the paths that name no resource answer with. */
export interface PlainPaths {
  readonly discovery: () => DiscoveryDocuments;
  readonly openApi: OpenApiDocuments;
  /** Of `/version`. */
  readonly version: unknown;
  readonly jwks: unknown;
  /** `https://127.0.0.1:PORT`. */
  readonly url: () => string;
}

const HEALTH = /^\/(?:healthz|livez|readyz)(?:\/(?<check>.*))?$/;
const CHECKS = ['ping', 'log', 'etcd', 'informer-sync', 'poststarthook/rbac/bootstrap-roles'];

/** Answers health, version, discovery, OpenAPI and the keys of tokens; anything else is not found. */
export function plainAnswer(paths: PlainPaths, info: RequestInfo, request: WireRequest): Answer {
  const path = info.path.length > 1 ? info.path.replace(/\/$/, '') : info.path;
  if (info.verb !== 'get' && info.verb !== 'head') throw methodNotAllowed();
  if (HEALTH.test(path)) return health(path, info);
  switch (path) {
    case '/':
      return jsonAnswer(200, { paths: rootPaths(paths.discovery()) }, true);
    case '/version':
      return jsonAnswer(200, paths.version, true);
    case '/openid/v1/jwks':
      return { ...jsonAnswer(200, paths.jwks), type: 'application/jwk-set+json' };
    case '/.well-known/openid-configuration':
      return jsonAnswer(200, openIdConfiguration(paths.url()));
    case '/openapi/v2':
      throw notImplemented('/openapi/v2 (it has /openapi/v3)');
    case '/openapi/v3':
      return jsonAnswer(200, paths.openApi.index());
  }
  if (path.startsWith('/openapi/v3/')) return openApi(paths.openApi, path, info, request);
  if (path === '/metrics' || path.startsWith('/metrics/') || path.startsWith('/debug/')) throw notImplemented(path);
  return discovery(paths.discovery(), path, request) ?? PAGE_NOT_FOUND;
}

function health(path: string, { query }: RequestInfo): Answer {
  const { check } = HEALTH.exec(path)?.groups ?? {};
  if (check !== undefined) return CHECKS.includes(check) ? textAnswer(200, 'ok') : PAGE_NOT_FOUND;
  if (!query.has('verbose')) return textAnswer(200, 'ok');
  const [, name = ''] = path.split('/');
  return textAnswer(200, `${CHECKS.map((one) => `[+]${one} ok\n`).join('')}${name} check passed\n`);
}

function rootPaths({ served }: DiscoveryDocuments): readonly string[] {
  const groups = [...served].flatMap(([group, versions]) =>
    group === '' ? [] : [`/apis/${group}`, ...versions.map((version) => `/apis/${group}/${version}`)],
  );
  const others = ['/healthz', '/livez', '/openapi/v3', '/readyz', '/version'];
  return ['/.well-known/openid-configuration', '/api', '/api/v1', '/apis', ...groups.sort(), ...others];
}

function openIdConfiguration(url: string): unknown {
  return {
    issuer: ISSUER,
    jwks_uri: `${url}/openid/v1/jwks`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}

function openApi(documents: OpenApiDocuments, path: string, { query }: RequestInfo, request: WireRequest): Answer {
  const document = documents.document(path.slice('/openapi/v3/'.length));
  if (document === undefined) return PAGE_NOT_FOUND;
  const etag = `"${document.hash}"`;
  const headers = { etag, vary: 'Accept' };
  if (headerOf(request, 'if-none-match') === etag) return { code: 304, type: JSON_TYPE, text: '', headers };
  const immutable = query.get('hash') === document.hash ? { 'cache-control': 'public, immutable' } : {};
  return { code: 200, type: JSON_TYPE, text: document.text, headers: { ...headers, ...immutable } };
}

function discovery(documents: DiscoveryDocuments, path: string, request: WireRequest): Answer | undefined {
  const form = path === '/api' || path === '/apis' ? aggregatedForm(headerOf(request, 'accept')) : undefined;
  if (form !== undefined) {
    const { body, etag } = documents.aggregated(path === '/api', form);
    const headers = { etag, vary: 'Accept' };
    if (headerOf(request, 'if-none-match') === etag) return { code: 304, type: JSON_TYPE, text: '', headers };
    const type = `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`;
    return { ...jsonAnswer(200, body), type, headers };
  }
  if (path === '/api') return { ...jsonAnswer(200, documents.legacyVersions), headers: { vary: 'Accept' } };
  if (path === '/apis') return { ...jsonAnswer(200, documents.groups), headers: { vary: 'Accept' } };
  const [, legacy, group, version] = /^\/(?:api\/(v1)|apis\/([^/]+)(?:\/([^/]+))?)$/.exec(path) ?? [];
  const body =
    legacy !== undefined
      ? documents.resources('', legacy)
      : group === undefined
        ? undefined
        : version === undefined
          ? documents.group(group)
          : documents.resources(group, version);
  // A version that a known group does not have.
  if (body === undefined && group !== undefined && documents.served.has(group)) throw notServed();
  return body === undefined ? undefined : jsonAnswer(200, body);
}

function aggregatedForm(accept: string | undefined): AggregatedForm | undefined {
  for (const { type, parameters } of acceptClauses(accept ?? '')) {
    if (type !== 'application/json') continue;
    if (parameters.get('as') !== 'APIGroupDiscoveryList' || parameters.get('g') !== 'apidiscovery.k8s.io') {
      if (parameters.get('as') === undefined) return undefined;
      continue;
    }
    const version = parameters.get('v');
    if (version === 'v2' || version === 'v2beta1') return version;
  }
  return undefined;
}
