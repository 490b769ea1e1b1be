import { edited, mistake, pick } from './field-mutations.ts';
import { jsonPatch, mergePatch, strategicPatch } from './patch-bodies.ts';
import { type FieldEdit, type Fields, type ObjectKind, type PlannedRequest, pathOf } from './planned-request.ts';

/** What requests of a history are made from. */
export interface Pool {
  readonly random: () => number;
  readonly kinds: readonly ObjectKind[];
}

/** Namespaces that every history finds. */
export const NAMESPACES = { main: 'differ-a', other: 'differ-b', limits: 'differ-limits' } as const;

const NAMES = ['a', 'b', 'c'];
const IN_LIMITS = new Set(['limitranges', 'resourcequotas']);

/** The `group/plural` of coverage. */
export function placeOf({ group, plural }: ObjectKind, subresource?: string): string {
  return [`${group}/${plural}`, subresource].filter((part) => part !== undefined).join('/');
}

/** An object of a kind that a request is about. */
export interface Subject {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly path: string;
  readonly template: Fields;
}

/** Chooses an object by name, there or not. */
export function subjectOf({ random }: Pool, kind: ObjectKind): Subject {
  const namespace = !kind.namespaced
    ? undefined
    : IN_LIMITS.has(kind.plural)
      ? NAMESPACES.limits
      : random() < 0.85
        ? NAMESPACES.main
        : pick(random, [NAMESPACES.other, NAMESPACES.other, 'nowhere']);
  const picked = pick(random, kind.templates);
  const template = JSON.parse(JSON.stringify(picked).replaceAll('<<NS>>', namespace ?? NAMESPACES.main)) as Fields;
  const own = (template['metadata'] as { readonly name?: string } | undefined)?.name;
  const name = own ?? (kind.plural === 'namespaces' ? `pool-${pick(random, NAMES)}` : pick(random, NAMES));
  return { namespace, name, path: pathOf(kind, namespace, name), template };
}

/** A whole object; `wrong`: how likely there is a mistake in it. */
export function objectOf(pool: Pool, kind: ObjectKind, subject: Subject, wrong: number): Fields {
  const { random } = pool;
  const { group, version } = kind;
  const own = (subject.template['metadata'] ?? {}) as Fields;
  const metadata: Record<string, unknown> = {
    name: subject.name,
    ...own,
    labels: { pool: 'yes', ...(own['labels'] as Fields | undefined) },
  };
  if (kind.namespaced && random() < 0.3) metadata['namespace'] = random() < 0.95 ? subject.namespace : 'elsewhere';
  if (random() < 0.1) metadata['finalizers'] = ['differ.test/hold'];
  if (random() < 0.08) metadata['ownerReferences'] = [ownerOf(pool)];
  const typed = random() < 0.9 ? { apiVersion: group === '' ? version : `${group}/${version}`, kind: kind.kind } : {};
  const whole = { ...typed, ...subject.template, metadata };
  if (random() >= wrong) return whole;
  const once = edited(whole, [mistake(random, whole)]);
  return random() < 0.2 ? edited(once, [mistake(random, once)]) : once;
}

function ownerOf(pool: Pool): Fields {
  const kind = pick(pool.random, pool.kinds);
  const { path, name } = subjectOf(pool, kind);
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const controller = pool.random() < 0.5 ? { controller: true, blockOwnerDeletion: true } : {};
  return { apiVersion, kind: kind.kind, name, uid: `<<uid ${path}>>`, ...controller };
}

/** The query of a write: dry run, field validation, field manager. */
function writeQuery({ random }: Pool, kind: ObjectKind, more: readonly string[] = []): string {
  const parts = [...more];
  const roll = random();
  if (kind.dryRunOnly === true || roll < 0.1) parts.push('dryRun=All');
  else if (roll < 0.12) parts.push('dryRun=Some');
  if (random() < 0.25)
    parts.push(`fieldValidation=${pick(random, ['Strict', 'Strict', 'Warn', 'Ignore', 'Sometimes'])}`);
  if (random() < 0.2 && !more.some((part) => part.startsWith('fieldManager=')))
    parts.push(`fieldManager=${pick(random, ['one', 'two', 'x'.repeat(130)])}`);
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** POST. */
export function create(pool: Pool, kind: ObjectKind, wrong = 0.5): PlannedRequest {
  const subject = subjectOf(pool, kind);
  const body = objectOf(pool, kind, subject, wrong);
  const query = writeQuery(pool, kind);
  const path = pathOf(kind, subject.namespace);
  // A generated name would come at another place of every later list.
  const generated = query.includes('dryRun=All') && pool.random() < 0.3;
  const metadata = body['metadata'];
  const sent =
    generated && typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)
      ? edited({ ...body, metadata: { ...metadata, generateName: 'made-' } }, [{ path: ['metadata', 'name'] }])
      : body;
  return { verb: 'create', patch: '', kind: placeOf(kind), method: 'POST', path: `${path}${query}`, body: sent };
}

/** PUT: a changed form of what is there, or an object of the client's own. */
export function update(pool: Pool, kind: ObjectKind, subresource?: string): PlannedRequest {
  const { random } = pool;
  const subject = subjectOf(pool, kind);
  const base = objectOf(pool, kind, subject, 0.3);
  const version = pick<FieldEdit[]>(random, [
    [],
    [],
    [{ path: ['metadata', 'resourceVersion'] }],
    [{ path: ['metadata', 'resourceVersion'], value: `<<old ${subject.path}>>` }],
    [{ path: ['metadata', 'uid'], value: '00000000-0000-4000-8000-000000000000' }],
  ]);
  const label = { path: ['metadata', 'labels', 'updated'], value: pick(random, ['1', '2', '3']) };
  const edits = [label, ...(random() < 0.6 ? [mistake(random, subject.template)] : []), ...version];
  const own = edited(base, [{ path: ['metadata', 'resourceVersion'], value: `<<version ${subject.path}>>` }]);
  const target = [subject.path, subresource].filter((part) => part !== undefined).join('/');
  return {
    ...{ verb: 'update', patch: '', kind: placeOf(kind, subresource), method: 'PUT' as const },
    path: `${target}${writeQuery(pool, kind)}`,
    ...{ body: own, ...(random() < 0.75 ? { edits } : {}) },
  };
}

const PATCH_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
  // None of them: 415.
  'application/json': 'application/json',
} as const;

/** A type of patch. */
export type PatchType = keyof typeof PATCH_TYPES;

/** PATCH. `body` replaces the generated one. */
export function patch(
  pool: Pool,
  kind: ObjectKind,
  as: PatchType,
  subresource?: string,
  body?: (subject: Subject) => unknown,
): PlannedRequest {
  const { random } = pool;
  const subject = subjectOf(pool, kind);
  const whole = { metadata: { labels: { pool: 'yes' }, annotations: {} }, ...subject.template };
  const bodies: Readonly<Record<PatchType, () => unknown>> = {
    json: () => jsonPatch(random, whole),
    merge: () => mergePatch(random, whole),
    strategic: () => strategicPatch(random, whole),
    apply: () => appliedOf(pool, kind, subject),
    'application/json': () => mergePatch(random, whole),
  };
  const manager = random() < 0.95 ? [`fieldManager=${pick(random, ['one', 'two'])}`] : [];
  const more = as === 'apply' ? [...manager, ...(random() < 0.5 ? ['force=true'] : [])] : [];
  const target = [subject.path, subresource].filter((part) => part !== undefined).join('/');
  return {
    ...{ verb: 'patch', patch: as, kind: placeOf(kind, subresource), method: 'PATCH' as const },
    ...{ path: `${target}${writeQuery(pool, kind, more)}`, type: PATCH_TYPES[as] },
    body: body?.(subject) ?? bodies[as](),
  };
}

function appliedOf(pool: Pool, kind: ObjectKind, subject: Subject): unknown {
  const { random } = pool;
  const body = objectOf(pool, kind, subject, 0.35);
  const fields = Object.keys(subject.template).filter((key) => key !== 'metadata');
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const typed = random() < 0.97 ? { apiVersion, kind: kind.kind, ...body } : body;
  // An applied configuration that no longer has a field gives it up.
  return random() < 0.2 && fields.length > 0 ? edited(typed, [{ path: [pick(random, fields)] }]) : typed;
}

/** DELETE of one object. */
export function remove(pool: Pool, kind: ObjectKind): PlannedRequest {
  const { random } = pool;
  const { path } = subjectOf(pool, kind);
  const options = pick<Fields | undefined>(random, [
    ...[undefined, undefined, undefined, { gracePeriodSeconds: 0 }, { gracePeriodSeconds: 5 }],
    ...['Background', 'Foreground', 'Orphan', 'Sideways'].map((propagationPolicy) => ({ propagationPolicy })),
    { preconditions: { uid: `<<uid ${path}>>` } },
    { preconditions: { uid: '00000000-0000-4000-8000-000000000000' } },
    { preconditions: { resourceVersion: `<<version ${path}>>` } },
    { preconditions: { resourceVersion: '1' } },
    { gracePeriodSeconds: -1 },
    { dryRun: ['All'] },
    { unknown: 1 },
  ]);
  return {
    ...{ verb: 'delete', patch: '', kind: placeOf(kind), method: 'DELETE' as const },
    path: `${path}${writeQuery(pool, kind)
      .replace(/[?&]field\w+=[^&]*/g, '')
      .replace(/^&/, '?')}`,
    ...(options === undefined ? {} : { body: { kind: 'DeleteOptions', apiVersion: 'v1', ...options } }),
  };
}

/** DELETE of a collection; only of what histories made. */
export function removeCollection(pool: Pool, kind: ObjectKind): PlannedRequest {
  const { namespace } = subjectOf(pool, kind);
  const selector = pick(pool.random, ['pool=yes', 'pool=yes,app=shop', 'pool=yes,patched', 'pool=yes,!app']);
  const dry = kind.dryRunOnly === true || pool.random() < 0.2 ? '&dryRun=All' : '';
  const path = `${pathOf(kind, namespace)}?labelSelector=${encodeURIComponent(selector)}${dry}`;
  return { verb: 'deletecollection', patch: '', kind: placeOf(kind), method: 'DELETE', path };
}
