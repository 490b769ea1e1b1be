import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crdFolder } from '@drydock/sandbox';

type Loose = Readonly<Record<string, unknown>>;

/** Objects of every kind whose merge has rules of its own, and of some that have none, written as release manifests write them: with little more than they must say. */
export function releaseKinds(namespace: string): readonly Loose[] {
  const meta = (name: string, more: Loose = {}): Loose => ({ name, namespace, labels: { app: 'a' }, ...more });
  const cluster = (name: string): Loose => ({ name: `${namespace}-${name}`, labels: { app: 'a' } });
  const template = {
    metadata: { labels: { app: 'a' }, annotations: { hash: '1' } },
    spec: {
      serviceAccountName: 'sa',
      hostNetwork: true,
      nodeSelector: { os: 'linux' },
      tolerations: [{ operator: 'Exists' }],
      securityContext: { runAsNonRoot: true },
      initContainers: [{ name: 'init', image: 'init:1', command: ['true'] }],
      containers: [
        {
          name: 'c',
          image: 'c@sha256:0000000000000000000000000000000000000000000000000000000000000000',
          command: ['run'],
          env: [
            { name: 'A', value: '1' },
            { name: 'EMPTY', value: '' },
            { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          ports: [{ containerPort: 80 }, { name: 'metrics', containerPort: 81, protocol: 'TCP' }],
          resources: { requests: { cpu: '10m', memory: '50Mi' } },
          livenessProbe: { httpGet: { path: 'healthz', port: 80 }, initialDelaySeconds: 5 },
          readinessProbe: { tcpSocket: { port: 80 } },
          startupProbe: { exec: { command: ['true'] } },
          securityContext: { capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: false },
          volumeMounts: [
            { name: 'config', mountPath: '/config' },
            { name: 'tmp', mountPath: '/tmp', readOnly: false },
          ],
        },
      ],
      volumes: [
        { name: 'config', configMap: { name: 'm' } },
        { name: 'tmp', emptyDir: {} },
        { name: 'host', hostPath: { path: '/x' } },
        { name: 'cert', secret: { secretName: 's', optional: true } },
        {
          name: 'token',
          projected: {
            sources: [
              { serviceAccountToken: { path: 'token' } },
              { downwardAPI: { items: [{ path: 'n', fieldRef: { fieldPath: 'metadata.name' } }] } },
            ],
          },
        },
      ],
    },
  };
  const selector = { matchLabels: { app: 'a' } };
  const role = { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] };
  const rbac = 'rbac.authorization.k8s.io/v1';
  const client = { service: { namespace, name: 'hooks', path: '/x' } };
  const rules = [
    { apiGroups: ['none.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nones'] },
  ];
  const hook = {
    name: 'h.example.com',
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    clientConfig: client,
    rules,
  };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta('sa') },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta('m'), data: { a: '1' }, binaryData: { b: 'AQ==' } },
    { apiVersion: 'v1', kind: 'Secret', metadata: meta('s'), data: { a: 'MQ==' } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: meta('hooks'),
      spec: {
        ports: [
          { port: 443, targetPort: 'https' },
          { name: 'x', port: 81 },
        ].map((port, at) => ({ name: `p${at}`, ...port })),
        selector: { app: 'a' },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: meta('headless'),
      spec: { clusterIP: 'None', ports: [{ port: 80 }], selector: { app: 'a' } },
    },
    { apiVersion: rbac, kind: 'Role', metadata: meta('r'), ...role },
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata: meta('r'),
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'ServiceAccount', name: 'sa', namespace },
        { kind: 'User', name: 'u' },
        { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'g' },
      ],
    },
    { apiVersion: rbac, kind: 'ClusterRole', metadata: cluster('r'), ...role },
    {
      apiVersion: rbac,
      kind: 'ClusterRole',
      metadata: cluster('sum'),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { never: 'x' } }] },
      rules: [],
    },
    {
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: cluster('r'),
      roleRef: { kind: 'ClusterRole', name: `${namespace}-r` },
      subjects: [],
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: meta('d', { annotations: { x: 'y' } }),
      spec: { replicas: 1, selector, strategy: { type: 'RollingUpdate' }, template },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: meta('recreate'),
      spec: { selector, strategy: { type: 'Recreate' }, template },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: meta('ds'),
      spec: { selector, updateStrategy: { type: 'RollingUpdate' }, template },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: meta('ss'),
      spec: { selector, serviceName: 'headless', template },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: meta('j'),
      spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: meta('cj'),
      spec: {
        schedule: '@daily',
        jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: cluster('v'),
      webhooks: [hook],
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: cluster('m'),
      webhooks: [hook],
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: meta('pdb'),
      spec: { minAvailable: 1, selector },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: meta('np'),
      spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] },
    },
    { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: cluster('pc'), value: 1000 },
  ];
}

/** Texts of real definitions by their files, which have what only real ones have: no two are alike. */
export function realDefinitions(): ReadonlyMap<string, string> {
  const folder = crdFolder('openshift-4.21');
  // Variants of one definition have a suffix.
  const files = readdirSync(folder).filter((file) => /(?:-Default|_[a-z]+)\.crd\.yaml$/.test(file));
  return new Map(files.slice(0, 12).map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}
