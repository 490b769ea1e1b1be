import { isObject, type Json, type JsonObject, jsonText } from '@drydock/crd';
import type { ObjectId } from '../../payload/manifest.ts';
import { objectIn, own, textIn, withField, withFields } from '../json.ts';
import { combine, KEYED, LIVE, type Rule } from './combine.ts';
import { listBy, listInOrder, POD_TEMPLATE } from './pod.ts';

const fieldsOf = (fields: Readonly<Record<string, Rule>>, defaults: JsonObject = {}): Rule => ({
  as: 'object',
  keeps: true,
  defaults,
  fields,
});

const rolling = (rollingUpdate: JsonObject): Rule => ({
  as: 'object',
  defaults: { type: 'RollingUpdate', rollingUpdate },
});
const workload = (fields: Readonly<Record<string, Rule>> = {}): Rule =>
  fieldsOf({ template: POD_TEMPLATE, ...fields }, { paused: false, minReadySeconds: 0 });

const ROLE_REF: Rule = { as: 'object', defaults: { apiGroup: 'rbac.authorization.k8s.io' } };
const BINDING = fieldsOf({
  roleRef: ROLE_REF,
  subjects: {
    as: 'list',
    key: (one) => `${textIn(one, 'kind')} ${textIn(one, 'namespace')} ${textIn(one, 'name')}`,
    // Of users and groups; a ServiceAccount has none.
    item: { as: 'object', filled: ['apiGroup'] },
  },
});

const WEBHOOK: Rule = {
  as: 'object',
  defaults: {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    reinvocationPolicy: 'Never',
  },
  fields: {
    clientConfig: { as: 'object', fields: { service: { as: 'object', defaults: { port: 443 } } } },
    rules: {
      as: 'list',
      key: (_rule, index) => `${index}`,
      item: { as: 'object', defaults: { scope: '*' } },
    },
  },
};
const WEBHOOKS = fieldsOf({ webhooks: listBy('name', WEBHOOK) });

/** What the server decides once for a Service. */
const ALLOCATED = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort'];

const SERVICE = fieldsOf({
  spec: fieldsOf({
    ...Object.fromEntries(ALLOCATED.map((field) => [field, LIVE])),
    ports: {
      as: 'list',
      key: (port) => textIn(port, 'name') || jsonText(port['port']),
      item: { as: 'object', defaults: { protocol: 'TCP' }, filled: ['targetPort', 'nodePort'] },
    },
  }),
});

const PEERS = listInOrder({
  as: 'object',
  fields: { ports: listInOrder({ as: 'object', defaults: { protocol: 'TCP' } }) },
});
const NETWORK_POLICY = fieldsOf({
  spec: { as: 'object', fields: { ingress: PEERS, egress: PEERS }, filled: ['policyTypes'] },
});

const DEFINITION = fieldsOf({
  spec: {
    as: 'object',
    defaults: { conversion: { strategy: 'None' }, preserveUnknownFields: false },
    fields: {
      names: { as: 'object', filled: ['singular', 'listKind'] },
      // What the server leaves out of a schema it leaves out at each level.
      versions: listBy('name', { as: 'object', defaults: { deprecated: false } }),
    },
  },
});

/** By `KIND.GROUP`; every other kind is generic: each field at the top is what the manifest says. */
const RULES: Readonly<Record<string, Rule>> = {
  'ConfigMap.': fieldsOf({ data: KEYED, binaryData: KEYED }),
  'Namespace.': fieldsOf({ spec: LIVE }),
  'ServiceAccount.': fieldsOf({ secrets: LIVE, imagePullSecrets: LIVE }),
  'Service.': SERVICE,
  'Deployment.apps': fieldsOf({
    spec: workload({ strategy: rolling({ maxUnavailable: '25%', maxSurge: '25%' }) }),
  }),
  'DaemonSet.apps': fieldsOf({ spec: workload({ updateStrategy: rolling({ maxUnavailable: 1, maxSurge: 0 }) }) }),
  'StatefulSet.apps': fieldsOf({ spec: workload({ updateStrategy: rolling({ partition: 0 }) }) }),
  'CronJob.batch': fieldsOf({
    spec: fieldsOf(
      { jobTemplate: fieldsOf({ metadata: fieldsOf({ labels: KEYED, annotations: KEYED }), spec: workload() }) },
      { suspend: false },
    ),
  }),
  'RoleBinding.rbac.authorization.k8s.io': BINDING,
  'ClusterRoleBinding.rbac.authorization.k8s.io': BINDING,
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io': WEBHOOKS,
  'MutatingWebhookConfiguration.admissionregistration.k8s.io': WEBHOOKS,
  'CustomResourceDefinition.apiextensions.k8s.io': DEFINITION,
  'NetworkPolicy.networking.k8s.io': NETWORK_POLICY,
};
const GENERIC = fieldsOf({});

/** `KIND.GROUP`, as the tables of kinds have it. */
export function kindOf({ kind, group }: ObjectId): string {
  return `${kind}.${group}`;
}

/** Whether a manifest is a CustomResourceDefinition. */
export function isDefinition({ id }: { readonly id: ObjectId }): boolean {
  return kindOf(id) === 'CustomResourceDefinition.apiextensions.k8s.io';
}

/** The content of an object, that is all but type, metadata and status, as it is to be. */
export function mergedContent(id: ObjectId, wanted: JsonObject, live: JsonObject): JsonObject {
  const rule = Object.hasOwn(RULES, kindOf(id)) ? (RULES[kindOf(id)] as Rule) : GENERIC;
  const merged = combine(rule, asServed(id, wanted, live), live);
  return isObject(merged) ? merged : live;
}

/** The maps of a kind whose keys are added and never taken away but by whoever wrote them, by their paths. */
export function keyedPaths(id: ObjectId): readonly (readonly string[])[] {
  const rule = Object.hasOwn(RULES, kindOf(id)) ? (RULES[kindOf(id)] as Rule) : GENERIC;
  return [['metadata', 'labels'], ['metadata', 'annotations'], ...pathsIn(rule, [])];
}

function pathsIn(rule: Rule, path: readonly string[]): readonly (readonly string[])[] {
  if (rule.as !== 'object' || rule.keeps !== true) return [];
  const inner = Object.entries(rule.fields ?? {}).flatMap(([field, of]) => pathsIn(of, [...path, field]));
  return [path, ...inner];
}

/** A new object as it is sent: what a Secret says in plain text is in its data, where it is looked for later. */
export function asSent(id: ObjectId, object: JsonObject): JsonObject {
  return kindOf(id) === 'Secret.' ? withData(object) : object;
}

function withData({ stringData, ...secret }: JsonObject): JsonObject {
  if (!isObject(stringData)) return secret;
  const texts = Object.entries(stringData).filter(([, value]) => typeof value === 'string');
  const encoded = texts.map(([key, value]) => [key, Buffer.from(value as string).toString('base64')] as const);
  return { ...secret, data: withFields(objectIn(secret, 'data'), encoded) };
}

const INJECT_AUTHORITY = 'service.beta.openshift.io/inject-cabundle';

/** The manifest, with what the server or a controller says in its place. */
function asServed(id: ObjectId, wanted: JsonObject, live: JsonObject): JsonObject {
  switch (kindOf(id)) {
    case 'Secret.':
      return withData(wanted);
    case 'ClusterRole.rbac.authorization.k8s.io':
      return isObject(wanted['aggregationRule']) ? withField(wanted, 'rules', own(live, 'rules')) : wanted;
    case 'CustomResourceDefinition.apiextensions.k8s.io':
      return withAuthority(withPruned(wanted), live, ['spec', 'conversion', 'webhook', 'clientConfig']);
    case 'ValidatingWebhookConfiguration.admissionregistration.k8s.io':
    case 'MutatingWebhookConfiguration.admissionregistration.k8s.io':
      return withAuthorities(wanted, live);
    case 'APIService.apiregistration.k8s.io':
      return withAuthority(wanted, live, ['spec']);
    default:
      return wanted;
  }
}

function injects(live: JsonObject): boolean {
  return textIn(objectIn(objectIn(live, 'metadata'), 'annotations'), INJECT_AUTHORITY) === 'true';
}

/** The authority of a client that a controller puts in stays, whatever the manifest says. */
function withAuthority(wanted: JsonObject, live: JsonObject, path: readonly string[]): JsonObject {
  if (!injects(live)) return wanted;
  const put = (want: JsonObject, is: JsonObject, [field, ...rest]: readonly string[]): JsonObject => {
    if (field === undefined) return is['caBundle'] === undefined ? want : { ...want, caBundle: is['caBundle'] };
    const inner = want[field];
    return isObject(inner) ? { ...want, [field]: put(inner, objectIn(is, field), rest) } : want;
  };
  return put(wanted, live, path);
}

function withAuthorities(wanted: JsonObject, live: JsonObject): JsonObject {
  const { webhooks } = wanted;
  if (!injects(live) || !Array.isArray(webhooks)) return wanted;
  const known = Array.isArray(live['webhooks']) ? (live['webhooks'] as readonly Json[]) : [];
  const inLive = known
    .filter((one) => isObject(one))
    .map((one) => objectIn(one, 'clientConfig')['caBundle'])
    .find((one) => one !== undefined);
  if (inLive === undefined) return wanted;
  const with_ = (webhook: Json): Json =>
    isObject(webhook)
      ? { ...webhook, clientConfig: { ...objectIn(webhook, 'clientConfig'), caBundle: inLive } }
      : webhook;
  return { ...wanted, webhooks: webhooks.map(with_) };
}

/** A definition without what the server leaves out of schemas: what is null, and false, empty texts and lists. */
function withPruned(definition: JsonObject): JsonObject {
  const { spec } = definition;
  if (!isObject(spec) || !Array.isArray(spec['versions'])) return definition;
  const versions = spec['versions'].map((version: Json) =>
    isObject(version) && isObject(version['schema'])
      ? { ...version, schema: schemaAsServed(version['schema']) }
      : version,
  );
  return { ...definition, spec: { ...spec, versions } };
}

/** Values of users: an empty one says something. */
const VALUES = new Set(['default', 'example', 'enum', 'x-kubernetes-preserve-unknown-fields']);
/** Maps by names of users. */
const BY_NAME = new Set(['properties', 'patternProperties', 'definitions']);

function schemaAsServed(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([field, value]): (readonly [string, Json])[] => {
    if (value === null) return field === 'default' ? [[field, value]] : [];
    if (VALUES.has(field)) return [[field, value]];
    if (value === '' || value === false) return field === 'additionalProperties' ? [[field, value]] : [];
    if (Array.isArray(value))
      return value.length === 0 ? [] : [[field, value.map((one: Json) => (isObject(one) ? schemaAsServed(one) : one))]];
    if (!isObject(value)) return [[field, value]];
    if (!BY_NAME.has(field)) return [[field, schemaAsServed(value)]];
    const named = Object.entries(value).map(([name, inner]): readonly [string, Json] => [
      name,
      isObject(inner) ? schemaAsServed(inner) : inner,
    ]);
    return named.length === 0 ? [] : [[field, Object.fromEntries(named)]];
  });
  return Object.fromEntries(entries);
}
