import type { ControlPlaneMachineSet, Infrastructure, Machine, MachineSet } from '@drydock/api';

/** Everything in the cluster that can name a template. `undefined` lists are not known yet. */
export interface ReferenceSources {
  readonly machineSets: Iterable<MachineSet> | undefined;
  readonly machines: Iterable<Machine> | undefined;
  readonly controlPlaneMachineSets: Iterable<ControlPlaneMachineSet> | undefined;
  readonly infrastructure: Infrastructure | undefined;
}

/**
 * Who needs a template of this name: a set, a Machine that has no VM yet (its clone may run this moment), the control plane set,
 * a failure domain. Where any of these cannot be told, every name is 'unknown', which keeps it.
 */
export function referenceIndex(sources: ReferenceSources): (name: string) => string | undefined {
  const { machineSets, machines, controlPlaneMachineSets, infrastructure } = sources;
  if (!machineSets || !machines || !controlPlaneMachineSets || !infrastructure) return () => 'unknown';
  const users = new Map<string, string>();
  const add = (reference: unknown, user: string): void => {
    if (typeof reference !== 'string' || reference === '') return;
    const name = reference.slice(reference.lastIndexOf('/') + 1);
    users.getOrInsert(name, user);
  };
  for (const set of machineSets) {
    add(set.spec?.template?.spec?.providerSpec?.value?.['template'], `machineset ${set.metadata.name}`);
  }
  for (const machine of machines) {
    if (!hasVm(machine)) add(machine.spec?.providerSpec?.value?.['template'], `machine ${machine.metadata.name}`);
  }
  for (const set of controlPlaneMachineSets) {
    const template = set.spec?.template?.machines_v1beta1_machine_openshift_io?.spec?.providerSpec?.value?.['template'];
    add(template, `controlplanemachineset ${set.metadata.name}`);
  }
  for (const domain of infrastructure.spec?.platformSpec?.vsphere?.failureDomains ?? []) {
    add(domain.topology.template, `failure domain ${domain.name}`);
  }
  return (name) => users.get(name);
}

/** A Machine clones until it has a provider ID; a Failed one never will. */
function hasVm(machine: Machine): boolean {
  return (machine.spec?.providerID ?? '') !== '' || machine.status?.phase === 'Failed';
}
