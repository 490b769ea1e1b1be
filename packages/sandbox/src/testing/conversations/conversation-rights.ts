import type { Conversation, Line } from './conversation-player.ts';

// Policies that ask the authorizer who may do what. The requests come from an administrator, who may do everything;
// the ServiceAccounts `NS/reader` and `NS/nobody` are asked about.

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

const policy = (name: string, spec: object): readonly [Line, Line] => [
  {
    method: 'POST',
    path: `${ADMISSION}/validatingadmissionpolicies`,
    body: {
      metadata: { name: `${name}-NS` },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'NS' } },
          objectSelector: { matchLabels: { asks: name } },
          resourceRules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        },
        ...spec,
      },
    },
  },
  {
    method: 'POST',
    path: `${ADMISSION}/validatingadmissionpolicybindings`,
    body: {
      metadata: { name: `${name}-b-NS` },
      spec: { policyName: `${name}-NS`, validationActions: ['Deny'] },
    },
  },
];

const ask = (policyName: string, data: object = {}): Line => ({
  method: 'POST',
  path: '/api/v1/namespaces/NS/configmaps?dryRun=All',
  body: { metadata: { name: 'asked', labels: { asks: policyName } }, data },
});

const of = (account: string): string => `authorizer.serviceAccount('NS', '${account}')`;
const secrets = (account: string): string => `${of(account)}.group('').resource('secrets').namespace('NS')`;

/** Rights that expressions ask for. */
export const RIGHTS: Conversation = {
  name: 'policies that ask the authorizer',
  lines: [
    {
      method: 'POST',
      path: `${RBAC}/namespaces/NS/roles`,
      body: {
        metadata: { name: 'reader' },
        rules: [
          { verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['one'] },
          { verbs: ['update'], apiGroups: ['apps'], resources: ['deployments/scale'] },
          { verbs: ['create'], apiGroups: [''], resources: ['configmaps'] },
        ],
      },
    },
    {
      method: 'POST',
      path: `${RBAC}/namespaces/NS/rolebindings`,
      body: {
        metadata: { name: 'reader' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
        subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'NS' }],
      },
    },
    {
      method: 'POST',
      path: `${RBAC}/clusterroles`,
      body: { metadata: { name: 'paths-NS' }, rules: [{ verbs: ['get'], nonResourceURLs: ['/asked/*'] }] },
    },
    {
      method: 'POST',
      path: `${RBAC}/clusterrolebindings`,
      body: {
        metadata: { name: 'paths-NS' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'paths-NS' },
        subjects: [{ kind: 'Group', name: 'system:serviceaccounts:NS', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    },
    ...policy('may', {
      validations: [
        {
          expression:
            "authorizer.group('').resource('serviceaccounts').namespace('NS').name('x').check('impersonate').allowed()",
        },
        { expression: "authorizer.requestResource.check('create').allowed()" },
        { expression: "authorizer.path('/metrics').check('get').allowed()" },
        { expression: `${secrets('reader')}.name('one').check('get').allowed()` },
        { expression: `${of('reader')}.path('/asked/x').check('get').allowed()` },
        {
          expression: `${of('reader')}.group('apps').resource('deployments').subresource('scale').namespace('NS').check('update').allowed()`,
        },
        { expression: `!${secrets('reader')}.name('one').check('get').errored()` },
        { expression: `${secrets('reader')}.name('one').check('get').error() == ''` },
        {
          expression: `${secrets('reader')}.name('one').fieldSelector('metadata.name=one').labelSelector('a=b').check('get').allowed()`,
        },
      ],
    }),
    ...policy('name', { validations: [{ expression: `${secrets('reader')}.name('two').check('get').allowed()` }] }),
    ...policy('verb', { validations: [{ expression: `${secrets('reader')}.name('one').check('list').allowed()` }] }),
    ...policy('nobody', {
      variables: [{ name: 'said', expression: `${secrets('nobody')}.name('one').check('get')` }],
      validations: [
        {
          expression: 'variables.said.allowed()',
          message: 'nobody may not read it',
          reason: 'Forbidden',
        },
      ],
    }),
    ...policy('path', { validations: [{ expression: `${of('reader')}.path('/other').check('get').allowed()` }] }),
    ...policy('reason', {
      validations: [{ expression: `${secrets('reader')}.name('one').check('get').reason() == ''` }],
    }),
    ...policy('bad', {
      validations: [{ expression: "authorizer.serviceAccount('NS', 'No Name').path('/').check('get').allowed()" }],
    }),
    ...policy('spaces', {
      validations: [{ expression: "authorizer.serviceAccount('a.b', 'x').path('/').check('get').allowed()" }],
    }),
    ...policy('condition', {
      matchConditions: [
        { name: 'not-the-reader', expression: `!${secrets('reader')}.name('one').check('get').allowed()` },
      ],
      validations: [{ expression: 'false' }],
    }),
    policy('message', {
      validations: [{ expression: 'false', messageExpression: "string(authorizer.path('/x').check('get').allowed())" }],
    })[0],
    policy('type', { validations: [{ expression: "authorizer.group('').check('get').allowed()" }] })[0],
    { ...policy('field', { validations: [{ expression: 'authorizer.user == ""' }] })[0], pause: 2500 },
    ask('may'),
    ask('name'),
    ask('verb'),
    ask('nobody'),
    ask('path'),
    ask('reason'),
    ask('bad'),
    ask('spaces'),
    ask('condition'),
  ],
};
