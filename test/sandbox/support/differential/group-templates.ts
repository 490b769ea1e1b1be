import { POD_TEMPLATE } from './core-templates.ts';
import type { Fields } from './planned-request.ts';

const labels = { app: 'shop', tier: 'web' };
const selector = { matchLabels: labels };
const ONCE = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'shop:1' }] } };
const RULES = [{ operations: ['CREATE'], apiGroups: ['nowhere.test'], apiVersions: ['*'], resources: ['things'] }];
const WEBHOOK = {
  name: 'one.hooks.test',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { url: 'https://127.0.0.1:1/hook' },
  failurePolicy: 'Ignore',
  timeoutSeconds: 5,
  rules: RULES,
};

/** Valid objects of the other groups of Kubernetes, by `group/plural`. */
export const GROUP_TEMPLATES: Readonly<Record<string, readonly Fields[]>> = {
  'apps/controllerrevisions': [{ revision: 1, data: { spec: { replicas: 1 } } }],
  'apps/daemonsets': [
    { spec: { selector, template: POD_TEMPLATE, updateStrategy: { type: 'RollingUpdate' }, minReadySeconds: 1 } },
  ],
  'apps/deployments': [
    {
      metadata: { labels },
      spec: {
        replicas: 2,
        selector,
        template: POD_TEMPLATE,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' } },
      },
    },
  ],
  'apps/replicasets': [{ spec: { replicas: 1, selector, template: POD_TEMPLATE } }],
  'apps/statefulsets': [
    {
      spec: {
        replicas: 1,
        serviceName: 'shop',
        selector,
        template: POD_TEMPLATE,
        volumeClaimTemplates: [
          {
            metadata: { name: 'disk' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    },
  ],
  'autoscaling/horizontalpodautoscalers': [
    {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' },
        minReplicas: 1,
        maxReplicas: 3,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
        ],
      },
    },
  ],
  'batch/cronjobs': [{ spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template: ONCE } }, suspend: true } }],
  'batch/jobs': [{ spec: { completions: 2, parallelism: 1, backoffLimit: 3, template: ONCE } }],
  'policy/poddisruptionbudgets': [
    { spec: { minAvailable: 1, selector } },
    { spec: { maxUnavailable: '50%', selector } },
  ],
  'networking.k8s.io/ingresses': [
    {
      spec: {
        ingressClassName: 'outer',
        tls: [{ hosts: ['shop.example'], secretName: 'tls' }],
        rules: [
          {
            host: 'shop.example',
            http: {
              paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } }],
            },
          },
        ],
      },
    },
  ],
  'networking.k8s.io/ingressclasses': [{ spec: { controller: 'shop.example/ingress' } }],
  'networking.k8s.io/networkpolicies': [
    {
      spec: {
        podSelector: selector,
        policyTypes: ['Ingress'],
        ingress: [{ from: [{ ipBlock: { cidr: '192.0.2.0/24' } }], ports: [{ port: 80, protocol: 'TCP' }] }],
      },
    },
  ],
  'networking.k8s.io/ipaddresses': [
    { metadata: { name: '192.0.2.7' }, spec: { parentRef: { resource: 'services', namespace: 'default', name: 'a' } } },
  ],
  'networking.k8s.io/servicecidrs': [{ spec: { cidrs: ['192.0.2.0/24'] } }],
  'rbac.authorization.k8s.io/clusterroles': [
    { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }] },
    { rules: [{ nonResourceURLs: ['/healthz'], verbs: ['get'] }] },
  ],
  'rbac.authorization.k8s.io/roles': [
    { rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'], verbs: ['get'] }] },
  ],
  'rbac.authorization.k8s.io/clusterrolebindings': [
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'somebody' }],
    },
  ],
  'rbac.authorization.k8s.io/rolebindings': [
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'a' },
      subjects: [{ kind: 'ServiceAccount', name: 'a', namespace: '<<NS>>' }],
    },
  ],
  'storage.k8s.io/storageclasses': [
    { provisioner: 'disk.test', reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate', parameters: { type: 'fast' } },
  ],
  'storage.k8s.io/csidrivers': [
    { spec: { attachRequired: true, podInfoOnMount: false, volumeLifecycleModes: ['Persistent'] } },
  ],
  'storage.k8s.io/csinodes': [
    { spec: { drivers: [{ name: 'disk.test', nodeID: 'one', topologyKeys: ['zone'], allocatable: { count: 5 } }] } },
  ],
  'storage.k8s.io/csistoragecapacities': [{ storageClassName: 'fast', capacity: '10Gi', nodeTopology: selector }],
  'storage.k8s.io/volumeattachments': [
    { spec: { attacher: 'disk.test', nodeName: 'node-1', source: { persistentVolumeName: 'a' } } },
  ],
  'storage.k8s.io/volumeattributesclasses': [{ driverName: 'disk.test', parameters: { iops: '100' } }],
  'admissionregistration.k8s.io/validatingwebhookconfigurations': [{ webhooks: [WEBHOOK] }],
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': [
    { webhooks: [{ ...WEBHOOK, reinvocationPolicy: 'Never', objectSelector: selector }] },
  ],
  'admissionregistration.k8s.io/validatingadmissionpolicies': [
    {
      spec: {
        failurePolicy: 'Ignore',
        matchConstraints: { resourceRules: RULES },
        validations: [{ expression: 'object.spec.size < 3', message: 'too large' }],
      },
    },
  ],
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': [
    { spec: { policyName: 'nowhere', validationActions: ['Warn'], matchResources: { resourceRules: RULES } } },
  ],
  'apiextensions.k8s.io/customresourcedefinitions': [
    {
      metadata: { name: 'widgets.pool.test' },
      spec: {
        group: 'pool.test',
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList', shortNames: ['wd'] },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: {
                    type: 'object',
                    properties: {
                      size: { type: 'integer', minimum: 1, maximum: 9 },
                      name: { type: 'string', maxLength: 9 },
                    },
                    'x-kubernetes-validations': [{ rule: 'self.size < 5', message: 'too large' }],
                  },
                },
              },
            },
          },
        ],
      },
    },
  ],
  'apiregistration.k8s.io/apiservices': [
    {
      metadata: { name: 'v1.pool.test' },
      spec: {
        group: 'pool.test',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        service: { name: 'shop', namespace: 'default' },
        insecureSkipTLSVerify: true,
      },
    },
  ],
  'certificates.k8s.io/certificatesigningrequests': [
    { spec: { request: 'eA==', signerName: 'signers.test/one', usages: ['client auth'], expirationSeconds: 3600 } },
  ],
  'scheduling.k8s.io/priorityclasses': [{ value: 10, description: 'ten' }],
  'coordination.k8s.io/leases': [
    {
      spec: {
        holderIdentity: 'one',
        leaseDurationSeconds: 15,
        leaseTransitions: 1,
        renewTime: '2024-01-01T00:00:00.000000Z',
      },
    },
  ],
  'node.k8s.io/runtimeclasses': [
    { handler: 'fast', overhead: { podFixed: { memory: '10Mi' } }, scheduling: { nodeSelector: { zone: 'a' } } },
  ],
  'discovery.k8s.io/endpointslices': [
    {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true }, nodeName: 'node-1' }],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    },
  ],
  'events.k8s.io/events': [
    {
      eventTime: '2024-01-01T00:00:00.000000Z',
      reportingController: 'shop.test/one',
      reportingInstance: 'one',
      action: 'Start',
      reason: 'Started',
      type: 'Normal',
      note: 'Started the container',
      regarding: { kind: 'Pod', name: 'a', namespace: '<<NS>>' },
    },
  ],
  'resource.k8s.io/deviceclasses': [{ spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.test"' } }] } }],
  'resource.k8s.io/resourceclaims': [
    { spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.test', count: 1 } }] } } },
  ],
  'resource.k8s.io/resourceclaimtemplates': [
    { spec: { spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.test' } }] } } } },
  ],
  'resource.k8s.io/resourceslices': [
    {
      spec: {
        driver: 'gpu.test',
        nodeName: 'node-1',
        pool: { name: 'node-1', generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'gpu-0', attributes: { model: { string: 'a' } } }],
      },
    },
  ],
  'flowcontrol.apiserver.k8s.io/flowschemas': [
    {
      spec: {
        priorityLevelConfiguration: { name: 'catch-all' },
        matchingPrecedence: 9000,
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'somebody' } }],
            nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
          },
        ],
      },
    },
  ],
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': [
    {
      spec: {
        type: 'Limited',
        limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' }, lendablePercent: 0 },
      },
    },
  ],
};

/** Statuses that are written through `/status`, by `group/plural`. */
export const STATUSES: Readonly<Record<string, Fields>> = {
  '/pods': { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], podIP: '192.0.2.9' },
  '/nodes': { capacity: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] },
  '/services': { loadBalancer: { ingress: [{ ip: '192.0.2.10' }] } },
  '/persistentvolumeclaims': { phase: 'Bound', capacity: { storage: '1Gi' } },
  '/persistentvolumes': { phase: 'Available' },
  '/resourcequotas': { hard: { pods: '10' }, used: { pods: '1' } },
  '/replicationcontrollers': { replicas: 1, observedGeneration: 1 },
  'apps/deployments': { replicas: 2, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1 },
  'apps/replicasets': { replicas: 1, readyReplicas: 1 },
  'apps/statefulsets': { replicas: 1, readyReplicas: 1, currentRevision: 'a-1' },
  'apps/daemonsets': { currentNumberScheduled: 1, desiredNumberScheduled: 1, numberMisscheduled: 0, numberReady: 1 },
  'batch/jobs': { active: 1, startTime: '2024-01-01T00:00:00Z' },
  'batch/cronjobs': { lastScheduleTime: '2024-01-01T00:00:00Z' },
  'policy/poddisruptionbudgets': { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
  'networking.k8s.io/ingresses': { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } },
  'autoscaling/horizontalpodautoscalers': { currentReplicas: 1, desiredReplicas: 2 },
  'certificates.k8s.io/certificatesigningrequests': {
    conditions: [{ type: 'Failed', status: 'True', reason: 'Test' }],
  },
  'storage.k8s.io/volumeattachments': { attached: true, attachmentMetadata: { path: '/dev/x' } },
};

/** What a pod's debug container is made of. */
export const DEBUG_CONTAINER: Fields = { name: 'debug', image: 'debug:1', targetContainerName: 'main' };

/** Kinds whose objects a controller inside the real API server changes at times of its own. */
export const DRY_RUN_ONLY: ReadonlySet<string> = new Set([
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
  'flowcontrol.apiserver.k8s.io/flowschemas',
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations',
  'networking.k8s.io/servicecidrs',
  'networking.k8s.io/ipaddresses',
]);
