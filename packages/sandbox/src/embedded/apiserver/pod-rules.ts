import {
  type JsonObject,
  jsonEqual,
  listOf,
  metadataOf,
  objectOf,
  Refusal,
  type StatusCause,
  without,
} from '@drydock/kube/testing/api-server';
import { copyOf, type Draft, each, fieldValues, fill, textOf, within } from './draft.ts';
import { forbidden } from './field-errors.ts';
import { podSpecViolations, qosClass } from './pod-checks.ts';
import type { RulesByKind, RulesHost } from './rules-host.ts';

const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

/** Tolerations that admission adds to each pod. */
const DEFAULT_TOLERATIONS = ['not-ready', 'unreachable'].map((condition) => ({
  key: `node.kubernetes.io/${condition}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));

function newPod(object: JsonObject, host: RulesHost): JsonObject {
  const pod = copyOf(object);
  const spec = within(pod, 'spec');
  setPriority(spec, textOf(metadataOf(object)['name']), host);
  addTolerations(spec);
  pod['status'] = { phase: 'Pending', qosClass: qosClass(spec) };
  return pod;
}

function setPriority(spec: Draft, pod: string, host: RulesHost): void {
  const preemptionPolicy = 'PreemptLowerPriority';
  const { priorityClassName: name } = spec;
  if (typeof name !== 'string' || name === '') {
    fill(spec, { priority: 0, preemptionPolicy });
    return;
  }
  const found = host.list('scheduling.k8s.io', 'priorityclasses').find((one) => metadataOf(one)['name'] === name);
  const priority = found?.['value'] ?? SYSTEM_PRIORITIES[name];
  if (priority === undefined) {
    throw new Refusal({
      code: 403,
      reason: 'Forbidden',
      message: `pods "${pod}" is forbidden: no PriorityClass with name ${name} was found`,
      details: { name: pod, kind: 'pods' },
    });
  }
  fill(spec, { priority, preemptionPolicy: found?.['preemptionPolicy'] ?? preemptionPolicy });
}

function addTolerations(spec: Draft): void {
  const tolerations = each(spec, 'tolerations');
  const tolerates = (wanted: string): boolean =>
    tolerations.some(({ key = wanted, effect = 'NoExecute' }) => key === wanted && effect === 'NoExecute');
  const added = DEFAULT_TOLERATIONS.filter(({ key }) => !tolerates(key));
  if (added.length > 0) spec['tolerations'] = [...tolerations, ...added];
}

const SPEC_CHANGED =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** A pod's spec without the fields that may change. */
function immutableSpec(pod: JsonObject): JsonObject {
  const spec = objectOf(pod['spec']);
  const withoutImages = (list: unknown): unknown =>
    Array.isArray(list) ? list.map((one) => without(objectOf(one), 'image', 'imagePullPolicy')) : list;
  return {
    ...without(spec, 'activeDeadlineSeconds', 'tolerations', 'ephemeralContainers', 'schedulingGates'),
    containers: withoutImages(spec['containers']),
    initContainers: withoutImages(spec['initContainers']),
  };
}

function violations(object: JsonObject, old: JsonObject | undefined, subresource: string | undefined): StatusCause[] {
  if (subresource === 'status') return [];
  const causes = podSpecViolations(objectOf(object['spec']) as Draft, 'spec');
  const changed =
    old !== undefined && subresource === undefined && !jsonEqual(immutableSpec(object), immutableSpec(old));
  return changed ? [...causes, forbidden('spec', SPEC_CHANGED)] : causes;
}

function selectableFields(pod: JsonObject): Readonly<Record<string, string>> {
  const { hostNetwork } = objectOf(pod['spec']);
  const { podIP, podIPs } = objectOf(pod['status']);
  return {
    ...fieldValues(pod, 'spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName'),
    ...fieldValues(pod, 'status.phase', 'status.nominatedNodeName'),
    'spec.hostNetwork': String(hostNetwork === true),
    'status.podIP': textOf(podIP ?? objectOf(listOf(podIPs)[0])['ip']),
    'status.podIPs': textOf(podIP),
  };
}

/** Seconds for which a deleted pod stays; 0 if no kubelet has to stop it. */
function gracePeriod(pod: JsonObject, asked: number | undefined): number {
  const { nodeName, terminationGracePeriodSeconds: own } = objectOf(pod['spec']);
  const { phase } = objectOf(pod['status']);
  if (typeof nodeName !== 'string' || nodeName === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
  return asked ?? (typeof own === 'number' ? own : 30);
}

export const POD_RULES: RulesByKind = {
  Pod: (host) => ({
    generation: true,
    returnsDeleted: true,
    create: (object) => newPod(object, host),
    violations: (object, old, { subresource }) => violations(object, old, subresource),
    fields: selectableFields,
    grace: gracePeriod,
  }),
};
