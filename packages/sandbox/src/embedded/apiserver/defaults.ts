import { type Draft, each, fill, part, within } from './draft.ts';

// The defaults that the server fills in on every write, per kind. The drafts are decoded: their structs are all there.

type Defaults = (object: Draft) => void;

const FIELD_REF = { apiVersion: 'v1' };
const FILE_MODE = 420;

/** The beginning of a reference to an image; what is none has no tag, either. */
const IMAGE = /^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[\w][\w.-]*)?(?:@|$)/;

function container(one: Draft): void {
  const image = typeof one['image'] === 'string' ? one['image'] : '';
  const named = IMAGE.test(image) && image.length <= 255;
  const tag = /:([^/:@]+)(@.*)?$/.exec(image)?.[1] ?? (image.includes('@') || !named ? undefined : 'latest');
  fill(one, {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: tag === 'latest' ? 'Always' : 'IfNotPresent',
    resources: {},
  });
  for (const port of each(one, 'ports')) fill(port, { protocol: 'TCP' });
  for (const variable of each(one, 'env')) {
    const field = part(variable, 'valueFrom', 'fieldRef');
    if (field !== undefined) fill(field, FIELD_REF);
  }
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = part(one, name);
    if (probe === undefined) continue;
    for (const [field, value] of [
      ['timeoutSeconds', 1],
      ['periodSeconds', 10],
      ['successThreshold', 1],
      ['failureThreshold', 3],
    ] as const) {
      fill(probe, { [field]: value });
    }
    httpGet(part(probe, 'httpGet'));
    const grpc = part(probe, 'grpc');
    if (grpc !== undefined && grpc['service'] === undefined) grpc['service'] = '';
  }
  httpGet(part(one, 'lifecycle', 'postStart', 'httpGet'));
  httpGet(part(one, 'lifecycle', 'preStop', 'httpGet'));
  limitsToRequests(one);
}

function httpGet(action: Draft | undefined): void {
  if (action !== undefined) fill(action, { path: '/', scheme: 'HTTP' });
}

/** What is limited and not requested is requested. */
function limitsToRequests(one: Draft): void {
  const limits = part(one, 'resources', 'limits');
  if (limits === undefined) return;
  fill(within(within(one, 'resources'), 'requests'), limits);
}

function volume(one: Draft): void {
  const sources = Object.keys(one).filter((key) => key !== 'name');
  if (sources.length === 0) one['emptyDir'] = {};
  for (const name of ['secret', 'configMap', 'downwardAPI', 'projected']) {
    const source = part(one, name);
    if (source !== undefined) fill(source, { defaultMode: FILE_MODE });
  }
  for (const item of each(part(one, 'downwardAPI'), 'items')) fillFieldRef(item);
  for (const source of each(part(one, 'projected'), 'sources')) {
    for (const item of each(part(source, 'downwardAPI'), 'items')) fillFieldRef(item);
    const token = part(source, 'serviceAccountToken');
    if (token !== undefined) fill(token, { expirationSeconds: 3600 });
  }
  const host = part(one, 'hostPath');
  if (host !== undefined && host['type'] === undefined) host['type'] = '';
  const iscsi = part(one, 'iscsi');
  if (iscsi !== undefined) fill(iscsi, { iscsiInterface: 'default' });
  const rbd = part(one, 'rbd');
  if (rbd !== undefined) fill(rbd, { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' });
  const disk = part(one, 'azureDisk');
  if (disk !== undefined) fill(disk, { cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false });
}

function fillFieldRef(item: Draft): void {
  const field = part(item, 'fieldRef');
  if (field !== undefined) fill(field, FIELD_REF);
}

/** A PodSpec. */
export function podSpec(spec: Draft): void {
  fill(spec, {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    schedulerName: 'default-scheduler',
    securityContext: {},
  });
  const account = spec['serviceAccountName'] ?? spec['serviceAccount'];
  if (account !== undefined) Object.assign(spec, { serviceAccountName: account, serviceAccount: account });
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const one of each(spec, list)) {
      container(one);
      if (spec['hostNetwork'] === true)
        for (const port of each(one, 'ports')) fill(port, { hostPort: port['containerPort'] });
    }
  }
  for (const one of each(spec, 'volumes')) volume(one);
  for (const one of each(spec, 'tolerations')) if (one['effect'] === '') delete one['effect'];
  for (const one of each(spec, 'topologySpreadConstraints')) void one;
}

function template(spec: Draft): void {
  const inner = part(spec, 'template', 'spec');
  if (inner !== undefined) podSpec(inner);
}

function claim(one: Draft): void {
  fill(within(one, 'spec'), { volumeMode: 'Filesystem' });
}

function rollingUpdate(spec: Draft, field: string, values: Draft): void {
  const strategy = within(spec, field);
  fill(strategy, { type: 'RollingUpdate' });
  if (strategy['type'] === 'RollingUpdate') fill(within(strategy, 'rollingUpdate'), values);
}

function subjects(object: Draft): void {
  fill(within(object, 'roleRef'), { apiGroup: 'rbac.authorization.k8s.io' });
  for (const one of each(object, 'subjects')) {
    if (one['kind'] === 'User' || one['kind'] === 'Group') fill(one, { apiGroup: 'rbac.authorization.k8s.io' });
  }
}

function webhooks(mutating: boolean): Defaults {
  return (object) => {
    for (const one of each(object, 'webhooks')) {
      fill(one, {
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
        ...(mutating ? { reinvocationPolicy: 'Never' } : {}),
      });
      const service = part(one, 'clientConfig', 'service');
      if (service !== undefined) fill(service, { port: 443 });
      for (const rule of each(one, 'rules')) fill(rule, { scope: '*' });
    }
  };
}

function matchResources(match: Draft | undefined): void {
  if (match === undefined) return;
  fill(match, { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} });
  for (const list of ['resourceRules', 'excludeResourceRules'])
    for (const rule of each(match, list)) fill(rule, { scope: '*' });
}

function lower(text: unknown): string {
  return typeof text === 'string' ? text.toLowerCase() : '';
}

function crd(object: Draft): void {
  const spec = within(object, 'spec');
  const names = within(spec, 'names');
  if ((names['singular'] ?? '') === '') names['singular'] = lower(names['kind']);
  if ((names['kind'] ?? '') !== '') fill(names, { listKind: `${String(names['kind'])}List` });
  const conversion = within(spec, 'conversion');
  fill(conversion, { strategy: 'None' });
  const service = part(conversion, 'webhook', 'clientConfig', 'service');
  if (service !== undefined) fill(service, { port: 443 });
}

/** Defaults by `group/Kind`; `Kind` alone is the core group. */
export const DEFAULTS: Readonly<Record<string, Defaults>> = {
  Pod: (object) => {
    const spec = within(object, 'spec');
    podSpec(spec);
    fill(spec, { enableServiceLinks: true });
    const status = part(object, 'status');
    const ip = status?.['podIP'];
    if (status !== undefined && typeof ip === 'string' && ip !== '' && each(status, 'podIPs').length === 0)
      status['podIPs'] = [{ ip }];
  },
  PodTemplate: template,
  ReplicationController: (object) => {
    const spec = within(object, 'spec');
    fill(spec, { replicas: 1 });
    const labels = part(spec, 'template', 'metadata', 'labels');
    if (labels !== undefined && Object.keys(labels).length > 0) {
      if (Object.keys(part(spec, 'selector') ?? {}).length === 0) spec['selector'] = { ...labels };
      if (part(object, 'metadata', 'labels') === undefined) within(object, 'metadata')['labels'] = { ...labels };
    }
    template(spec);
  },
  Service: (object) => {
    const spec = within(object, 'spec');
    fill(spec, { sessionAffinity: 'None', type: 'ClusterIP' });
    if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig'];
    if (spec['sessionAffinity'] === 'ClientIP') {
      fill(within(within(spec, 'sessionAffinityConfig'), 'clientIP'), { timeoutSeconds: 10_800 });
    }
    for (const port of each(spec, 'ports')) {
      fill(port, { protocol: 'TCP' });
      if (port['targetPort'] === undefined || port['targetPort'] === 0 || port['targetPort'] === '') {
        port['targetPort'] = port['port'];
      }
    }
    const external = spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer';
    if (external) fill(spec, { externalTrafficPolicy: 'Cluster' });
    if (spec['type'] !== 'ExternalName') fill(spec, { internalTrafficPolicy: 'Cluster' });
    if (spec['type'] === 'LoadBalancer') fill(spec, { allocateLoadBalancerNodePorts: true });
  },
  Secret: (object) => {
    fill(object, { type: 'Opaque' });
    const texts = part(object, 'stringData');
    if (texts === undefined) return;
    // What a client writes as text is data from then on.
    const data = within(object, 'data');
    for (const [key, text] of Object.entries(texts)) data[key] = Buffer.from(String(text)).toString('base64');
    delete object['stringData'];
  },
  Namespace: (object) => {
    const metadata = within(object, 'metadata');
    const { name } = metadata;
    if (typeof name === 'string' && name !== '') within(metadata, 'labels')['kubernetes.io/metadata.name'] = name;
    fill(within(object, 'status'), { phase: 'Active' });
  },
  Endpoints: (object) => {
    for (const subset of each(object, 'subsets'))
      for (const port of each(subset, 'ports')) fill(port, { protocol: 'TCP' });
  },
  PersistentVolumeClaim: claim,
  PersistentVolume: (object) => {
    fill(within(object, 'spec'), { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' });
    fill(within(object, 'status'), { phase: 'Pending' });
    volume(within(object, 'spec'));
  },
  LimitRange: (object) => {
    for (const one of each(part(object, 'spec'), 'limits')) {
      if (one['type'] !== 'Container') continue;
      const max = part(one, 'max');
      if (max !== undefined) fill(within(one, 'default'), max);
      const limit = part(one, 'default');
      if (limit !== undefined) fill(within(one, 'defaultRequest'), limit);
      const min = part(one, 'min');
      if (min !== undefined) fill(within(one, 'defaultRequest'), min);
    }
  },
  'apps/Deployment': (object) => {
    const spec = within(object, 'spec');
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
    rollingUpdate(spec, 'strategy', { maxUnavailable: '25%', maxSurge: '25%' });
    template(spec);
  },
  'apps/ReplicaSet': (object) => {
    const spec = within(object, 'spec');
    fill(spec, { replicas: 1 });
    template(spec);
  },
  'apps/StatefulSet': (object) => {
    const spec = within(object, 'spec');
    fill(spec, { podManagementPolicy: 'OrderedReady', replicas: 1, revisionHistoryLimit: 10 });
    rollingUpdate(spec, 'updateStrategy', { partition: 0 });
    fill(within(spec, 'persistentVolumeClaimRetentionPolicy'), { whenDeleted: 'Retain', whenScaled: 'Retain' });
    for (const one of each(spec, 'volumeClaimTemplates')) {
      claim(one);
      fill(one, { apiVersion: 'v1', kind: 'PersistentVolumeClaim' });
      fill(within(one, 'status'), { phase: 'Pending' });
    }
    template(spec);
  },
  'apps/DaemonSet': (object) => {
    const spec = within(object, 'spec');
    fill(spec, { revisionHistoryLimit: 10 });
    rollingUpdate(spec, 'updateStrategy', { maxUnavailable: 1, maxSurge: 0 });
    template(spec);
    const annotations = within(within(object, 'metadata'), 'annotations');
    fill(annotations, { 'deprecated.daemonset.template.generation': '0' });
  },
  'batch/Job': (object) => job(within(object, 'spec')),
  'batch/CronJob': (object) => {
    const spec = within(object, 'spec');
    fill(spec, {
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    });
    template(within(within(spec, 'jobTemplate'), 'spec'));
  },
  'rbac.authorization.k8s.io/RoleBinding': subjects,
  'rbac.authorization.k8s.io/ClusterRoleBinding': subjects,
  'storage.k8s.io/StorageClass': (object) => {
    fill(object, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
  },
  'storage.k8s.io/CSIDriver': (object) => {
    fill(within(object, 'spec'), {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      volumeLifecycleModes: ['Persistent'],
      requiresRepublish: false,
      seLinuxMount: false,
    });
  },
  'networking.k8s.io/NetworkPolicy': (object) => {
    const spec = within(object, 'spec');
    for (const rules of ['ingress', 'egress']) {
      for (const rule of each(spec, rules)) for (const port of each(rule, 'ports')) fill(port, { protocol: 'TCP' });
    }
    const policies = Array.isArray(spec['egress']) && spec['egress'].length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
    fill(spec, { policyTypes: policies });
  },
  'networking.k8s.io/IngressClass': (object) => {
    const parameters = part(object, 'spec', 'parameters');
    if (parameters !== undefined) fill(parameters, { scope: 'Cluster' });
  },
  Node: (object) => {
    const spec = within(object, 'spec');
    if (typeof spec['podCIDR'] === 'string' && spec['podCIDR'] !== '' && !Array.isArray(spec['podCIDRs']))
      spec['podCIDRs'] = [spec['podCIDR']];
    const { allocatable, capacity } = part(object, 'status') ?? {};
    if (allocatable === undefined && capacity !== undefined)
      within(object, 'status')['allocatable'] = structuredClone(capacity);
  },
  'resource.k8s.io/ResourceClaim': (object) => deviceRequests(part(object, 'spec', 'devices')),
  'resource.k8s.io/ResourceClaimTemplate': (object) => deviceRequests(part(object, 'spec', 'spec', 'devices')),
  'scheduling.k8s.io/PriorityClass': (object) => {
    fill(object, { preemptionPolicy: 'PreemptLowerPriority' });
  },
  'discovery.k8s.io/EndpointSlice': (object) => {
    for (const port of each(object, 'ports')) {
      if (port['name'] === undefined) port['name'] = '';
      fill(port, { protocol: 'TCP' });
    }
  },
  'autoscaling/HorizontalPodAutoscaler': (object) => {
    const spec = within(object, 'spec');
    fill(spec, { minReplicas: 1 });
    if (!Array.isArray(spec['metrics']) || spec['metrics'].length === 0) {
      const target = { type: 'Utilization', averageUtilization: 80 };
      spec['metrics'] = [{ type: 'Resource', resource: { name: 'cpu', target } }];
    }
  },
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': webhooks(false),
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': webhooks(true),
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': (object) => {
    fill(within(object, 'spec'), { failurePolicy: 'Fail' });
    matchResources(part(object, 'spec', 'matchConstraints'));
  },
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': (object) => {
    matchResources(part(object, 'spec', 'matchResources'));
  },
  'apiregistration.k8s.io/APIService': (object) => {
    const service = part(object, 'spec', 'service');
    if (service !== undefined) fill(service, { port: 443 });
  },
  'apiextensions.k8s.io/CustomResourceDefinition': crd,
};

function deviceRequests(devices: Draft | undefined): void {
  for (const request of each(devices, 'requests')) {
    for (const one of [part(request, 'exactly'), ...each(request, 'firstAvailable')]) {
      if (one === undefined) continue;
      fill(one, { allocationMode: 'ExactCount' });
      if (one['allocationMode'] === 'ExactCount' && (one['count'] === undefined || one['count'] === 0))
        one['count'] = 1;
    }
  }
}

function job(spec: Draft): void {
  if (spec['completions'] === undefined && spec['parallelism'] === undefined) spec['completions'] = 1;
  fill(spec, { parallelism: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false, manualSelector: false });
  if (spec['podFailurePolicy'] === undefined) fill(spec, { podReplacementPolicy: 'TerminatingOrFailed' });
  else fill(spec, { podReplacementPolicy: 'Failed' });
  template(spec);
}
