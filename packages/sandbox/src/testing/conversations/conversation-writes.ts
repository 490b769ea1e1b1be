import type { Conversation, Line } from './conversation-player.ts';

const core = (plural: string, body: unknown, q = ''): Line => ({
  method: 'POST',
  path: `/api/v1/namespaces/NS/${plural}${q}`,
  body,
});
const apps = (plural: string, body: unknown): Line => ({
  method: 'POST',
  path: `/apis/apps/v1/namespaces/NS/${plural}`,
  body,
});
const tpl = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x:1' }] } };
const D = '/apis/apps/v1/namespaces/NS/deployments';
const merge = (path: string, body: unknown, q = ''): Line => ({
  method: 'PATCH',
  path: path + q,
  type: 'application/merge-patch+json',
  body,
});
const json = (path: string, body: unknown, q = ''): Line => ({
  method: 'PATCH',
  path: path + q,
  type: 'application/json-patch+json',
  body,
});
const smp = (path: string, body: unknown, q = ''): Line => ({
  method: 'PATCH',
  path: path + q,
  type: 'application/strategic-merge-patch+json',
  body,
});
const apply = (path: string, body: unknown, q = '?fieldManager=m'): Line => ({
  method: 'PATCH',
  path: path + q,
  type: 'application/apply-patch+yaml',
  body,
});
/** Writes, patches and subresources of built-in kinds, right and wrong. */
export const WRITES: Conversation = {
  name: 'writes, patches and subresources of built-in kinds',
  lines: [
    apps('deployments', { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'x' } }, template: tpl } }),
    apps('deployments', { metadata: { name: 'd' }, spec: { template: tpl } }),
    apps('deployments', {
      metadata: { name: 'd' },
      spec: { replicas: '1', selector: { matchLabels: { a: 'b' } }, template: tpl },
    }),
    apps('deployments', {
      metadata: { name: 'd' },
      spec: {
        replicas: -1,
        selector: { matchLabels: { a: 'b' } },
        template: { ...tpl, spec: { containers: [{ name: 'C_', image: '' }], foo: 1 } },
      },
    }),
    apps('deployments', {
      metadata: { name: 'd', labels: { 'a b': 'c' } },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: {
          metadata: tpl.metadata,
          spec: {
            restartPolicy: 'Never',
            containers: [
              {
                name: 'c',
                image: 'x',
                ports: [{ containerPort: 100000 }],
                env: [{ name: '' }],
                volumeMounts: [{ name: 'v', mountPath: '/x' }],
                resources: { limits: { cpu: 'x' } },
              },
            ],
          },
        },
      },
    }),
    apps('deployments', {
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: {
          metadata: tpl.metadata,
          spec: {
            restartPolicy: 'Never',
            containers: [
              {
                name: 'c',
                image: 'x',
                ports: [{ containerPort: 100000 }],
                env: [{ name: '' }],
                volumeMounts: [{ name: 'v', mountPath: '/x' }],
              },
            ],
          },
        },
      },
    }),
    apps('deployments', { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template: tpl } }),
    apps('deployments', { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template: tpl } }),
    merge(`${D}/d`, { metadata: { annotations: { a: 'b' } } }),
    merge(`${D}/d`, { metadata: { labels: { a: 'b' } } }),
    merge(`${D}/d`, { spec: { replicas: 3 } }),
    merge(`${D}/d`, { spec: { selector: { matchLabels: { a: 'c' } } } }),
    smp(`${D}/d`, { spec: { template: { spec: { containers: [{ name: 'c', image: 'y' }] } } } }),
    smp(`${D}/d`, { spec: { template: { spec: { containers: [{ name: 'e', image: 'y' }] } } } }),
    smp(`${D}/d`, { spec: { template: { spec: { containers: [{ name: 'e', $patch: 'delete' }] } } } }),
    smp(`${D}/d`, { spec: { template: { spec: { containers: [{ image: 'y' }] } } } }),
    smp(`${D}/d`, { spec: { strategy: { $patch: 'replace', type: 'Recreate' } } }),
    smp(`${D}/d`, {
      spec: {
        strategy: { $retainKeys: ['type', 'rollingUpdate'], type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
      },
    }),
    smp(`${D}/d`, {
      spec: {
        template: {
          spec: {
            $setElementOrder: 1,
            '$setElementOrder/containers': [{ name: 'z' }, { name: 'c' }],
            containers: [{ name: 'z', image: 'q' }],
          },
        },
      },
    }),
    smp(`${D}/d`, {
      spec: {
        template: {
          spec: {
            '$setElementOrder/containers': [{ name: 'z' }, { name: 'c' }],
            containers: [{ name: 'z', image: 'q' }],
          },
        },
      },
    }),
    json(`${D}/d`, [{ op: 'replace', path: '/spec/replicas', value: 'x' }]),
    json(`${D}/d`, [{ op: 'add', path: '/spec/foo', value: 'x' }]),
    json(`${D}/d`, [{ op: 'add', path: '/spec/foo', value: 'x' }], '?fieldValidation=Strict'),
    merge(`${D}/d`, { spec: { foo: 1 } }, '?fieldValidation=Strict'),
    merge(`${D}/d`, { spec: { foo: 1 } }),
    core('configmaps', { metadata: { name: 'b' }, dat: { x: 1 }, metadat: 1 }, '?fieldValidation=Strict'),
    core('configmaps', { metadata: { name: 'b', foo: 1 }, dat: { x: 1 } }, '?fieldValidation=Warn'),
    core('configmaps', { metadata: { name: 'b' }, dat: { x: 1 } }, '?fieldValidation=Foo'),
    core('configmaps', { metadata: { name: 'A_' }, data: { 'x/y': '1' } }),
    core('configmaps', { metadata: { name: 'x'.repeat(300), namespace: 'other' } }),
    core('configmaps', { metadata: { name: 'x'.repeat(300) } }),
    core('configmaps', { metadata: {} }),
    core('configmaps', { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'q' } }),
    core('configmaps', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'q' } }),
    core('configmaps', { metadata: { name: 'im' }, data: { x: '1' }, immutable: true, binaryData: { x: 'eA==' } }),
    core('configmaps', { metadata: { name: 'im' }, data: { x: '1' }, immutable: true }),
    merge('/api/v1/namespaces/NS/configmaps/im', { data: { x: '2' } }),
    merge('/api/v1/namespaces/NS/configmaps/im', { immutable: false }),
    core('secrets', { metadata: { name: 'im' }, type: 'kubernetes.io/tls' }),
    core('secrets', { metadata: { name: 'im' }, data: { x: 'eA==' }, stringData: { x: 'z', y: 'q' } }),
    merge('/api/v1/namespaces/NS/secrets/im', { type: 'Foo' }),
    smp('/api/v1/namespaces/NS/secrets/im', { stringData: { k: 'v' } }),
    core('services', { metadata: { name: 's' }, spec: {} }),
    core('services', { metadata: { name: 'S' }, spec: { ports: [{ port: 80 }, { port: 81 }] } }),
    core('services', { metadata: { name: 's' }, spec: { type: 'Foo', ports: [{ port: 0 }] } }),
    core('services', { metadata: { name: 's' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } }),
    core('services', { metadata: { name: 's3' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } }),
    core('services', { metadata: { name: 's4' }, spec: { type: 'ExternalName', externalName: 'x.y' } }),
    core('services', { metadata: { name: 's5' }, spec: { clusterIP: 'None' } }),
    core('services', {
      metadata: { name: 's6' },
      spec: {
        clusterIP: '10.0.0.7',
        ports: [
          { port: 1, name: 'a' },
          { port: 2, name: 'b' },
        ],
      },
    }),
    merge('/api/v1/namespaces/NS/services/s6', { spec: { clusterIP: '10.0.0.8' } }),
    merge('/api/v1/namespaces/NS/services/s6', { spec: { clusterIP: null, clusterIPs: null, ports: [{ port: 3 }] } }),
    core('pods', {
      metadata: { name: 'p' },
      spec: {
        containers: [
          { name: 'c', image: 'x', resources: { requests: { cpu: '1' }, limits: { cpu: '1', memory: '1Gi' } } },
        ],
        priorityClassName: 'nope',
      },
    }),
    core('pods', {
      metadata: { name: 'p' },
      spec: {
        containers: [
          { name: 'c', image: 'x', resources: { requests: { cpu: '1' }, limits: { cpu: '1', memory: '1Gi' } } },
        ],
        priorityClassName: 'system-node-critical',
      },
    }),
    merge('/api/v1/namespaces/NS/pods/p', { spec: { nodeName: 'x' } }),
    merge('/api/v1/namespaces/NS/pods/p', { spec: { containers: [{ name: 'c', image: 'z' }] } }),
    smp('/api/v1/namespaces/NS/pods/p', { spec: { containers: [{ name: 'c', image: 'z' }] } }),
    merge('/api/v1/namespaces/NS/pods/p/status', {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    }),
    { method: 'POST', path: '/api/v1/namespaces/NS/pods/p/binding', body: { target: { name: 'node1' } } },
    { method: 'GET', path: '/api/v1/namespaces/NS/pods?fieldSelector=spec.nodeName=node1,status.phase=Running' },
    { method: 'GET', path: '/api/v1/namespaces/NS/pods?fieldSelector=spec.foo=node1' },
    { method: 'GET', path: '/apis/apps/v1/namespaces/NS/deployments?fieldSelector=spec.foo=node1' },
    { method: 'GET', path: '/api/v1/namespaces/NS/configmaps?fieldSelector=foo' },
    { method: 'GET', path: '/api/v1/namespaces/NS/pods/p/log' },
    { method: 'POST', path: '/api/v1/namespaces/NS/pods/p/eviction', body: { metadata: { name: 'p' } } },
    { method: 'DELETE', path: '/api/v1/namespaces/NS/pods/p' },
    { method: 'DELETE', path: '/api/v1/namespaces/NS/pods/p?gracePeriodSeconds=0' },
    { method: 'GET', path: `${D}/d/scale` },
    { method: 'PUT', path: `${D}/d/scale`, body: { metadata: { name: 'd', namespace: 'NS' }, spec: { replicas: 5 } } },
    merge(`${D}/d/scale`, { spec: { replicas: 6 } }),
    merge(`${D}/d/scale`, { spec: { replicas: -6 } }),
    { method: 'GET', path: `${D}/e/scale` },
    { method: 'DELETE', path: `${D}/d`, body: { propagationPolicy: 'Orphan' } },
    { method: 'DELETE', path: `${D}?labelSelector=a=b` },
    { method: 'DELETE', path: '/api/v1/namespaces/NS/configmaps' },
    { method: 'DELETE', path: '/api/v1/namespaces/NS/configmaps/nope' },
    apply('/api/v1/namespaces/NS/configmaps/ap', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ap' },
      data: { a: 'b' },
    }),
    apply('/api/v1/namespaces/NS/configmaps/ap', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ap' },
      dataa: { a: 'b' },
    }),
    apply(`${D}/ap`, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'ap' },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { ...tpl, spec: { containers: [{ name: 'c', image: 'x', ports: [{ containerPort: 80 }] }] } },
      },
    }),
    { method: 'PUT', path: '/api/v1/namespaces/NS/configmaps/nope', body: { metadata: { name: 'nope' } } },
    {
      method: 'PUT',
      path: '/api/v1/namespaces/NS/services/nope',
      body: { metadata: { name: 'nope' }, spec: { ports: [{ port: 1 }] } },
    },
    { method: 'POST', path: '/api/v1/namespaces/nowhere/configmaps', body: { metadata: { name: 'nope' } } },
    { method: 'GET', path: '/api/v1/namespaces/NS/foos' },
    { method: 'GET', path: '/apis/foo/v1/namespaces/NS/foos' },
    { method: 'PUT', path: '/api/v1/namespaces/NS/configmaps', body: {} },
    { method: 'POST', path: '/api/v1/namespaces/NS/configmaps/x', body: {} },
    { method: 'POST', path: '/api/v1/configmaps', body: { metadata: { name: 'z', namespace: 'NS' } } },
    { method: 'PATCH', path: '/api/v1/namespaces/NS/configmaps/ap', type: 'application/foo', body: {} },
    json('/api/v1/namespaces/NS/configmaps/ap', {}),
    json('/api/v1/namespaces/NS/configmaps/ap', [{ op: 'foo', path: '/x' }]),
    merge('/api/v1/namespaces/NS/configmaps/ap', []),
    core('configmaps', 'str'),
    core('configmaps', []),
    core('configmaps', { metadata: 'x' }),
    core('configmaps', { metadata: { name: 'g', creationTimestamp: 'x' } }),
    core('configmaps', { metadata: { name: 'g', generation: 1.5 } }),
  ],
};
