/**
 * What a request asks for, as authorization and routing see it. The rules are those of Kubernetes: a path under `/api` or `/apis` with enough segments names a
 * resource; everything else is a plain path whose verb is the HTTP method.
 */
export interface RequestInfo {
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the method in lower case for plain paths. */
  readonly verb: string;
  /** Absent for plain paths. */
  readonly resource?: ResourcePath;
}

/** The resource that a path names. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  /** Plural. */
  readonly resource: string;
  readonly subresource: string;
  /** '' where the path names no namespace. */
  readonly namespace: string;
  /** As the path has it; `selectedName` adds the name that a field selector asks for. */
  readonly name: string;
  /** The name that authorization sees: that of the path, or of a `metadata.name=` selector of a list or watch. */
  readonly authorizedName: string;
  /** Segments after the subresource, such as the path of a proxy. */
  readonly rest: readonly string[];
}

const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

const METHOD_VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Reads a request line. Throws URIError for a path that cannot be decoded. */
export function requestInfoOf(method: string, target: string): RequestInfo {
  const mark = target.indexOf('?');
  const raw = mark === -1 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1));
  const path = raw.includes('%') ? decodeURIComponent(raw) : raw;
  const plain: RequestInfo = { path, query, verb: method.toLowerCase() };
  const parts = raw.split('/').filter((_part, at, all) => !(at === 0 || (at === all.length - 1 && all[at] === '')));
  if (parts.length < 3) return plain;
  const [prefix = ''] = parts;
  if (prefix !== 'api' && prefix !== 'apis') return plain;
  let at = 1;
  let group = '';
  if (prefix === 'apis') {
    if (parts.length < 4) return plain;
    group = parts[at++] ?? '';
  }
  const version = parts[at++] ?? '';
  let verb = METHOD_VERBS[method] ?? '';
  let forced = false;
  if (parts[at] === 'watch' && at + 1 < parts.length) {
    verb = 'watch';
    forced = true;
    at += 1;
  }
  let namespace = '';
  if (parts[at] === 'namespaces' && at + 1 < parts.length) {
    namespace = parts[at + 1] ?? '';
    if (at + 2 < parts.length && !NAMESPACE_SUBRESOURCES.has(parts[at + 2] ?? '')) at += 2;
  }
  const [resource = '', name = '', subresource = '', ...rest] = parts.slice(at).map((part) => decodeURIComponent(part));
  let authorizedName = name;
  if (name === '' && verb === 'get') {
    verb = isTrue(query.get('watch')) ? 'watch' : 'list';
    authorizedName = selectedName(query) ?? '';
  } else if (name === '' && verb === 'delete') verb = 'deletecollection';
  else if (forced && name === '') authorizedName = selectedName(query) ?? '';
  const found = {
    group,
    version,
    resource,
    subresource,
    namespace: decodeURIComponent(namespace),
    name,
    authorizedName,
    rest,
  };
  return { path, query, verb, resource: found };
}

/** How the server reads a boolean of a query: anything but `false` and `0` counts, also nothing at all. */
export function isTrue(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== 'false' && value !== '0';
}

function selectedName(query: URLSearchParams): string | undefined {
  const selector = query.get('fieldSelector') ?? '';
  for (const term of selector.split(',')) {
    const [, name] = /^\s*metadata\.name==?([^!=\s]+)$/.exec(term) ?? [];
    if (name !== undefined && !/[/%]/.test(name) && name !== '.' && name !== '..') return name;
  }
  return undefined;
}
