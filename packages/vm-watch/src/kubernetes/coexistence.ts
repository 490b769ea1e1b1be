import type { CustomResourceDefinition, Deployment } from '@drydock/api';
import type { Key } from '@drydock/kube';

/** vm-operator, which owns the status of VirtualMachine objects where it runs. */
export const vmOperator: Required<Key> = {
  namespace: 'vmware-system-vmop',
  name: 'vmware-system-vmop-controller-manager',
};

const OURS = { label: 'app.kubernetes.io/part-of', value: 'drydock' } as const;

/**
 * Why this process must not write the status of VirtualMachine objects: vm-operator is there, or the kind is served by a CRD that is not ours. Undefined where nobody else
 * writes it. A Deployment scaled to zero does not write, but its owner may scale it up at any time, so it counts too.
 */
export function vmOperatorRefusal(
  deployment: Deployment | undefined,
  crd: CustomResourceDefinition | undefined,
): string | undefined {
  const { namespace, name } = vmOperator;
  if (deployment !== undefined) return `Deployment ${namespace}/${name} writes the status of VirtualMachines here`;
  if (crd !== undefined && crd.metadata.labels?.[OURS.label] !== OURS.value)
    return `CRD ${crd.metadata.name} is not Drydock's (it lacks the label ${OURS.label}=${OURS.value}): its owner writes the status`;
  return undefined;
}
