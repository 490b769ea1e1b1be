import {
  type JsonObject,
  jsonEqual,
  type KindRules,
  objectOf,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { textOf } from './draft.ts';
import { checkDnsLabel, checkNotNegative, checkSupported, forbidden, invalidValue } from './field-errors.ts';
import { labelMap, unchanged } from './name-checks.ts';
import { NETWORK_CHECKS } from './network-checks.ts';
import { STORAGE_CHECKS } from './storage-checks.ts';

// What the server refuses in kinds with few rules.

type Check = (object: JsonObject, old: JsonObject | undefined) => readonly StatusCause[];

const lease: Check = (object) => {
  const spec = objectOf(object['spec']);
  const { leaseDurationSeconds: duration, preferredHolder: holder, strategy } = spec;
  return [
    ...(typeof duration === 'number' && duration <= 0
      ? [invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0')]
      : []),
    ...checkNotNegative('spec.leaseTransitions', spec['leaseTransitions']),
    ...(textOf(holder) !== '' && textOf(strategy) === ''
      ? [forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined')]
      : []),
  ];
};

const HIGHEST_PRIORITY = 1_000_000_000;

const priorityClass: Check = (object, old) => {
  const { value, preemptionPolicy: policy } = object;
  if (old !== undefined) {
    const same = jsonEqual(value ?? 0, old['value'] ?? 0);
    return [
      ...(same ? [] : [forbidden('value', 'may not be changed in an update.')]),
      ...unchanged('preemptionPolicy', policy, old['preemptionPolicy']),
    ];
  }
  return [
    ...(Number(value) > HIGHEST_PRIORITY
      ? [forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST_PRIORITY}`)]
      : []),
    ...(policy === undefined ? [] : checkSupported('preemptionPolicy', policy, ['Never', 'PreemptLowerPriority'])),
  ];
};

const runtimeClass: Check = (object, old) => {
  if (old !== undefined) return unchanged('handler', object['handler'], old['handler']);
  return [
    ...checkDnsLabel('handler', textOf(object['handler'])),
    ...labelMap('scheduling.nodeSelector', objectOf(object['scheduling'])['nodeSelector']),
  ];
};

const CHECKS: Readonly<Record<string, Check>> = {
  ...STORAGE_CHECKS,
  ...NETWORK_CHECKS,
  'coordination.k8s.io/Lease': lease,
  'scheduling.k8s.io/PriorityClass': priorityClass,
  'node.k8s.io/RuntimeClass': runtimeClass,
};

/** What is invalidValue with an object of such a kind. A status is not what the rules are about. */
export function smallKindViolations(name: string): NonNullable<KindRules['violations']> {
  const check = CHECKS[name];
  return (object, old, { subresource }) => (check === undefined || subresource === 'status' ? [] : check(object, old));
}
