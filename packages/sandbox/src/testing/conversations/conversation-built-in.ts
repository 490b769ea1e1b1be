import type { Conversation, Line } from './conversation-player.ts';

const core = (plural: string, body: unknown): Line => ({
  method: 'POST',
  path: `/api/v1/namespaces/NS/${plural}`,
  body,
});
const apps = (plural: string, body: unknown): Line => ({
  method: 'POST',
  path: `/apis/apps/v1/namespaces/NS/${plural}`,
  body,
});
const tpl = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x:1' }] } };
export const BUILT_IN_KINDS: Conversation = {
  name: 'one object of each built-in kind',
  lines: [
    core('configmaps', { metadata: { name: 'a' }, data: { x: '1' } }),
    core('configmaps', { metadata: { name: 'b' }, data: { x: 1 } }),
    core('configmaps', { metadata: { name: 'b' }, dat: { x: 1 }, metadat: 1 }),
    core('secrets', { metadata: { name: 'a' }, stringData: { x: 'y' } }),
    core('secrets', { metadata: { name: 'b' }, data: { x: 'y' } }),
    core('pods', { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'x' }] } }),
    core('pods', { metadata: { name: 'p2', generateName: 'p' }, spec: { containers: [] } }),
    core('services', { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } }),
    core('serviceaccounts', { metadata: { name: 's' } }),
    core('persistentvolumeclaims', {
      metadata: { name: 's' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
    }),
    core('endpoints', {
      metadata: { name: 's2' },
      subsets: [{ addresses: [{ ip: '1.2.3.4' }], ports: [{ port: 80 }] }],
    }),
    core('events', {
      metadata: { name: 's' },
      involvedObject: { kind: 'Pod', name: 'x', namespace: 'NS' },
      reason: 'x',
      message: 'y',
    }),
    core('limitranges', { metadata: { name: 's' }, spec: { limits: [{ type: 'Container', max: { cpu: '1000m' } }] } }),
    core('resourcequotas', { metadata: { name: 's' }, spec: { hard: { pods: '10' } } }),
    core('replicationcontrollers', { metadata: { name: 's' }, spec: { template: tpl } }),
    core('podtemplates', { metadata: { name: 's' }, template: tpl }),
    apps('deployments', { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template: tpl } }),
    apps('statefulsets', {
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: { a: 'b' } }, template: tpl, serviceName: 'x' },
    }),
    apps('daemonsets', { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template: tpl } }),
    apps('replicasets', { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template: tpl } }),
    apps('controllerrevisions', { metadata: { name: 'd' }, revision: 1, data: { a: 1 } }),
    {
      method: 'POST',
      path: '/apis/batch/v1/namespaces/NS/jobs',
      body: {
        metadata: { name: 'j' },
        spec: { template: { spec: { restartPolicy: 'Never', containers: tpl.spec.containers } } },
      },
    },
    {
      method: 'POST',
      path: '/apis/batch/v1/namespaces/NS/cronjobs',
      body: {
        metadata: { name: 'j' },
        spec: {
          schedule: '* * * * *',
          jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: tpl.spec.containers } } } },
        },
      },
    },
    { method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'n-NS' } } },
    {
      method: 'POST',
      path: '/api/v1/persistentvolumes',
      body: {
        metadata: { name: 'pv-NS' },
        spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
      },
    },
    {
      method: 'POST',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      body: { metadata: { name: 'cr-NS' }, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
    },
    { method: 'POST', path: '/apis/rbac.authorization.k8s.io/v1/clusterroles', body: { metadata: { name: 'cr2-NS' } } },
    {
      method: 'POST',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      body: {
        metadata: { name: 'cr-NS' },
        roleRef: { kind: 'ClusterRole', name: 'x' },
        subjects: [
          { kind: 'User', name: 'x' },
          { kind: 'ServiceAccount', name: 'y', namespace: 'NS' },
        ],
      },
    },
    {
      method: 'POST',
      path: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles',
      body: { metadata: { name: 'cr-NS' }, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
    },
    {
      method: 'POST',
      path: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings',
      body: {
        metadata: { name: 'cr-NS' },
        roleRef: { kind: 'Role', name: 'x', apiGroup: 'rbac.authorization.k8s.io' },
      },
    },
    {
      method: 'POST',
      path: '/apis/policy/v1/namespaces/NS/poddisruptionbudgets',
      body: { metadata: { name: 'p' }, spec: { minAvailable: 1, selector: { matchLabels: { a: 'b' } } } },
    },
    {
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/NS/leases',
      body: {
        metadata: { name: 'p' },
        spec: { holderIdentity: 'x', leaseDurationSeconds: 15, renewTime: '2024-01-01T00:00:00.000000Z' },
      },
    },
    {
      method: 'POST',
      path: '/apis/events.k8s.io/v1/namespaces/NS/events',
      body: {
        metadata: { name: 'p' },
        eventTime: '2024-01-01T00:00:00.000000Z',
        reportingController: 'a/b',
        reportingInstance: 'x',
        action: 'x',
        reason: 'y',
        type: 'Normal',
        regarding: { kind: 'Pod', name: 'x', namespace: 'NS' },
      },
    },
    {
      method: 'POST',
      path: '/apis/networking.k8s.io/v1/namespaces/NS/ingresses',
      body: { metadata: { name: 'p' }, spec: { defaultBackend: { service: { name: 'x', port: { number: 80 } } } } },
    },
    {
      method: 'POST',
      path: '/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies',
      body: { metadata: { name: 'p' }, spec: { podSelector: {} } },
    },
    {
      method: 'POST',
      path: '/apis/networking.k8s.io/v1/ingressclasses',
      body: { metadata: { name: 'p-NS' }, spec: { controller: 'a.b/c' } },
    },
    {
      method: 'POST',
      path: '/apis/storage.k8s.io/v1/storageclasses',
      body: { metadata: { name: 'p-NS' }, provisioner: 'x.y/z' },
    },
    { method: 'POST', path: '/apis/storage.k8s.io/v1/csidrivers', body: { metadata: { name: 'p-NS' }, spec: {} } },
    {
      differs: 'an empty list that was sent is owned by who sent it, although it is stored as none',
      method: 'POST',
      path: '/apis/storage.k8s.io/v1/csinodes',
      body: { metadata: { name: 'p-NS' }, spec: { drivers: [] } },
    },
    {
      method: 'POST',
      path: '/apis/scheduling.k8s.io/v1/priorityclasses',
      body: { metadata: { name: 'p-NS' }, value: 10 },
    },
    { method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses', body: { metadata: { name: 'p-NS' }, handler: 'x' } },
    {
      method: 'POST',
      path: '/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices',
      body: {
        metadata: { name: 'p' },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['1.2.3.4'] }],
        ports: [{ port: 80 }],
      },
    },
    {
      method: 'POST',
      path: '/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers',
      body: {
        metadata: { name: 'p' },
        spec: { scaleTargetRef: { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' }, maxReplicas: 3 },
      },
    },
    {
      method: 'POST',
      path: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      body: {
        metadata: { name: 'p-NS' },
        webhooks: [
          {
            name: 'a.b.c',
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            clientConfig: { service: { name: 'x', namespace: 'nowhere' } },
            rules: [{ operations: ['CREATE'], apiGroups: ['nope'], apiVersions: ['*'], resources: ['x'] }],
          },
        ],
      },
    },
    {
      method: 'POST',
      path: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
      body: {
        metadata: { name: 'p-NS' },
        webhooks: [
          {
            name: 'a.b.c',
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            clientConfig: { url: 'https://x/y' },
            rules: [{ operations: ['CREATE'], apiGroups: ['nope'], apiVersions: ['*'], resources: ['x'] }],
          },
        ],
      },
    },
    {
      method: 'POST',
      path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
      body: {
        metadata: { name: 'p-NS' },
        spec: {
          matchConstraints: {
            resourceRules: [{ operations: ['CREATE'], apiGroups: ['nope'], apiVersions: ['*'], resources: ['x'] }],
          },
          validations: [{ expression: 'true' }],
        },
      },
    },
    {
      method: 'POST',
      path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
      body: { metadata: { name: 'p-NS' }, spec: { policyName: 'p-NS', validationActions: ['Deny'] } },
    },
    {
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body: {
        metadata: { name: 'as.g-NS.example.com' },
        spec: {
          group: 'g-NS.example.com',
          names: { kind: 'A', plural: 'as' },
          scope: 'Namespaced',
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
        },
      },
    },
    {
      method: 'POST',
      path: '/apis/apiregistration.k8s.io/v1/apiservices',
      body: {
        metadata: { name: 'v1.g2-NS.example.com' },
        spec: {
          group: 'g2-NS.example.com',
          version: 'v1',
          groupPriorityMinimum: 1,
          versionPriority: 1,
          service: { name: 'x', namespace: 'NS' },
          insecureSkipTLSVerify: true,
        },
      },
    },
    {
      method: 'POST',
      path: '/apis/certificates.k8s.io/v1/certificatesigningrequests',
      body: { metadata: { name: 'v1.g2-NS' }, spec: { request: 'eA==', signerName: 'a.b/c', usages: ['client auth'] } },
    },
    { method: 'GET', path: '/api/v1/namespaces/NS/events/p' },
    { method: 'GET', path: '/apis/events.k8s.io/v1/namespaces/NS/events/s' },
    { method: 'GET', path: '/apis/events.k8s.io/v1/namespaces/NS/events?fieldSelector=reportingController=a/b' },
    { method: 'GET', path: '/api/v1/namespaces/NS/events?fieldSelector=involvedObject.name=x' },
    {
      method: 'PATCH',
      path: '/apis/events.k8s.io/v1/namespaces/NS/events/p',
      type: 'application/merge-patch+json',
      body: { series: { count: 2, lastObservedTime: '2024-01-01T00:00:01.000000Z' } },
    },
    { method: 'GET', path: '/api/v1/namespaces/NS/events/p' },
    { method: 'DELETE', path: '/apis/events.k8s.io/v1/namespaces/NS/events/s' },
    { method: 'GET', path: '/api/v1/namespaces/NS/events/s' },
  ],
};
