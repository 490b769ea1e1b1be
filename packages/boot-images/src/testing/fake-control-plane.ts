import { ControlPlaneMachineSet, type MachineManager, type MachineSet } from '@drydock/api';
import type { FakeClient } from './fake-client.ts';
import { managed } from './fake-cluster.ts';

/** Where the one set of a control plane is. */
export const planeKey: { readonly namespace: string; readonly name: string } = {
  namespace: 'openshift-machine-api',
  name: 'cluster',
};

/** A control plane whose machines are made as those of a machine set are. */
export function controlPlane(
  like: MachineSet,
  metadata: Partial<ControlPlaneMachineSet['metadata']> = {},
): ControlPlaneMachineSet {
  const spec = like.spec?.template?.spec;
  return {
    apiVersion: 'machine.openshift.io/v1',
    kind: 'ControlPlaneMachineSet',
    metadata: { ...planeKey, uid: 'plane-uid', ...metadata },
    spec: {
      ...{ replicas: 3, state: 'Active', selector: {} },
      template: {
        machineType: 'machines_v1beta1_machine_openshift_io',
        machines_v1beta1_machine_openshift_io: {
          failureDomains: { platform: 'GCP' },
          metadata: { labels: { role: 'master' } },
          ...(spec === undefined ? {} : { spec }),
        },
      },
    },
  };
}

/** Managers of both kinds. */
export function bothManaged(mode: string): readonly MachineManager[] {
  return [...managed('All'), ...managed(mode, undefined, 'controlplanemachinesets')];
}

/** `providerSpec.value` of the control plane's machines. */
export function planeSpec(client: Pick<FakeClient, 'peek'>): Readonly<Record<string, unknown>> {
  const template = client.peek(ControlPlaneMachineSet, planeKey)?.spec?.template;
  return template?.machines_v1beta1_machine_openshift_io?.spec?.providerSpec?.value ?? {};
}
