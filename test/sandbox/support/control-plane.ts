import { ControlPlaneMachineSet, MachineConfiguration, Secret } from '@drydock/api';
import type { Client } from '@drydock/kube';
import { machineApi, userData } from './voyage-cluster.ts';

/** Where the one set of a control plane is. */
export const planeKey: { readonly namespace: string; readonly name: string } = {
  namespace: machineApi,
  name: 'cluster',
};
/** The user-data Secret of its machines. */
export const planeStub = 'master-user-data';

/** A control plane as a test sees it. */
export interface Plane {
  /** `spec.template.machines_v1beta1_machine_openshift_io`, whole. */
  readonly template: () => Promise<unknown>;
  /** The same with this `providerSpec.value`, as it was created. */
  readonly with: (value: Readonly<Record<string, unknown>>) => unknown;
}

/** Creates the control plane whose machines have this `providerSpec.value`, and a stub of the old specification for it. */
export async function createPlane(
  client: Client,
  failureDomains: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
): Promise<Plane> {
  await client.create(Secret, userData(planeStub, '2.2.0'));
  const part = 'machine.openshift.io/cluster-api';
  const labels = { [`${part}-cluster`]: 'c', [`${part}-machine-role`]: 'master', [`${part}-machine-type`]: 'master' };
  const machines = (spec: Readonly<Record<string, unknown>>) => ({
    ...{ failureDomains, metadata: { labels } },
    spec: { providerSpec: { value: { ...spec, userDataSecret: { name: planeStub } } } },
  });
  const plane = {
    metadata: planeKey,
    spec: {
      ...{ replicas: 3, state: 'Active', selector: { matchLabels: labels }, strategy: { type: 'RollingUpdate' } },
      template: {
        machineType: 'machines_v1beta1_machine_openshift_io',
        machines_v1beta1_machine_openshift_io: machines(value),
      },
    },
  };
  await client.create(ControlPlaneMachineSet, plane as unknown as ControlPlaneMachineSet);
  return {
    template: async () =>
      (await client.get(ControlPlaneMachineSet, planeKey)).spec?.template?.machines_v1beta1_machine_openshift_io,
    with: machines,
  };
}

/** Has the images of both kinds managed. */
export async function manageBoth(client: Client): Promise<void> {
  const manager = (resource: string) => ({ resource, apiGroup: 'machine.openshift.io', selection: { mode: 'All' } });
  const machineManagers = [manager('machinesets'), manager('controlplanemachinesets')];
  const spec = { managedBootImages: { machineManagers } };
  await client.mergePatch(MachineConfiguration, { name: 'cluster' }, { spec } as object);
}

/** The stub of the control plane as text. */
export async function planeStubText(client: Client): Promise<string> {
  const stub = (await client.get(Secret, { ...planeKey, name: planeStub })).data?.['userData'] ?? '';
  return Buffer.from(stub, 'base64').toString();
}
