import type { JsonObject } from './json.ts';
import { apiVersionOf, type ServedKind, served } from './kinds.ts';
import { metadataOf } from './metadata.ts';
import { inVersion, type ServerPorts } from './ports.ts';
import { badRequest, expired, invalidOptions, Refusal } from './refusal.ts';
import { fieldMatcher, labelMatcher, type Matcher } from './selectors.ts';
import type { Steps } from './steps.ts';
import type { Store } from './store.ts';

/** A collection that is read. */
export interface ReadTarget {
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
}

/** Whether an object is in the namespace and selected. 400 for a selector that does not parse. */
export function matcherOf({ kind, namespace, query }: ReadTarget): Matcher {
  const labels = labelMatcher(query.get('labelSelector') ?? '');
  const fields = fieldMatcher(query.get('fieldSelector') ?? '', kind);
  const anywhere = !kind.namespaced || namespace === undefined;
  return (object) => (anywhere || metadataOf(object)['namespace'] === namespace) && labels(object) && fields(object);
}

/** A resourceVersion of a query; undefined for none. */
export function versionOf(query: URLSearchParams, refusal: (message: string) => Refusal): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw refusal(`resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`);
}

interface Token {
  readonly rv: number;
  /** The last id of the page before. */
  readonly start: string;
}

const EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';

/** LIST: pages of `limit` in key order, all of the version of the first one. */
export function* list(store: Store, target: ReadTarget, ports: ServerPorts = {}): Steps<JsonObject> {
  const { kind, version, query } = target;
  const matches = matcherOf(target);
  const limit = Number(query.get('limit') ?? '0');
  const token = tokenOf(query);
  const at = token?.rv ?? exactVersion(store, query);
  let objects: readonly (readonly [string, JsonObject])[];
  try {
    objects = store.list(kind, at);
  } catch (error) {
    throw token === undefined ? error : expired(EXPIRED);
  }
  const rest = objects.filter(([id, object]) => (token === undefined || id > token.start) && matches(object));
  const page = limit > 0 ? rest.slice(0, limit) : rest;
  const last = page.at(-1);
  const more = last !== undefined && page.length < rest.length;
  const stored = page.map(([, object]) => object);
  const items = yield* inVersion(ports, kind, version, stored);
  const selected = (query.get('labelSelector') ?? '') !== '' || (query.get('fieldSelector') ?? '') !== '';
  return {
    apiVersion: apiVersionOf(kind, version),
    kind: `${kind.kind}List`,
    metadata: {
      // Lists of custom kinds always have the field.
      ...(kind.builtIn ? {} : { continue: '' }),
      resourceVersion: String(at),
      ...(more ? { continue: Buffer.from(JSON.stringify({ rv: at, start: last[0] })).toString('base64url') } : {}),
      // The server does not count what a selector would leave out.
      ...(more && !selected ? { remainingItemCount: rest.length - page.length } : {}),
    },
    // Lists of Kubernetes' own kinds say once what they are lists of.
    items: kind.rules?.read === undefined ? items.map((object) => served(object, kind, version)) : items,
  };
}

function tokenOf(query: URLSearchParams): Token | undefined {
  const text = query.get('continue') ?? '';
  if (text === '') return undefined;
  if ((query.get('resourceVersion') ?? '') !== '') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Token;
  } catch {
    throw badRequest('invalid continue token: continue key is not valid');
  }
}

/** The version to list: now, unless the query asks for exactly an older one. 504 for one that is not there yet. */
function exactVersion(store: Store, query: URLSearchParams): number {
  const wanted = versionOf(query, (message) => badRequest(`invalid resource version: ${message}`));
  const match = query.get('resourceVersionMatch');
  if (wanted === undefined) {
    if (match === null) return store.version;
    const message = 'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided';
    throw invalidOptions('ListOptions', 'resourceVersionMatch', 'FieldValueForbidden', message);
  }
  if (wanted > store.version) {
    const said = 'Too large resource version';
    throw new Refusal({
      code: 504,
      reason: 'Timeout',
      message: `Timeout: ${said}: ${wanted}, current: ${store.version}`,
      details: { causes: [{ reason: 'ResourceVersionTooLarge', message: said }], retryAfterSeconds: 1 },
    });
  }
  return match === 'Exact' ? wanted : store.version;
}
