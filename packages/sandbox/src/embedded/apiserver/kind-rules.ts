import { isIPv4, isIPv6 } from 'node:net';
import {
  invalid,
  type JsonObject,
  jsonEqual,
  type KindRules,
  listOf,
  metadataOf,
  objectOf,
  Refusal,
  type RuleContext,
  type StatusCause,
  withMetadata,
  without,
} from '@drydock/kube/testing/api-server';
import { policyViolations, webhookViolations } from './admission-checks.ts';
import { duplicate, forbidden, label, notNegative, portNumber, required, unsupported, wrong } from './checks.ts';
import { CLEANUP, crdViolations, storedVersionViolations } from './crd-checks.ts';
import { type Draft, each, fill, part, textOf, within } from './draft.ts';
import { podSpecViolations, qosClass, templateViolations } from './pod-checks.ts';

// What the server's own code does for kinds beyond decoding and defaults: what it sets, what it keeps, what it refuses.

/** What rules may ask about the rest of the cluster. */
export interface RulesHost {
  /** Stored objects of a kind. */
  list(group: string, plural: string): readonly JsonObject[];
  now(): string;
  /** Whether CRDs may have rules with optional old values. */
  readonly optionalOldSelf: boolean;
}

type Make = (host: RulesHost) => KindRules;

const copy = (object: JsonObject): Draft => structuredClone(object) as Draft;

const GENERATION: KindRules = { generation: true };

/** The rules of a kind by `group/Kind`; `Kind` alone is the core group. None for most. */
export function kindRules(name: string, host: RulesHost): KindRules {
  return RULES[name]?.(host) ?? {};
}

const immutable = (
  object: JsonObject,
  old: JsonObject | undefined,
  path: string,
  value = object[path],
  was = old?.[path],
): StatusCause[] =>
  old === undefined || jsonEqual(value ?? null, was ?? null) ? [] : [wrong(path, value, 'field is immutable')];

/** ConfigMaps and Secrets. */
function keyed(
  own: (object: JsonObject, old: JsonObject | undefined) => StatusCause[],
): NonNullable<KindRules['violations']> {
  return (object, old) => {
    const causes: StatusCause[] = [];
    const data = objectOf(object['data']);
    const binary = objectOf(object['binaryData']);
    for (const [field, entries] of [
      ['data', data],
      ['binaryData', binary],
    ] as const) {
      for (const key of Object.keys(entries)) {
        if (field === 'data' && key in binary)
          causes.push(wrong(`data[${key}]`, key, 'duplicate of key present in binaryData'));
        if (!/^[-._a-zA-Z0-9]+$/.test(key)) causes.push(wrong(`${field}[${key}]`, key, CONFIG_KEY));
        else if (key.length > 253) causes.push(wrong(`${field}[${key}]`, key, 'must be no more than 253 characters'));
        else if (key === '.') causes.push(wrong(`${field}[${key}]`, key, "must not be '.'"));
        else if (key === '..') causes.push(wrong(`${field}[${key}]`, key, "must not be '..'"));
      }
    }
    const size = [...Object.values(data), ...Object.values(binary)].reduce<number>(
      (sum, one) => sum + Buffer.byteLength(String(one)),
      0,
    );
    if (size > 1_048_576) {
      // So the real server calls the object as a whole here.
      const field = '[]';
      causes.push({ reason: 'FieldValueTooLong', message: 'Too long: may not be more than 1048576 bytes', field });
    }
    if (old?.['immutable'] === true) {
      const said = 'field is immutable when `immutable` is set';
      if (object['immutable'] !== true) causes.push(forbidden('immutable', said));
      for (const field of ['data', 'binaryData']) {
        if (!jsonEqual(object[field] ?? {}, old[field] ?? {})) causes.push(forbidden(field, said));
      }
    }
    return [...causes, ...own(object, old)];
  };
}

const CONFIG_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** Keys that Secrets of a type must have. */
const SECRET_KEYS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};

const PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

const UNREACHABLE = ['not-ready', 'unreachable'].map((what) => ({
  key: `node.kubernetes.io/${what}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));

function newPod(object: JsonObject, host: RulesHost): JsonObject {
  const pod = copy(object);
  const spec = within(pod, 'spec');
  const { priorityClassName: name } = spec;
  if (typeof name === 'string' && name !== '') {
    const known = host.list('scheduling.k8s.io', 'priorityclasses').find((one) => metadataOf(one)['name'] === name);
    const value = known?.['value'] ?? PRIORITIES[name];
    if (value === undefined) {
      const pod_ = textOf(metadataOf(object)['name']);
      throw new Refusal({
        code: 403,
        reason: 'Forbidden',
        message: `pods "${pod_}" is forbidden: no PriorityClass with name ${name} was found`,
        details: { name: pod_, kind: 'pods' },
      });
    }
    fill(spec, { priority: value, preemptionPolicy: known?.['preemptionPolicy'] ?? 'PreemptLowerPriority' });
  } else fill(spec, { priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
  const tolerations = each(spec, 'tolerations');
  const has = (key: string): boolean =>
    tolerations.some(
      (one) =>
        (one['key'] === key || one['key'] === undefined) &&
        (one['effect'] === 'NoExecute' || one['effect'] === undefined),
    );
  const more = UNREACHABLE.filter(({ key }) => !has(key));
  if (more.length > 0) spec['tolerations'] = [...tolerations, ...more];
  for (const one of each(spec, 'containers')) delete one['restartPolicy'];
  for (const one of each(spec, 'initContainers')) if (one['restartPolicy'] !== 'Always') delete one['restartPolicy'];
  pod['status'] = { phase: 'Pending', qosClass: qosClass(spec) };
  return pod;
}

const POD_CHANGE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** A pod's spec without what may change. */
function fixed(pod: JsonObject): JsonObject {
  const spec = objectOf(pod['spec']);
  const images = (list: unknown): unknown =>
    Array.isArray(list) ? list.map((one) => without(objectOf(one), 'image', 'imagePullPolicy')) : list;
  return {
    ...without(spec, 'activeDeadlineSeconds', 'tolerations', 'ephemeralContainers', 'schedulingGates'),
    containers: images(spec['containers']),
    initContainers: images(spec['initContainers']),
  };
}

const pod: Make = (host) => ({
  generation: true,
  statusKeeps: 'metadata',
  returnsDeleted: true,
  create: (object) => newPod(object, host),
  violations: (object, old, { subresource }) => {
    if (subresource === 'status') return [];
    const spec = objectOf(object['spec']) as Draft;
    const causes = podSpecViolations(spec, 'spec');
    const count = (one: JsonObject): number => listOf(objectOf(one['spec'])['containers']).length;
    if (old !== undefined && subresource === undefined && count(object) !== count(old)) {
      causes.push(forbidden('spec.containers', 'pod updates may not add or remove containers'));
    } else if (old !== undefined && subresource === undefined && !jsonEqual(fixed(object), fixed(old))) {
      causes.push(forbidden('spec', POD_CHANGE));
    }
    return causes;
  },
  fields: (object) => {
    const spec = objectOf(object['spec']);
    const status = objectOf(object['status']);
    const text = (value: unknown): string => (typeof value === 'string' ? value : '');
    const ips = Array.isArray(status['podIPs']) ? status['podIPs'] : [];
    return {
      'spec.nodeName': text(spec['nodeName']),
      'spec.restartPolicy': text(spec['restartPolicy']),
      'spec.schedulerName': text(spec['schedulerName']),
      'spec.serviceAccountName': text(spec['serviceAccountName']),
      'spec.hostNetwork': String(spec['hostNetwork'] === true),
      'status.phase': text(status['phase']),
      'status.podIP': text(status['podIP'] ?? objectOf(ips[0])['ip']),
      'status.podIPs': text(status['podIP']),
      'status.nominatedNodeName': text(status['nominatedNodeName']),
    };
  },
  grace: (object, asked) => {
    const spec = objectOf(object['spec']);
    const { phase } = objectOf(object['status']);
    if (typeof spec['nodeName'] !== 'string' || spec['nodeName'] === '') return 0;
    if (phase === 'Succeeded' || phase === 'Failed') return 0;
    const own = spec['terminationGracePeriodSeconds'];
    return asked ?? (typeof own === 'number' ? own : 30);
  },
});

/** Kinds whose pods are all alike: a selector, a template, a count. */
function workload(policies: readonly string[], immutableFields: readonly string[], more: KindRules = {}): Make {
  return () => ({
    generation: true,
    ...more,
    violations: (object, old, context) => {
      if (context.subresource === 'status') return [];
      const spec = objectOf(object['spec']) as Draft;
      const causes: StatusCause[] = [
        ...notNegative('spec.replicas', spec['replicas']),
        // A DaemonSet's selector is only compared.
        ...templateViolations(spec, policies, 'replicas' in spec ? 'required' : 'compared'),
      ];
      const before = old === undefined ? undefined : objectOf(old['spec']);
      for (const field of immutableFields) {
        if (before !== undefined && !jsonEqual(spec[field] ?? null, before[field] ?? null)) {
          causes.push(wrong(`spec.${field}`, spec[field], 'field is immutable'));
        }
      }
      return [...causes, ...(more.violations?.(object, old, context) ?? [])];
    },
  });
}

/** A change of its annotations counts as one of a Deployment's generation. */
function deploymentUpdate(object: JsonObject, old: JsonObject): JsonObject {
  const [is, was] = [metadataOf(object), metadataOf(old)];
  const same = jsonEqual(is['annotations'] ?? {}, was['annotations'] ?? {});
  if (same || !jsonEqual(object['spec'], old['spec'])) return object;
  return withMetadata(object, { ...is, generation: Number(was['generation'] ?? 0) + 1 });
}

/** A change of its labels counts as one of an EndpointSlice's generation. */
function relabelled(object: JsonObject, old: JsonObject): JsonObject {
  const [is, was] = [metadataOf(object), metadataOf(old)];
  const bareOf = (one: JsonObject): JsonObject => without(one, 'metadata');
  const only = jsonEqual(bareOf(object), bareOf(old)) && !jsonEqual(is['labels'] ?? {}, was['labels'] ?? {});
  return only ? withMetadata(object, { ...is, generation: Number(was['generation'] ?? 0) + 1 }) : object;
}

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

function daemonSetGeneration(object: JsonObject, generation: number): JsonObject {
  const metadata = metadataOf(object);
  const annotations = { ...objectOf(metadata['annotations']), [TEMPLATE_GENERATION]: String(generation) };
  return withMetadata(object, { ...metadata, annotations });
}

const STATEFUL_CHANGE =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const STATEFUL_MAY = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];

/** Jobs select their pods by the job's own uid, unless they say how. */
function newJob(object: JsonObject): JsonObject {
  const one = copy(object);
  const spec = within(one, 'spec');
  if (spec['manualSelector'] === true) return one;
  const { uid, name } = metadataOf(object);
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  const template = within(within(spec, 'template'), 'metadata');
  Object.assign(within(template, 'labels'), labels);
  // The template's labels are the job's, too, where it has none.
  if (part(one, 'metadata', 'labels') === undefined)
    within(one, 'metadata')['labels'] = { ...objectOf(template['labels']) };
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  return one;
}

const SERVICE_TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
/** The range of the sandbox's real API server, whose first addresses are taken by `kubernetes` and DNS. */
const CLUSTER_IPS = { prefix: '10.0.0.', first: 2, last: 254 };
const NODE_PORTS = { first: 30_000, last: 32_767 };

function serviceAddresses(object: JsonObject, old: JsonObject | undefined, host: RulesHost): JsonObject {
  const one = copy(object);
  const spec = within(one, 'spec');
  if (spec['type'] === 'ExternalName') {
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) delete spec[field];
    return one;
  }
  const before = objectOf(old?.['spec']);
  if (before['clusterIP'] !== undefined && spec['clusterIP'] === undefined && spec['clusterIPs'] === undefined) {
    fill(spec, { clusterIP: before['clusterIP'], clusterIPs: before['clusterIPs'] });
  }
  const others = host.list('', 'services').map((service) => objectOf(service['spec']));
  if (spec['clusterIP'] === 'None') {
    const selectorless = Object.keys(part(spec, 'selector') ?? {}).length === 0;
    fill(spec, {
      clusterIPs: ['None'],
      ipFamilies: selectorless ? ['IPv4', 'IPv6'] : ['IPv4'],
      ipFamilyPolicy: selectorless ? 'RequireDualStack' : 'SingleStack',
    });
  } else {
    const given = (spec['clusterIP'] ?? '') !== '';
    const taken = new Set(others.map(({ clusterIP }) => clusterIP));
    if (spec['clusterIP'] === undefined || spec['clusterIP'] === '') {
      for (let last = CLUSTER_IPS.last; last >= CLUSTER_IPS.first; last -= 1) {
        if (taken.has(CLUSTER_IPS.prefix + String(last))) continue;
        spec['clusterIP'] = CLUSTER_IPS.prefix + String(last);
        break;
      }
    }
    const ip = spec['clusterIP'];
    if (given && !isIPv4(String(ip)) && !isIPv6(String(ip))) {
      const said = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
      const name = textOf(metadataOf(object)['name']);
      throw invalid({ group: '', kind: 'Service', plural: 'services' }, name, [wrong('spec.clusterIPs[0]', ip, said)]);
    }
    if (old === undefined && given && taken.has(ip)) {
      const said = `failed to allocate IP ${String(ip)}: provided IP is already allocated`;
      const name = textOf(metadataOf(object)['name']);
      throw invalid({ group: '', kind: 'Service', plural: 'services' }, name, [wrong('spec.clusterIPs', [ip], said)]);
    }
    if (old === undefined || before['clusterIP'] === spec['clusterIP']) spec['clusterIPs'] = [ip];
    else if (jsonEqual(spec['clusterIPs'], before['clusterIPs'])) spec['clusterIPs'] = [ip];
    fill(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
  }
  const ports = each(spec, 'ports');
  const exposed =
    spec['type'] === 'NodePort' || (spec['type'] === 'LoadBalancer' && spec['allocateLoadBalancerNodePorts'] !== false);
  if (!exposed) {
    if (spec['type'] === 'ClusterIP') for (const port of ports) delete port['nodePort'];
    return one;
  }
  const used = new Set(others.flatMap((other) => each(other as Draft, 'ports').map(({ nodePort }) => nodePort)));
  const known = each(before as Draft, 'ports');
  for (const port of ports) {
    if (typeof port['nodePort'] === 'number' && port['nodePort'] !== 0) continue;
    const same = known.find((was) => was['port'] === port['port'] && was['protocol'] === port['protocol']);
    if (same !== undefined) {
      port['nodePort'] = same['nodePort'];
      continue;
    }
    let next = NODE_PORTS.first;
    while (used.has(next) && next < NODE_PORTS.last) next += 1;
    port['nodePort'] = next;
    used.add(next);
  }
  return one;
}

function serviceViolations(object: JsonObject, old: JsonObject | undefined): StatusCause[] {
  const causes: StatusCause[] = [];
  const spec = objectOf(object['spec']) as Draft;
  const ports = each(spec, 'ports');
  if (ports.length === 0 && spec['clusterIP'] !== 'None' && spec['type'] !== 'ExternalName')
    causes.push(required('spec.ports'));
  const names = new Set<unknown>();
  const seen = new Set<string>();
  for (const [at, port] of ports.entries()) {
    const field = `spec.ports[${at}]`;
    const name = port['name'] ?? '';
    if (name === '' && ports.length > 1) causes.push(required(`${field}.name`));
    if (name !== '') {
      causes.push(...label(`${field}.name`, name));
      if (names.has(name)) causes.push(duplicate(`${field}.name`, name));
      names.add(name);
    }
    causes.push(...portNumber(`${field}.port`, port['port']));
    if (typeof port['targetPort'] === 'number') causes.push(...portNumber(`${field}.targetPort`, port['targetPort']));
    const protocols = ['SCTP', 'TCP', 'UDP'];
    const { protocol } = port;
    if (!protocols.includes(String(protocol))) causes.push(unsupported(`${field}.protocol`, protocol, protocols));
    const key = `${String(port['port'])}/${String(protocol)}`;
    if (seen.has(key)) causes.push(duplicate(field, { protocol, port: port['port'] }));
    seen.add(key);
  }
  const type = spec['type'];
  if (!SERVICE_TYPES.includes(String(type))) causes.push(unsupported('spec.type', type, SERVICE_TYPES));
  if (type === 'ExternalName' && (spec['externalName'] ?? '') === '') causes.push(required('spec.externalName'));
  const before = objectOf(old?.['spec']);
  const [ip, was] = [spec['clusterIPs'], before['clusterIPs']];
  if (was !== undefined && type !== 'ExternalName' && before['type'] !== 'ExternalName' && !jsonEqual(ip, was)) {
    causes.push(wrong('spec.clusterIPs[0]', ip, 'may not change once set'));
  }
  return causes;
}

const finalizer =
  (name: string, status?: (host: RulesHost) => JsonObject): Make =>
  (host) => ({
    returnsDeleted: true,
    create: (object) => {
      const metadata = metadataOf(object);
      const finalizers = Array.isArray(metadata['finalizers']) ? (metadata['finalizers'] as unknown[]) : [];
      const all = finalizers.includes(name) ? finalizers : [...finalizers, name];
      return {
        ...withMetadata(object, { ...metadata, finalizers: all }),
        ...(status === undefined ? {} : { status: status(host) }),
      };
    },
  });

/** When a volume's phase changed, unless the writer says. */
function phaseChange(
  object: JsonObject,
  old: JsonObject,
  subresource: string | undefined,
  host: RulesHost,
): JsonObject {
  const [is, was] = [objectOf(object['status']), objectOf(old['status'])];
  const own = is['lastPhaseTransitionTime'] ?? null;
  const said = own !== null && !jsonEqual(own, was['lastPhaseTransitionTime'] ?? null);
  if (subresource !== 'status') return object;
  if (is['phase'] === was['phase'])
    return own === null
      ? { ...object, status: { ...is, lastPhaseTransitionTime: was['lastPhaseTransitionTime'] } }
      : object;
  if (said) return object;
  return { ...object, status: { ...is, lastPhaseTransitionTime: host.now() } };
}

const generationOnly: Make = () => GENERATION;

const rbac: Make = () => ({ names: 'path' });

const binding: Make = () => ({
  names: 'path',
  violations: (object, old) => {
    const causes: StatusCause[] = [];
    const role = objectOf(object['roleRef']);
    const kinds = metadataOf(object)['namespace'] === undefined ? ['ClusterRole'] : ['ClusterRole', 'Role'];
    if (role['apiGroup'] !== 'rbac.authorization.k8s.io') {
      causes.push(unsupported('roleRef.apiGroup', role['apiGroup'], ['rbac.authorization.k8s.io']));
    }
    if (!kinds.includes(String(role['kind']))) causes.push(unsupported('roleRef.kind', role['kind'] ?? '', kinds));
    if ((role['name'] ?? '') === '') causes.push(required('roleRef.name'));
    for (const [at, subject] of each(object as Draft, 'subjects').entries()) {
      if ((subject['name'] ?? '') === '') causes.push(required(`subjects[${at}].name`));
      const kind = subject['kind'] ?? '';
      const all = ['Group', 'ServiceAccount', 'User'];
      if (!all.includes(String(kind))) causes.push(unsupported(`subjects[${at}].kind`, kind, all));
      const clustered = metadataOf(object)['namespace'] === undefined;
      if (clustered && kind === 'ServiceAccount' && (subject['namespace'] ?? '') === '')
        causes.push(required(`subjects[${at}].namespace`));
    }
    if (old !== undefined && !jsonEqual(object['roleRef'], old['roleRef'])) {
      const { apiGroup: APIGroup, kind: Kind, name: Name } = role;
      causes.push(wrong('roleRef', { APIGroup, Kind, Name }, 'cannot change roleRef'));
    }
    return causes;
  },
});

const namespace: Make = () => ({
  names: 'label',
  fields: (object) => ({ 'status.phase': textOf(objectOf(object['status'])['phase']) }),
  create: (object) => ({ ...object, status: { phase: 'Active' } }),
  update: (object, old, context) => updateNamespace(object, old, context),
});

/** The spec of a namespace is its finalizers, which only `finalize` changes. */
function updateNamespace(object: JsonObject, old: JsonObject, { subresource }: RuleContext): JsonObject {
  return subresource === 'finalize' ? object : { ...object, spec: old['spec'] };
}

/** CRDs: the versions that objects may be stored in are kept from the first one on. */
const customResourceDefinition: Make = ({ optionalOldSelf }) => ({
  generation: true,
  statusKeeps: 'metadata',
  create: (object) => ({
    ...object,
    status: {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: [storageVersion(object)].filter((one) => one !== undefined),
    },
  }),
  update: (object, old, { subresource }) => {
    if (subresource === 'status') return object;
    const status = objectOf(object['status'] ?? old['status']);
    const stored = listOf(status['storedVersions']);
    const version = storageVersion(object);
    return stored.includes(version)
      ? object
      : { ...object, status: { ...status, storedVersions: [...stored, version] } };
  },
  violations: (object, old, { subresource }) =>
    subresource === 'status' ? storedVersionViolations(object) : crdViolations(object, old, optionalOldSelf),
  deleted: (object, now) => {
    const metadata = metadataOf(object);
    const finalizers = [...listOf(metadata['finalizers']).filter((one) => one !== CLEANUP), CLEANUP];
    const status = objectOf(object['status']);
    const terminating = {
      type: 'Terminating',
      status: 'True',
      lastTransitionTime: now,
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    };
    const conditions = [...listOf(status['conditions']), terminating];
    return {
      ...withMetadata(object, { ...metadata, deletionTimestamp: now, finalizers }),
      status: { ...status, conditions },
    };
  },
});

function storageVersion(crd: JsonObject): unknown {
  return listOf(objectOf(crd['spec'])['versions'])
    .map(objectOf)
    .find(({ storage }) => storage === true)?.['name'];
}

const RULES: Readonly<Record<string, Make>> = {
  Namespace: namespace,
  ConfigMap: () => ({ violations: keyed(() => []) }),
  Secret: () => ({
    warnings: (object) => {
      const pair =
        object['type'] === 'kubernetes.io/tls'
          ? Buffer.from(textOf(objectOf(object['data'])['tls.crt']), 'base64')
          : undefined;
      return pair === undefined || pair.includes('-----BEGIN')
        ? []
        : ['tls: failed to find any PEM data in certificate input'];
    },
    fields: (object) => ({ type: textOf(object['type']) }),
    violations: keyed((object, old) => {
      const data = objectOf(object['data']);
      const type = String(object['type']);
      const absent = (SECRET_KEYS[type] ?? []).filter((key) => !(key in data));
      const account = metadataOf(object)['annotations'];
      const nameless =
        type === 'kubernetes.io/service-account-token' &&
        (objectOf(account)['kubernetes.io/service-account.name'] ?? '') === '';
      return [
        ...absent.map((key) => required(`data[${key}]`)),
        ...(nameless ? [required('metadata.annotations[kubernetes.io/service-account.name]')] : []),
        ...immutable(object, old, 'type'),
      ];
    }),
  }),
  Pod: pod,
  PodTemplate: () => ({ generation: true, returnsDeleted: true }),
  ReplicationController: () => ({ generation: true, orphansByDefault: true }),
  Service: (host) => ({
    warnings: (object) => {
      const { type, externalName = '' } = objectOf(object['spec']);
      if (type === 'ExternalName' || externalName === '') return [];
      return ['spec.externalName is ignored when spec.type is not "ExternalName"'];
    },
    returnsDeleted: true,
    names: 'dns1035',
    create: (object) => serviceAddresses(object, undefined, host),
    update: (object, old, { subresource }) => (subresource === 'status' ? object : serviceAddresses(object, old, host)),
    violations: serviceViolations,
    fields: (object) => {
      const spec = objectOf(object['spec']);
      return { 'spec.clusterIP': textOf(spec['clusterIP']), 'spec.type': textOf(spec['type']) };
    },
  }),
  ServiceAccount: () => ({ returnsDeleted: true }),
  ResourceQuota: () => ({ returnsDeleted: true }),
  Node: () => ({
    create: (object) => {
      const one = copy(object);
      const spec = within(one, 'spec');
      const taints = each(spec, 'taints');
      const key = 'node.kubernetes.io/not-ready';
      if (!taints.some((taint) => taint['key'] === key)) spec['taints'] = [...taints, { key, effect: 'NoSchedule' }];
      return one;
    },
    fields: (object) => ({ 'spec.unschedulable': String(objectOf(object['spec'])['unschedulable'] === true) }),
  }),
  Event: () => ({
    ownsNothing: true,
    fields: (object) => {
      const about = objectOf(object['involvedObject']);
      const names = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
      return {
        ...Object.fromEntries(names.map((name) => [`involvedObject.${name}`, textOf(about[name])])),
        reason: textOf(object['reason']),
        type: textOf(object['type']),
        reportingComponent: textOf(object['reportingComponent']),
        source: textOf(objectOf(object['source'])['component']),
      };
    },
  }),
  Endpoints: () => ({
    warnings: () => ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
  }),
  PersistentVolumeClaim: finalizer('kubernetes.io/pvc-protection', () => ({ phase: 'Pending' })),
  PersistentVolume: (host) => ({
    ...finalizer('kubernetes.io/pv-protection', () => ({ phase: 'Pending', lastPhaseTransitionTime: host.now() }))(
      host,
    ),
    update: (object, old, { subresource }) => phaseChange(object, old, subresource, host),
  }),
  'apps/Deployment': workload(['Always'], ['selector'], {
    statusKeeps: 'labels',
    update: deploymentUpdate,
  }),
  'apps/ReplicaSet': workload(['Always'], ['selector']),
  'apps/StatefulSet': workload(['Always'], [], {
    violations: (object, old) => {
      if (old === undefined) return [];
      const bare = (of: JsonObject): JsonObject => without(objectOf(of['spec']), ...STATEFUL_MAY);
      return jsonEqual(bare(object), bare(old)) ? [] : [forbidden('spec', STATEFUL_CHANGE)];
    },
  }),
  'apps/DaemonSet': workload(['Always'], ['selector'], {
    create: (object) => daemonSetGeneration(object, 1),
    update: (object, old, { subresource }) => {
      if (subresource === 'status') return object;
      const now = Number(objectOf(metadataOf(old)['annotations'])[TEMPLATE_GENERATION] ?? 1);
      const template = (one: JsonObject): unknown => objectOf(one['spec'])['template'];
      return daemonSetGeneration(object, jsonEqual(template(object), template(old)) ? now : now + 1);
    },
  }),
  'batch/Job': () => ({
    generation: true,
    orphansByDefault: true,
    create: newJob,
    fields: (object) => ({ 'status.successful': textOf(objectOf(object['status'])['succeeded'], '0') }),
    violations: (object, old, { subresource }) => {
      if (subresource === 'status') return [];
      const spec = objectOf(object['spec']) as Draft;
      const template = part(spec, 'template', 'spec') ?? {};
      const policies = ['Never', 'OnFailure'];
      const causes = podSpecViolations(template, 'spec.template.spec');
      const policy = String(template['restartPolicy']);
      if (policy !== 'Always' && !policies.includes(policy)) {
        causes.push(unsupported('spec.template.spec.restartPolicy', policy, policies));
      } else if (!policies.includes(policy)) {
        const message = 'Required value: valid values: "OnFailure", "Never"';
        causes.push({ reason: 'FieldValueRequired', message, field: 'spec.template.spec.restartPolicy' });
      }
      const before = old === undefined ? undefined : objectOf(old['spec']);
      for (const field of ['completions', 'selector', 'template', 'completionMode']) {
        if (before !== undefined && !jsonEqual(spec[field] ?? null, before[field] ?? null)) {
          causes.push(wrong(`spec.${field}`, spec[field], 'field is immutable'));
        }
      }
      return causes;
    },
  }),
  'batch/CronJob': generationOnly,
  'policy/PodDisruptionBudget': () => ({ generation: true, guarded: true }),
  'networking.k8s.io/Ingress': generationOnly,
  'networking.k8s.io/NetworkPolicy': generationOnly,
  'networking.k8s.io/IngressClass': generationOnly,
  // Of their first version only.
  'scheduling.k8s.io/PriorityClass': () => ({
    create: (object) => withMetadata(object, { ...metadataOf(object), generation: 1 }),
  }),
  'discovery.k8s.io/EndpointSlice': () => ({ generation: true, update: relabelled }),
  'flowcontrol.apiserver.k8s.io/FlowSchema': generationOnly,
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': generationOnly,
  'resource.k8s.io/DeviceClass': () => ({ generation: true, returnsDeleted: true }),
  'resource.k8s.io/ResourceSlice': () => ({ generation: true, returnsDeleted: true }),
  'resource.k8s.io/ResourceClaim': () => ({ statusKeeps: 'metadata', returnsDeleted: true }),
  'resource.k8s.io/ResourceClaimTemplate': () => ({ returnsDeleted: true }),
  'coordination.k8s.io/Lease': () => ({ guarded: true }),
  'node.k8s.io/RuntimeClass': () => ({ guarded: true }),
  'storage.k8s.io/StorageClass': () => ({ returnsDeleted: true }),
  'storage.k8s.io/CSIDriver': () => ({ returnsDeleted: true, guarded: true }),
  'storage.k8s.io/CSINode': () => ({ returnsDeleted: true, guarded: true }),
  'storage.k8s.io/CSIStorageCapacity': () => ({ guarded: true }),
  'networking.k8s.io/ServiceCIDR': () => ({ statusKeeps: 'metadata' }),
  'storage.k8s.io/VolumeAttachment': () => ({ statusKeeps: 'metadata', returnsDeleted: true, guarded: true }),
  'storage.k8s.io/VolumeAttributesClass': finalizer('kubernetes.io/vac-protection'),
  'rbac.authorization.k8s.io/Role': rbac,
  'rbac.authorization.k8s.io/ClusterRole': rbac,
  'rbac.authorization.k8s.io/RoleBinding': binding,
  'rbac.authorization.k8s.io/ClusterRoleBinding': binding,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': () => ({
    generation: true,
    guarded: true,
    violations: webhookViolations,
  }),
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': () => ({
    generation: true,
    guarded: true,
    violations: webhookViolations,
  }),
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': () => ({
    generation: true,
    statusKeeps: 'metadata',
    guarded: true,
    violations: policyViolations,
  }),
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': () => ({ generation: true, guarded: true }),
  'apiextensions.k8s.io/CustomResourceDefinition': customResourceDefinition,
  'certificates.k8s.io/CertificateSigningRequest': () => ({
    violations: (object) => {
      const text = textOf(objectOf(object['spec'])['request']);
      const pem = Buffer.from(text, 'base64').toString('utf8');
      return pem.includes('-----BEGIN CERTIFICATE REQUEST-----')
        ? []
        : [wrong('spec.request', text === '' ? null : text, 'PEM block type must be CERTIFICATE REQUEST')];
    },
    fields: (object) => ({ 'spec.signerName': textOf(objectOf(object['spec'])['signerName']) }),
  }),
};
