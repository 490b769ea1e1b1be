import {
  badRequest,
  invalid,
  isObject,
  type JsonObject,
  jsonPatch,
  listOf,
  mergePatch,
  metadataOf,
  notFound,
  type OtherRequest,
  objectOf,
  Refusal,
  type ServedKind,
  type Steps,
} from '@drydock/kube/testing/api-server';
import { notNegative } from './checks.ts';
import { type Draft, textOf } from './draft.ts';
import { selectorText, selects } from './pod-checks.ts';
import { checkPatchedScale, checkSubresourceBody } from './subresource-bodies.ts';

type Answer = Steps<{ readonly code: number; readonly body: unknown } | undefined>;

/** Where a kind keeps what its scale subresource shows; paths such as `.spec.replicas`. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

const BUILT_IN_SCALE: ScalePaths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

/** What is asked about other objects. */
export interface SubresourceHost {
  list(group: string, plural: string): readonly JsonObject[];
  scaleOf(kind: ServedKind, version: string): ScalePaths | undefined;
  now(): string;
  /** Whether workloads are simulated. */
  readonly simulated?: boolean;
}

const SUCCESS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } as const;

/** Answers subresources other than status; what the embedded server cannot do is refused by name. */
export function* subresource(request: OtherRequest, host: SubresourceHost): Answer {
  checkSubresourceBody(request);
  const { method, namespace } = request;
  const homeless =
    namespace !== undefined && !host.list('', 'namespaces').some((one) => metadataOf(one)['name'] === namespace);
  if (method === 'POST' && homeless) throw notFound({ group: '', kind: 'Namespace', plural: 'namespaces' }, namespace);
  switch (request.subresource) {
    case 'scale':
      return yield* scale(request, host);
    case 'eviction':
      return yield* evict(request, host);
    case 'binding':
      return yield* bind(request, host);
    case 'finalize':
    case 'approval':
    case 'ephemeralcontainers':
    case 'resize':
      return yield* part(request);
    case 'log': {
      const { nodeName = '' } = objectOf(request.current()['spec']);
      if (nodeName === '') return { code: 204, body: '' };
      throw notImplemented(`logs of pods (${request.name})`);
    }
    default:
      if (!request.kind.builtIn) return undefined;
      throw notImplemented(`the subresource ${request.kind.plural}/${request.subresource}`);
  }
}

/** 501 with the name of what is missing. */
export function notImplemented(what: string): Refusal {
  return new Refusal({
    code: 501,
    reason: 'NotImplemented',
    message: `the embedded API server does not have ${what}; use the real one`,
  });
}

function at(object: JsonObject, path: string): unknown {
  let value: unknown = object;
  for (const field of path.split('.').slice(1)) value = isObject(value) ? value[field] : undefined;
  return value;
}

function put(object: JsonObject, path: readonly string[], value: unknown): JsonObject {
  const [field, ...rest] = path;
  if (field === undefined) return object;
  return { ...object, [field]: rest.length === 0 ? value : put(objectOf(object[field]), rest, value) };
}

function scaleObject({ kind }: OtherRequest, object: JsonObject, paths: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadataOf(object);
  const selector = kind.builtIn
    ? kind.kind === 'ReplicationController'
      ? selectorText({ matchLabels: objectOf(objectOf(object['spec'])['selector']) })
      : selectorText(objectOf(objectOf(object['spec'])['selector']) as Draft)
    : paths.labelSelectorPath === undefined
      ? ''
      : textOf(at(object, paths.labelSelectorPath));
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: replicasOf(at(object, paths.specReplicasPath)),
    status: { replicas: at(object, paths.statusReplicasPath) ?? 0, ...(selector === '' ? {} : { selector }) },
  };
}

function replicasOf(value: unknown): JsonObject {
  return value === undefined || value === 0 ? {} : { replicas: value };
}

function* scale(request: OtherRequest, host: SubresourceHost): Answer {
  const { kind, method, name, body, version } = request;
  const paths = kind.builtIn ? BUILT_IN_SCALE : host.scaleOf(kind, version);
  if (paths === undefined) return undefined;
  if (!kind.builtIn && method === 'GET' && at(request.current(), paths.specReplicasPath) === undefined) {
    const said = `the spec replicas field ${JSON.stringify(paths.specReplicasPath)} does not exist`;
    const details = { causes: [{ message: said }] as never };
    throw new Refusal({ code: 500, reason: 'InternalError', message: `Internal error occurred: ${said}`, details });
  }
  if (method === 'GET') return { code: 200, body: scaleObject(request, request.current(), paths) };
  if (method !== 'PUT' && method !== 'PATCH') throw notAllowed();
  let zero = false;
  const change = (current: JsonObject): JsonObject => {
    const now = scaleObject(request, current, paths);
    const wanted = method === 'PUT' ? objectOf(body) : patched(now, request);
    if (method === 'PATCH') checkPatchedScale(wanted);
    const { name: given, resourceVersion } = metadataOf(wanted);
    if (given !== name) {
      throw badRequest(`the name of the object (${textOf(given)}) does not match the name on the URL (${name})`);
    }
    const { replicas = 0 } = objectOf(wanted['spec']);
    const causes = notNegative('spec.replicas', replicas);
    if (causes.length > 0) throw invalid({ group: 'autoscaling', kind: 'Scale', plural: 'scales' }, name, causes);
    zero = replicas === 0;
    const scaled = put(current, paths.specReplicasPath.split('.').slice(1), replicas);
    const guarded = typeof resourceVersion === 'string' && resourceVersion !== '';
    return guarded ? { ...scaled, metadata: { ...metadataOf(scaled), resourceVersion } } : scaled;
  };
  // A scale of zero says nothing, so its author owns nothing.
  const { object } = yield* request.patch(change, () => zero);
  return { code: 200, body: scaleObject(request, object, paths) };
}

function patched(current: JsonObject, { contentType, body }: OtherRequest): JsonObject {
  if (contentType === 'application/json-patch+json') return jsonPatch(current, body);
  if (contentType === 'application/apply-patch+yaml') throw notImplemented('an apply to the scale subresource');
  return objectOf(mergePatch(current, body));
}

/** A write of one part of an object that has no half of its own. */
function* part(request: OtherRequest): Answer {
  const { method, body, kind, subresource: name } = request;
  if (method === 'GET') {
    const object = request.current();
    const apiVersion = kind.group === '' ? request.version : `${kind.group}/${request.version}`;
    return { code: 200, body: { apiVersion, kind: kind.kind, ...object } };
  }
  if (method !== 'PUT' && method !== 'PATCH') throw notAllowed();
  const { object } = yield* request.patch((current) => {
    const wanted = method === 'PUT' ? objectOf(body) : patched(current, request);
    const { resourceVersion } = metadataOf(wanted);
    const metadata = { ...metadataOf(current), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    if (name === 'approval') return { ...current, metadata, status: wanted['status'] };
    return { ...current, metadata, spec: wanted['spec'] };
  });
  return { code: 200, body: object };
}

// A binding waits for nobody, unlike other subresources.
function* bind(request: OtherRequest, host: SubresourceHost): Answer {
  const { method, body, name } = request;
  if (method !== 'POST') throw notAllowed();
  const { name: given } = metadataOf(objectOf(body));
  if (given !== name) throw badRequest('name in URL does not match name in Binding object');
  const node = objectOf(objectOf(body)['target'])['name'];
  request.store((pod) => {
    const spec = objectOf(pod['spec']);
    if (typeof spec['nodeName'] === 'string' && spec['nodeName'] !== '') {
      const message = `Operation cannot be fulfilled on pods/binding "${name}": pod ${name} is already assigned to node "${spec['nodeName']}"`;
      throw new Refusal({ code: 409, reason: 'Conflict', message, details: { name, kind: 'pods/binding' } });
    }
    const status = objectOf(pod['status']);
    const conditions = listOf(status['conditions']).filter((one) => objectOf(one)['type'] !== 'PodScheduled');
    const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: host.now() };
    return { ...pod, spec: { ...spec, nodeName: node }, status: { ...status, conditions: [...conditions, scheduled] } };
  });
  return { code: 201, body: { ...SUCCESS, code: 201 } };
}

function* evict(request: OtherRequest, host: SubresourceHost): Answer {
  const { method, body, name, namespace } = request;
  if (method !== 'POST') throw notAllowed();
  const eviction = objectOf(body);
  const { name: given = '' } = metadataOf(eviction);
  if (given !== name) throw badRequest('name in URL does not match name in Eviction object');
  const pod = request.current();
  const { phase } = objectOf(pod['status']);
  const labels = objectOf(metadataOf(pod)['labels']);
  const terminal = phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending';
  const leaving = metadataOf(pod)['deletionTimestamp'] !== undefined;
  if (!terminal && !leaving) {
    const budgets = host
      .list('policy', 'poddisruptionbudgets')
      .filter((one) => metadataOf(one)['namespace'] === namespace)
      .filter((one) => selects((objectOf(one['spec'])['selector'] ?? {}) as Draft, labels));
    if (budgets.length > 1) {
      const message =
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
      throw new Refusal({ code: 500, reason: 'InternalError', message: `Internal error occurred: ${message}` });
    }
    for (const budget of budgets) checkBudget(budget, host.simulated === true ? lostSince(budget, host) : 0);
  }
  // Who watches the pod sees why it goes.
  if (!leaving) request.store((one) => withDisruption(one, host.now()));
  yield* request.remove(objectOf(eviction['deleteOptions']));
  return { code: 201, body: { ...SUCCESS, code: 201 } };
}

function withDisruption(pod: JsonObject, now: string): JsonObject {
  const status = objectOf(pod['status']);
  const condition = {
    ...{ type: 'DisruptionTarget', status: 'True', lastProbeTime: null, lastTransitionTime: now },
    ...{ reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' },
  };
  const others = listOf(status['conditions']).filter((one) => objectOf(one)['type'] !== 'DisruptionTarget');
  return { ...pod, status: { ...status, conditions: [...others, condition] } };
}

/** How many healthy pods of a budget have gone since its status was written, which is a moment after each change. */
function lostSince(budget: JsonObject, host: SubresourceHost): number {
  const { namespace } = metadataOf(budget);
  const selector = objectOf(objectOf(budget['spec'])['selector']) as Draft;
  const healthy = host
    .list('', 'pods')
    .filter((pod) => metadataOf(pod)['namespace'] === namespace && metadataOf(pod)['deletionTimestamp'] === undefined)
    .filter((pod) => selects(selector, objectOf(metadataOf(pod)['labels'])))
    .filter((pod) =>
      listOf(objectOf(pod['status'])['conditions'])
        .map(objectOf)
        .some(({ type, status }) => type === 'Ready' && status === 'True'),
    ).length;
  return Math.max(0, Number(objectOf(budget['status'])['currentHealthy'] ?? 0) - healthy);
}

function checkBudget(budget: JsonObject, lost: number): void {
  const { name, generation } = metadataOf(budget);
  const status = objectOf(budget['status']);
  const tooMany = (message: string, causes: readonly object[], retryAfterSeconds?: number): Refusal =>
    new Refusal({
      code: 429,
      reason: 'TooManyRequests',
      message,
      details: { causes: causes as never, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) },
    });
  if (Number(status['observedGeneration'] ?? 0) < Number(generation ?? 0)) {
    const message = `The disruption budget ${String(name)} is still being processed by the server.`;
    throw tooMany(
      "Cannot evict pod as it would violate the pod's disruption budget.",
      [{ reason: 'DisruptionBudget', message }],
      10,
    );
  }
  if (Number(status['disruptionsAllowed'] ?? 0) > lost) return;
  const message = `The disruption budget ${String(name)} needs ${Number(status['desiredHealthy'] ?? 0)} healthy pods and has ${Number(status['currentHealthy'] ?? 0)} currently`;
  throw tooMany("Cannot evict pod as it would violate the pod's disruption budget.", [
    { reason: 'DisruptionBudget', message },
  ]);
}

function notAllowed(): Refusal {
  const message = 'the server does not allow this method on the requested resource';
  return new Refusal({ code: 405, reason: 'MethodNotAllowed', message, details: {} });
}
