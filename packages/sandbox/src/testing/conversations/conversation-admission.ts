import { type Conversation, isEstablished, type Line } from './conversation-player.ts';

// Webhooks, policies and conversions. `https://hook.invalid` stands for `webhook-double.ts`, `THE_CA` and `OTHER_CA` for its authority and another one.

const base = 'https://hook.invalid';

const client = (path: string, caBundle = 'THE_CA'): object => ({ url: base + path, caBundle });

const hook = (type: string, path: string, name: string, over: object = {}): Line => ({
  method: 'POST',
  path: `/apis/admissionregistration.k8s.io/v1/${type}webhookconfigurations`,
  body: {
    metadata: { name: `${name}-NS` },
    webhooks: [
      {
        name: `${name}.drydock.dev`,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        clientConfig: client(path),
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'NS' } },
        objectSelector: { matchLabels: { hook: name } },
        rules: [
          { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps', 'pods/status', 'pods'] },
        ],
        timeoutSeconds: 2,
        ...over,
      },
    ],
  },
});
const cm = (name: string, asks: string, q = '', more: object = {}): Line => ({
  method: 'POST',
  path: `/api/v1/namespaces/NS/configmaps${q}`,
  body: { metadata: { name, labels: { hook: asks } }, ...more },
});
const VAP = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  VAPB = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
const pol = (name: string, spec: object, bind: object = {}): readonly [Line, Line] => [
  {
    method: 'POST',
    path: VAP,
    body: {
      metadata: { name: `${name}-NS` },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'NS' } },
          objectSelector: { matchLabels: { vap: name } },
          resourceRules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        },
        ...spec,
      },
    },
  },
  {
    method: 'POST',
    path: VAPB,
    body: {
      metadata: { name: `${name}-b-NS` },
      spec: { policyName: `${name}-NS`, validationActions: ['Deny'], ...bind },
    },
  },
];
const vcm = (name: string, vap: string, data: object = {}, q = ''): Line => ({
  method: 'POST',
  path: `/api/v1/namespaces/NS/configmaps${q}`,
  body: { metadata: { name, labels: { vap } }, data },
});
const G = 'conv.NS.io',
  crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const sc = (f: string): object => ({
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { [f]: { type: 'string' } } } },
  },
});
const crd = {
  method: 'POST',
  path: crds,
  body: {
    metadata: { name: `foos.${G}` },
    spec: {
      group: G,
      names: { kind: 'Foo', plural: 'foos' },
      scope: 'Namespaced',
      conversion: {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: client('/convert') },
      },
      versions: [
        { name: 'v1', served: true, storage: true, schema: sc('one') },
        { name: 'v2', served: true, storage: false, schema: sc('two') },
      ],
    },
  },
};
const F = (v: string): string => `/apis/${G}/${v}/namespaces/NS/foos`;
const merge = (path: string, body: unknown, q = ''): Line => ({
  method: 'PATCH',
  path: path + q,
  type: 'application/merge-patch+json',
  body,
});
/** Admission webhooks that change, refuse, fail and dawdle; policies; conversions. */
export const ADMISSION: Conversation = {
  name: 'webhooks, policies and conversions',
  lines: [
    hook('mutating', '/mutate', 'mutate'),
    hook('validating', '/deny', 'deny', {
      rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    }),
    hook('validating', '/denycode', 'denycode'),
    hook('validating', '/denybare', 'denybare'),
    hook('validating', '/warn', 'warn'),
    hook('validating', '/junk', 'junk'),
    hook('validating', '/500', 'fivehundred'),
    hook('validating', '/slow', 'slow'),
    hook('validating', '/slow', 'slowignore', { failurePolicy: 'Ignore', timeoutSeconds: 1 }),
    hook('validating', '/echo', 'echo'),
    hook('mutating', '/badpatch', 'badpatch'),
    hook('validating', '/warn', 'wrongca', { clientConfig: client('/warn', 'OTHER_CA') }),
    hook('validating', '/warn', 'service', { clientConfig: { service: { name: 'x', namespace: 'NS', path: '/p' } } }),
    hook('validating', '/deny', 'effects', { sideEffects: 'NoneOnDryRun' }),
    hook('validating', '/deny', 'cond', {
      matchConditions: [{ name: 'x', expression: "request.operation == 'DELETE'" }],
    }),
    hook('validating', '/deny', 'condbad', { matchConditions: [{ name: 'x', expression: 'object.nope.x == 1' }] }),
    { ...hook('validating', '/x', 'bad', { matchConditions: [{ name: 'x', expression: 'foo' }] }), pause: 1500 },
    hook('validating', '/x', 'bad2', { clientConfig: { url: 'http://x' }, sideEffects: 'Some', timeoutSeconds: 90 }),
    cm('m', 'mutate'),
    merge('/api/v1/namespaces/NS/configmaps/m', { data: { a: 'b' }, metadata: { labels: { hook: 'mutate' } } }),
    cm('d', 'deny'),
    cm('d', 'denycode'),
    cm('d', 'denybare'),
    cm('w', 'warn'),
    cm('d', 'junk'),
    cm('d', 'fivehundred'),
    cm('d', 'slow'),
    cm('si', 'slowignore'),
    { ...cm('d', 'badpatch'), differs: 'what a patch cannot do is told in other words' },
    cm('d', 'wrongca'),
    cm('d', 'service'),
    cm('d', 'effects', '?dryRun=All'),
    cm('c', 'cond'),
    { method: 'DELETE', path: '/api/v1/namespaces/NS/configmaps/c' },
    cm('d', 'condbad'),
    cm('e', 'echo'),
    cm('e2', 'echo', '?dryRun=All&fieldManager=fm'),
    merge('/api/v1/namespaces/NS/configmaps/e', { data: { a: 'b' } }),
    {
      method: 'PUT',
      path: '/api/v1/namespaces/NS/configmaps/e',
      body: { metadata: { name: 'e', labels: { hook: 'echo' } } },
    },
    { method: 'DELETE', path: '/api/v1/namespaces/NS/configmaps/e', body: { propagationPolicy: 'Background' } },
    {
      method: 'PATCH',
      path: '/api/v1/namespaces/NS/configmaps/e3?fieldManager=x&force=true',
      type: 'application/apply-patch+yaml',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'e3', labels: { hook: 'echo' } } },
    },
    {
      method: 'POST',
      path: '/api/v1/namespaces/NS/pods',
      body: { metadata: { name: 'p', labels: { hook: 'echo' } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
    },
    merge('/api/v1/namespaces/NS/pods/p/status', { status: { phase: 'Running' } }),
    ...pol('a', { validations: [{ expression: "object.data.x == 'y'" }] }),
    ...pol('b', { validations: [{ expression: "object.data.x == 'y'", message: 'need y', reason: 'Forbidden' }] }),
    ...pol(
      'c',
      {
        variables: [{ name: 'n', expression: 'size(object.metadata.name)' }],
        validations: [{ expression: 'variables.n < 3', messageExpression: "'too long: ' + string(variables.n)" }],
      },
      { validationActions: ['Warn'] },
    ),
    ...pol('d', { failurePolicy: 'Ignore', validations: [{ expression: 'object.nope.x == 1' }] }),
    ...pol('e', { validations: [{ expression: 'object.nope.x == 1' }] }),
    ...pol('f', {
      matchConditions: [
        { name: 'x', expression: "request.operation == 'CREATE' && namespaceObject.metadata.name == 'NS'" },
      ],
      validations: [
        { expression: 'oldObject == null && request.userInfo.username.startsWith("sandbox")' },
        { expression: 'false', message: 'always' },
      ],
    }),
    ...pol(
      'g',
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        validations: [{ expression: 'object.data.x == params.data.x' }],
      },
      { paramRef: { name: 'params', namespace: 'NS', parameterNotFoundAction: 'Deny' } },
    ),
    { ...pol('h', { validations: [{ expression: 'foo' }] })[0] },
    { ...pol('i', { validations: [] })[0], pause: 2500 },
    vcm('va', 'a', { x: 'z' }),
    vcm('va', 'a', { x: 'y' }),
    vcm('vb', 'b', { x: 'z' }),
    vcm('vlong', 'c'),
    vcm('vd', 'd'),
    vcm('ve', 'e'),
    vcm('vf', 'f'),
    vcm('vg', 'g', { x: '1' }),
    {
      method: 'POST',
      path: '/api/v1/namespaces/NS/configmaps',
      body: { metadata: { name: 'params' }, data: { x: '1' } },
      pause: 1500,
    },
    vcm('vg', 'g', { x: '1' }),
    vcm('vh', 'g', { x: '2' }),
    crd,
    { method: 'GET', path: `${crds}/foos.${G}`, quiet: true, until: isEstablished, pause: 2500 },
    { method: 'GET', path: F('v2'), quiet: true, until: (a) => a.code === 200 },
    {
      method: 'POST',
      path: F('v2'),
      body: { apiVersion: `${G}/v2`, kind: 'Foo', metadata: { name: 'x' }, spec: { two: 'a' } },
    },
    { method: 'GET', path: `${F('v1')}/x` },
    { method: 'GET', path: `${F('v2')}/x` },
    { method: 'GET', path: F('v2') },
    merge(`${F('v2')}/x`, { spec: { two: 'b' } }),
    { method: 'GET', path: `${F('v1')}/x` },
    {
      method: 'PATCH',
      path: `${F('v2')}/x?fieldManager=q&force=true`,
      type: 'application/apply-patch+yaml',
      body: { apiVersion: `${G}/v2`, kind: 'Foo', metadata: { name: 'x' }, spec: { two: 'c' } },
    },
    {
      ...merge(`${crds}/foos.${G}`, {
        spec: { conversion: { webhook: { clientConfig: { url: `${base}/convertfail` } } } },
      }),
      pause: 1500,
    },
    { method: 'GET', path: `${F('v1')}/x` },
    { method: 'GET', path: `${F('v2')}/x` },
    {
      method: 'POST',
      path: F('v2'),
      body: { apiVersion: `${G}/v2`, kind: 'Foo', metadata: { name: 'y' }, spec: { two: 'a' } },
    },
    { method: 'DELETE', path: `${F('v1')}/x` },
  ],
};
