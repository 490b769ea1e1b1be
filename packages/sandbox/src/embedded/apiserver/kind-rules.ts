import {
  type JsonObject,
  type KindRules,
  listOf,
  metadataOf,
  objectOf,
  withMetadata,
} from '@drydock/kube/testing/api-server';
import { policyViolations, webhookViolations } from './admission-checks.ts';
import { CONFIG_RULES } from './config-rules.ts';
import { CRD_RULES } from './crd-rules.ts';
import { copyOf, each, fieldValues, textOf, within } from './draft.ts';
import { coreEventFields } from './event-forms.ts';
import { invalidValue } from './field-errors.ts';
import { POD_RULES } from './pod-rules.ts';
import { RBAC_KIND_RULES } from './rbac-kind-rules.ts';
import type { RulesByKind, RulesHost } from './rules-host.ts';
import { SERVICE_RULES } from './service-rules.ts';
import { WORKLOAD_RULES } from './workload-rules.ts';

// What the server does for built-in kinds beyond decoding and defaults: fields that it sets or keeps, and validation.

/** The rules of a kind by `group/Kind`, or by `Kind` in the core group. Most kinds have none. */
export function kindRules(name: string, host: RulesHost): KindRules {
  return RULES[name]?.(host) ?? {};
}

/** A finalizer and a status for new objects. */
function protectedBy(finalizer: string, object: JsonObject, status: JsonObject): JsonObject {
  const metadata = metadataOf(object);
  const given = listOf(metadata['finalizers']);
  const finalizers = given.includes(finalizer) ? given : [...given, finalizer];
  return { ...withMetadata(object, { ...metadata, finalizers }), status };
}

const NOT_READY = 'node.kubernetes.io/not-ready';

/** New nodes are tainted until their kubelet reports. */
function newNode(object: JsonObject): JsonObject {
  const node = copyOf(object);
  const spec = within(node, 'spec');
  const taints = each(spec, 'taints');
  if (taints.some(({ key }) => key === NOT_READY)) return node;
  spec['taints'] = [...taints, { key: NOT_READY, effect: 'NoSchedule' }];
  return node;
}

const csrRules: KindRules = {
  violations: (object) => {
    const request = textOf(objectOf(object['spec'])['request']);
    const isRequest = Buffer.from(request, 'base64').includes('-----BEGIN CERTIFICATE REQUEST-----');
    return isRequest ? [] : [invalidValue('spec.request', request, 'PEM block type must be CERTIFICATE REQUEST')];
  },
  fields: (object) => fieldValues(object, 'spec.signerName'),
};

/** Kinds that have a generation and no other rules. */
const GENERATION_ONLY = [
  'PodTemplate',
  'ReplicationController',
  'batch/CronJob',
  'policy/PodDisruptionBudget',
  'networking.k8s.io/Ingress',
  'networking.k8s.io/NetworkPolicy',
  'networking.k8s.io/IngressClass',
  'scheduling.k8s.io/PriorityClass',
  'discovery.k8s.io/EndpointSlice',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding',
];

const RULES: RulesByKind = {
  ...Object.fromEntries(GENERATION_ONLY.map((name) => [name, () => ({ generation: true })])),
  ...CONFIG_RULES,
  ...POD_RULES,
  ...SERVICE_RULES,
  ...WORKLOAD_RULES,
  ...RBAC_KIND_RULES,
  ...CRD_RULES,
  Namespace: () => ({
    names: 'label',
    fields: (object) => fieldValues(object, 'status.phase'),
    create: (object) => ({ ...object, status: { phase: 'Active' } }),
    // The spec of a namespace is its finalizers, which only the subresource `finalize` changes.
    update: (object, old, { subresource }) => (subresource === 'finalize' ? object : { ...object, spec: old['spec'] }),
  }),
  ServiceAccount: () => ({ returnsDeleted: true }),
  ResourceQuota: () => ({ returnsDeleted: true }),
  Node: () => ({
    create: newNode,
    fields: (object) => ({ 'spec.unschedulable': String(objectOf(object['spec'])['unschedulable'] === true) }),
  }),
  Event: () => ({ fields: coreEventFields }),
  Endpoints: () => ({
    warnings: () => ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
  }),
  PersistentVolumeClaim: () => ({
    returnsDeleted: true,
    create: (object) => protectedBy('kubernetes.io/pvc-protection', object, { phase: 'Pending' }),
  }),
  PersistentVolume: (host) => ({
    returnsDeleted: true,
    create: (object) =>
      protectedBy('kubernetes.io/pv-protection', object, { phase: 'Pending', lastPhaseTransitionTime: host.now() }),
  }),
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': () => ({
    generation: true,
    violations: webhookViolations,
  }),
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': () => ({
    generation: true,
    violations: webhookViolations,
  }),
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': () => ({ generation: true, violations: policyViolations }),
  'certificates.k8s.io/CertificateSigningRequest': () => csrRules,
};
