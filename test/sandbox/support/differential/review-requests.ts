import { edited, mistake, pick } from './field-mutations.ts';
import type { Fields, PlannedRequest, RequestUser } from './planned-request.ts';
import { NAMESPACES, type Pool, placeOf } from './write-requests.ts';

const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const AUTHENTICATION = '/apis/authentication.k8s.io/v1';
const PLAIN = ['/healthz', '/readyz', '/livez', '/api', '/apis', '/version', '/nowhere', '/openapi/v3'];
const OLD_DISCOVERY = 'application/json';
const AGGREGATED = [
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json',
];

/** Discovery: of everything, or of the group of a kind. */
export function discovery({ random, kinds }: Pool): PlannedRequest {
  const { group, version } = pick(random, kinds);
  const of = group === '' ? ['/api/v1'] : [`/apis/${group}`, `/apis/${group}/${version}`, `/apis/${group}/v9`];
  const path = pick(random, [...PLAIN, ...of, ...of, ...of]);
  const both = path === '/api' || path === '/apis';
  const accept = both && random() < 0.6 ? pick(random, AGGREGATED) : OLD_DISCOVERY;
  return {
    verb: 'discovery',
    patch: '',
    kind: path.startsWith('/apis/') ? '/apis/GROUP' : path,
    method: 'GET',
    path,
    accept,
  };
}

/** A review of rights or of a token, in the name of any user. */
export function review(pool: Pool): PlannedRequest {
  const { random } = pool;
  const { group, plural: resource } = pick(random, pool.kinds);
  const verb = pick(random, ['get', 'list', 'create', 'delete', '*']);
  const namespace = pick(random, [NAMESPACES.main, NAMESPACES.other, '']);
  const resourceAttributes = { group, resource, verb, namespace, ...(random() < 0.3 ? { name: 'a' } : {}) };
  const nonResourceAttributes = { path: pick(random, ['/healthz', '/metrics']), verb: 'get' };
  const asked = pick<Fields>(random, [{ resourceAttributes }, { resourceAttributes }, { nonResourceAttributes }, {}]);
  const user = pick(random, ['differ-reader', 'differ-editor', 'system:kube-scheduler', '']);
  const [path, kind, spec] = pick<readonly [string, string, Fields | undefined]>(random, [
    [`${AUTHORIZATION}/selfsubjectaccessreviews`, 'SelfSubjectAccessReview', asked],
    [`${AUTHORIZATION}/selfsubjectaccessreviews`, 'SelfSubjectAccessReview', asked],
    [`${AUTHORIZATION}/subjectaccessreviews`, 'SubjectAccessReview', { ...asked, user, groups: ['differ-editors'] }],
    [
      `${AUTHORIZATION}/namespaces/${NAMESPACES.main}/localsubjectaccessreviews`,
      'LocalSubjectAccessReview',
      { ...asked, user },
    ],
    [`${AUTHORIZATION}/selfsubjectrulesreviews`, 'SelfSubjectRulesReview', { namespace }],
    [`${AUTHENTICATION}/selfsubjectreviews`, 'SelfSubjectReview', undefined],
    [`${AUTHENTICATION}/tokenreviews`, 'TokenReview', { token: pick(random, ['nonsense', 'a.b.c', '']) }],
  ]);
  const group_ = path.split('/')[2] ?? '';
  const whole = { apiVersion: `${group_}/v1`, kind, ...(spec === undefined ? {} : { spec }) };
  return {
    ...{ verb: 'create', patch: '', kind: `${group_}/${path.split('/').at(-1)}`, method: 'POST' as const, path },
    body: random() < 0.2 ? edited(whole, [mistake(random, whole)]) : whole,
    user: pick<RequestUser>(random, ['admin', 'reader', 'editor', 'nobody']),
  };
}

/** A binding posted to its own collection, which has no objects. */
export function binding(pool: Pool): PlannedRequest {
  const name = pick(pool.random, ['a', 'b', 'c']);
  const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: 'node-1' } };
  const path = `/api/v1/namespaces/${NAMESPACES.main}/bindings`;
  return {
    verb: 'create',
    patch: '',
    kind: placeOf({ group: '', plural: 'bindings' } as never),
    method: 'POST',
    path,
    body,
  };
}
