import { pick } from './field-mutations.ts';
import { type ObjectKind, type PlannedRequest, pathOf } from './planned-request.ts';
import { NAMESPACES, type Pool, placeOf, subjectOf } from './write-requests.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const FORMS = [
  TABLE,
  TABLE,
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
];
const LIST_FORMS = [
  TABLE,
  TABLE,
  TABLE,
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
];

/** GET of one object; `formed`: as a table or as metadata. */
export function get(pool: Pool, kind: ObjectKind, formed = false): PlannedRequest {
  const { random } = pool;
  const { path } = subjectOf(pool, kind);
  const query = formed && random() < 0.4 ? `?includeObject=${pick(random, ['None', 'Object', 'Metadata', 'All'])}` : '';
  // A version that is there would let the server answer from a cache, which may be a moment behind.
  const versions = ['', '', '', '?resourceVersion=x'];
  return {
    ...{ verb: 'get', patch: '', kind: placeOf(kind), method: 'GET' as const },
    path: `${path}${query === '' ? pick(random, versions) : query}`,
    ...(formed ? { accept: pick(random, FORMS) } : {}),
  };
}

const LABELS = ['pool=yes', 'pool in (yes,no)', 'pool,app!=shop', 'pool,!app', 'app=shop,tier=web', 'pool=yes,updated'];
const BAD_LABELS = ['pool=', 'a b', 'pool in', '=x', '-bad=x'];
const FIELDS = [
  'metadata.name=a',
  'metadata.name!=a',
  `metadata.namespace=${NAMESPACES.main}`,
  'spec.nodeName=node-1',
  'status.phase=Pending',
  'status.phase!=Running',
  'type=Opaque',
  'involvedObject.name=a',
  'spec.unschedulable=true',
  'reason=Started',
  'bogus',
];

/** The selectors of lists and watches. */
function selection(random: () => number): readonly string[] {
  const parts: string[] = [];
  const roll = random();
  // A selector on what only histories make: the servers' own objects are in the lists without one.
  const label = roll < 0.9 ? pick(random, LABELS) : pick(random, BAD_LABELS);
  parts.push(`labelSelector=${encodeURIComponent(label)}`);
  if (random() < 0.25) parts.push(`fieldSelector=${encodeURIComponent(pick(random, FIELDS))}`);
  return parts;
}

/** A list. */
export function list(pool: Pool, kind: ObjectKind, form: 'object' | 'table' | 'pages' = 'object'): PlannedRequest {
  const { random } = pool;
  const { namespace } = subjectOf(pool, kind);
  const collection = pathOf(kind, random() < 0.8 ? namespace : undefined);
  const parts = [...selection(random)];
  if (form === 'pages') {
    parts.length = 0;
    parts.push(`labelSelector=pool%3Dyes`, `limit=${pick(random, [1, 1, 2])}`);
    if (random() < 0.6) parts.push(`continue=<<continue ${collection}>>`);
    if (random() < 0.05) parts.push('continue=nonsense');
  } else if (random() < 0.2) {
    const { path } = subjectOf(pool, kind);
    parts.push(
      ...pick(random, [
        [`resourceVersion=<<version ${path}>>`, 'resourceVersionMatch=Exact'],
        ['resourceVersion=x'],
        ['resourceVersionMatch=Exact'],
        ['resourceVersion=0', 'resourceVersionMatch=Exact'],
        ['resourceVersionMatch=Sometimes', 'resourceVersion=1'],
        ['limit=x'],
        ['timeoutSeconds=x'],
      ]),
    );
  }
  return {
    ...{ verb: 'list', patch: '', kind: placeOf(kind), method: 'GET' as const },
    path: `${collection}?${parts.join('&')}`,
    ...(form === 'table' ? { accept: pick(random, LIST_FORMS) } : {}),
  };
}

/** A watch of one second. */
export function watch(pool: Pool, kind: ObjectKind): PlannedRequest {
  const { random } = pool;
  const { namespace, path } = subjectOf(pool, kind);
  const collection = pathOf(kind, random() < 0.7 ? namespace : undefined);
  const parts = ['watch=1', 'timeoutSeconds=1', 'labelSelector=pool%3Dyes'];
  const from = `resourceVersion=<<version ${path}>>`;
  parts.push(
    ...pick(random, [
      [from],
      [from],
      [from, 'allowWatchBookmarks=true'],
      ['sendInitialEvents=true', 'resourceVersionMatch=NotOlderThan', 'allowWatchBookmarks=true'],
      ['sendInitialEvents=true', 'resourceVersionMatch=NotOlderThan', 'allowWatchBookmarks=true', from],
      ['sendInitialEvents=true'],
      ['sendInitialEvents=false', 'resourceVersionMatch=NotOlderThan', from],
      ['resourceVersion=x'],
      ['resourceVersionMatch=Exact', from],
      ['fieldSelector=metadata.name%3Da', from],
    ]),
  );
  return {
    ...{ verb: 'watch', patch: '', kind: placeOf(kind), method: 'GET' as const },
    path: `${collection}?${parts.join('&')}`,
    ...(random() < 0.25 ? { accept: TABLE } : {}),
  };
}
