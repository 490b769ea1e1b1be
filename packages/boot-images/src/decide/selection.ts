import type { LabelSelector, MachineManager } from '@drydock/api';
import { BootImageError, errorText } from '../errors.ts';
import type { SetKind } from '../observe/kept-set.ts';

/** Which sets the effective manager covers; `reason` says for a set that is left out why it is. */
export interface Selection {
  readonly includes: (labels: Readonly<Record<string, string>> | undefined) => boolean;
  readonly reason: string;
}

/** The API group of machine-api's sets. */
export const machineApiGroup = 'machine.openshift.io';

/**
 * The selection that `status.managedBootImagesStatus.machineManagers` expresses for one kind (boot-images.md §2.1).
 * Only status is ever read here: spec becomes effective when the operator half has reflected it.
 * Throws `SelectorInvalid` for a selector that the API server would refuse.
 */
export function selectionOf(managers: readonly MachineManager[] | undefined, resource: SetKind['manager']): Selection {
  const manager = managers?.find((m) => m.apiGroup === machineApiGroup && m.resource === resource);
  if (manager === undefined) {
    return { includes: () => false, reason: `no machine manager is configured for ${resource}` };
  }
  switch (manager.selection.mode) {
    case 'All':
      return { includes: () => true, reason: '' };
    case 'Partial': {
      const matches = labelSelector(manager.selection.partial?.machineResourceSelector);
      return {
        includes: (labels) => matches(labels ?? {}),
        reason: 'not selected by the partial selection',
      };
    }
    default:
      return {
        includes: () => false,
        reason: `boot image updates of ${resource} are opted out (mode None)`,
      };
  }
}

/**
 * Compiles a LabelSelector with Kubernetes' semantics: an absent selector matches nothing, an empty one everything, all
 * requirements are ANDed, `NotIn` also matches objects without the key.
 */
export function labelSelector(
  selector: LabelSelector | undefined | null,
): (labels: Readonly<Record<string, string>>) => boolean {
  if (selector === undefined || selector === null) return () => false;
  const tests: ((labels: Readonly<Record<string, string>>) => boolean)[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    tests.push((labels) => own(labels, key) === value);
  try {
    for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
      tests.push(requirement(key, operator, values));
    }
  } catch (error) {
    throw new BootImageError(
      'SelectorInvalid',
      `failed to create a machineset selector while enqueueing MAPI machineset ${errorText(error)}`,
      {
        cause: error,
        retriable: false,
        nextStep: 'correct spec.managedBootImages of machineconfiguration/cluster',
      },
    );
  }
  return (labels) => tests.every((test) => test(labels));
}

function requirement(
  key: string,
  operator: string,
  values: readonly string[],
): (labels: Readonly<Record<string, string>>) => boolean {
  switch (operator) {
    case 'In':
      if (values.length === 0) throw new Error(`values of ${key}: must be specified when operator is In`);
      return (labels) => values.includes(own(labels, key) ?? '') && own(labels, key) !== undefined;
    case 'NotIn':
      if (values.length === 0) throw new Error(`values of ${key}: must be specified when operator is NotIn`);
      return (labels) => !values.includes(own(labels, key) ?? '') || own(labels, key) === undefined;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) throw new Error(`values of ${key}: may not be specified when operator is ${operator}`);
      return (labels) => (own(labels, key) !== undefined) === (operator === 'Exists');
    default:
      throw new Error(`"${operator}" is not a valid label selector operator`);
  }
}

function own(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
