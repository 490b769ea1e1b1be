import { edited, mistake, pick } from './field-mutations.ts';
import { DEBUG_CONTAINER, STATUSES } from './group-templates.ts';
import type { Fields, ObjectKind, PlannedRequest } from './planned-request.ts';
import { type PatchType, type Pool, patch, placeOf, subjectOf, update } from './write-requests.ts';

/** Whether requests on a subresource are generated. */
export function isCovered(name: string): boolean {
  return name in REQUESTS;
}

/** A request on a subresource of a kind; undefined where it is not covered. */
export function subresource(pool: Pool, kind: ObjectKind, name: string): PlannedRequest | undefined {
  return REQUESTS[name]?.(pool, kind, name);
}

type Make = (pool: Pool, kind: ObjectKind, name: string) => PlannedRequest;

function read(pool: Pool, kind: ObjectKind, name: string): PlannedRequest {
  const { path } = subjectOf(pool, kind);
  return { verb: 'get', patch: '', kind: placeOf(kind, name), method: 'GET', path: `${path}/${name}` };
}

function post(pool: Pool, kind: ObjectKind, name: string, bodies: readonly Fields[]): PlannedRequest {
  const { random } = pool;
  const { path, name: of } = subjectOf(pool, kind);
  const whole = JSON.parse(JSON.stringify(pick(random, bodies)).replaceAll('<<NAME>>', of)) as Fields;
  const body = random() < 0.3 ? edited(whole, [mistake(random, whole)]) : whole;
  const query = random() < 0.15 ? '?dryRun=All' : '';
  return {
    verb: 'create',
    patch: '',
    kind: placeOf(kind, name),
    method: 'POST',
    path: `${path}/${name}${query}`,
    body,
  };
}

/** How a status is asked for: each of these once in a history. */
export const STATUS_REQUESTS = ['get', 'update', 'merge', 'json', 'strategic', 'apply'] as const;

/** A request for a status. */
export function statusRequest(
  pool: Pool,
  kind: ObjectKind,
  name: string,
  how: (typeof STATUS_REQUESTS)[number] = pick(pool.random, STATUS_REQUESTS),
): PlannedRequest {
  const { random } = pool;
  if (how === 'get') return read(pool, kind, name);
  const known = STATUSES[placeOf(kind)] ?? { conditions: [{ type: 'Ready', status: 'True' }] };
  const status = random() < 0.6 ? known : edited(known, [mistake(random, known)]);
  if (how === 'update') {
    const planned = update(pool, kind, name);
    return { ...planned, edits: [...(planned.edits ?? []), { path: ['status'], value: status }] };
  }
  const as: PatchType = how;
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  return patch(pool, kind, as, name, (subject) => {
    if (as === 'json') return [{ op: 'add', path: '/status', value: status }];
    if (as !== 'apply') return { status, ...(random() < 0.2 ? { metadata: { labels: { by: 'status' } } } : {}) };
    return { apiVersion, kind: kind.kind, metadata: { name: subject.name }, status };
  });
}

function scaleRequest(pool: Pool, kind: ObjectKind, name: string): PlannedRequest {
  const { random } = pool;
  const roll = random();
  if (roll < 0.35) return read(pool, kind, name);
  const spec = { replicas: pick<unknown>(random, [0, 1, 3, -1, 'three', 3_000_000_000]) };
  const { path, name: of } = subjectOf(pool, kind);
  const body = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: of }, spec };
  const place = placeOf(kind, name);
  if (roll < 0.65) return { verb: 'update', patch: '', kind: place, method: 'PUT', path: `${path}/${name}`, body };
  return patch(pool, kind, pick(random, ['merge', 'json'] as const), name, () => ({ spec }));
}

const REQUESTS: Readonly<Record<string, Make>> = {
  status: (pool, kind, name) => statusRequest(pool, kind, name),
  scale: (pool, kind, name) => {
    const planned = scaleRequest(pool, kind, name);
    if (planned.patch !== 'json') return planned;
    const { spec } = planned.body as { readonly spec: { readonly replicas: unknown } };
    return { ...planned, body: [{ op: 'replace', path: '/spec/replicas', value: spec.replicas }] };
  },
  eviction: (pool, kind, name) =>
    post(pool, kind, name, [
      { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: '<<NAME>>' } },
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: '<<NAME>>' },
        deleteOptions: { gracePeriodSeconds: 0 },
      },
      { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'other' } },
    ]),
  binding: (pool, kind, name) =>
    post(pool, kind, name, [
      { apiVersion: 'v1', kind: 'Binding', metadata: { name: '<<NAME>>' }, target: { kind: 'Node', name: 'node-2' } },
    ]),
  token: (pool, kind, name) =>
    post(pool, kind, name, [
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: ['one'], expirationSeconds: 3600 },
      },
      { spec: { expirationSeconds: 60 } },
      { spec: { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'a' } } },
    ]),
  finalize: (pool, kind, name) => {
    const planned = update(pool, kind, name);
    const finalizers = pick<unknown>(pool.random, [['kubernetes'], ['kubernetes', 'differ.test/own'], ['bad']]);
    return { ...planned, edits: [{ path: ['spec', 'finalizers'], value: finalizers }] };
  },
  approval: (pool, kind, name) => {
    const planned = update(pool, kind, name);
    const condition = { type: pick(pool.random, ['Approved', 'Denied', 'Other']), status: 'True', reason: 'Test' };
    return { ...planned, edits: [{ path: ['status', 'conditions'], value: [condition] }] };
  },
  ephemeralcontainers: (pool, kind, name) =>
    pool.random() < 0.3
      ? read(pool, kind, name)
      : patch(pool, kind, 'strategic', name, () => ({ spec: { ephemeralContainers: [DEBUG_CONTAINER] } })),
  resize: (pool, kind, name) =>
    pool.random() < 0.3
      ? read(pool, kind, name)
      : patch(pool, kind, 'strategic', name, () => ({
          spec: {
            containers: [{ name: 'main', resources: { requests: { cpu: pick(pool.random, ['200m', '2', 'x']) } } }],
          },
        })),
  log: read,
};
