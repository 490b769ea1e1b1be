import type { Fields } from './planned-request.ts';

const labels = { app: 'shop', tier: 'web' };

/** A pod's spec as workloads have it. */
export const POD_SPEC: Fields = {
  containers: [
    {
      name: 'main',
      image: 'shop:1',
      command: ['run'],
      env: [
        { name: 'MODE', value: 'fast' },
        { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      ],
      ports: [{ name: 'http', containerPort: 8080 }],
      resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1' } },
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
      readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 5 },
    },
  ],
  volumes: [{ name: 'data', emptyDir: {} }],
};

/** A pod template with the labels that workloads select. */
export const POD_TEMPLATE: Fields = { metadata: { labels }, spec: POD_SPEC };

const CONTAINER = { containers: [{ name: 'main', image: 'shop:1' }] };

/** Valid objects of the core group, by plural. Numbers and texts in them are what mistakes are made of. */
export const CORE_TEMPLATES: Readonly<Record<string, readonly Fields[]>> = {
  configmaps: [
    { data: { mode: 'fast', 'file.txt': 'a\nb' }, binaryData: { raw: 'AAEC' } },
    { metadata: { labels, annotations: { note: 'first' } }, data: { mode: 'slow' }, immutable: true },
  ],
  endpoints: [
    {
      subsets: [
        { addresses: [{ ip: '192.0.2.1', hostname: 'one' }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
      ],
    },
  ],
  events: [
    {
      involvedObject: { kind: 'Pod', name: 'a', namespace: '<<NS>>', apiVersion: 'v1' },
      reason: 'Started',
      message: 'Started the container',
      type: 'Normal',
      count: 1,
      source: { component: 'test' },
      firstTimestamp: '2024-01-01T00:00:00Z',
      lastTimestamp: '2024-01-01T00:00:05Z',
    },
  ],
  limitranges: [{ spec: { limits: [{ type: 'Container', max: { cpu: '2' }, default: { cpu: '500m' } }] } }],
  namespaces: [{ metadata: { labels } }],
  nodes: [
    {
      metadata: { labels: { zone: 'a' } },
      spec: { podCIDR: '10.1.0.0/24', taints: [{ key: 'own', value: 'yes', effect: 'NoSchedule' }] },
    },
    { spec: { unschedulable: true, providerID: 'test://one' } },
  ],
  persistentvolumeclaims: [
    {
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: 'fast',
        volumeMode: 'Filesystem',
      },
    },
  ],
  persistentvolumes: [
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: 'fast',
        hostPath: { path: '/data' },
      },
    },
  ],
  pods: [
    { metadata: { labels }, spec: POD_SPEC },
    { metadata: { labels }, spec: { ...CONTAINER, nodeName: 'node-1', terminationGracePeriodSeconds: 5 } },
    {
      spec: {
        ...CONTAINER,
        initContainers: [{ name: 'init', image: 'init:1', restartPolicy: 'Always' }],
        restartPolicy: 'Never',
        priorityClassName: 'system-node-critical',
        tolerations: [{ key: 'own', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }],
        securityContext: { runAsUser: 1000, runAsNonRoot: true },
      },
    },
  ],
  podtemplates: [{ template: POD_TEMPLATE }],
  replicationcontrollers: [{ spec: { replicas: 2, selector: labels, template: POD_TEMPLATE } }],
  resourcequotas: [{ spec: { hard: { pods: '10', 'requests.cpu': '4' } } }],
  secrets: [
    { data: { token: 'czNjcjN0' }, stringData: { user: 'admin' } },
    { type: 'kubernetes.io/tls', data: { 'tls.crt': 'eA==', 'tls.key': 'eA==' } },
    { type: 'kubernetes.io/basic-auth', stringData: { username: 'admin', password: 'x' }, immutable: true },
  ],
  serviceaccounts: [
    { automountServiceAccountToken: false, secrets: [{ name: 'one' }], imagePullSecrets: [{ name: 'two' }] },
  ],
  services: [
    { spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }] } },
    { spec: { type: 'NodePort', selector: labels, ports: [{ port: 443 }], sessionAffinity: 'ClientIP' } },
    { spec: { clusterIP: 'None', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] } },
    { spec: { type: 'ExternalName', externalName: 'shop.example' } },
  ],
};
