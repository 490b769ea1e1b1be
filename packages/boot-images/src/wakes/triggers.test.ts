import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion, MachineConfiguration, MachineSet } from '@drydock/api';
import {
  clusterVersionTrigger,
  goldenTrigger,
  inputTrigger,
  machineConfigurationTrigger,
  machineSetTrigger,
} from './triggers.ts';

const version = (...states: readonly string[]): ClusterVersion => ({
  metadata: { name: 'version' },
  status: { history: states.map((state) => ({ state })) },
});

test('BI-V6 BI-V7 BI-V8 BI-V9 BI-V11 ClusterVersionStable marks the end of an upgrade only', () => {
  const event = (old: ClusterVersion, now: ClusterVersion): string | undefined => clusterVersionTrigger({ old, now });
  assert.equal(event(version('Partial'), version('Completed')), 'ClusterVersionStable');
  assert.equal(event(version(), version('Completed')), 'ClusterVersionStable');
  assert.equal(event(version('Partial', 'Completed'), version('Completed', 'Completed')), 'ClusterVersionStable');
  assert.equal(event(version('Completed'), version('Completed')), undefined);
  assert.equal(event(version('Completed'), version('Partial', 'Completed')), undefined);
});

test('BI-V16 BI-V17 BI-V19 only status that matters of the one MachineConfiguration is an event', () => {
  const mc = (
    status: NonNullable<MachineConfiguration['status']>,
    spec: object = {},
    name = 'cluster',
  ): MachineConfiguration => ({
    metadata: { name },
    spec,
    status,
  });
  const event = (old: MachineConfiguration, now: MachineConfiguration, skewGate = true): string | undefined =>
    machineConfigurationTrigger({ old, now }, { skewGate });
  assert.equal(event(mc({}), mc({}, { managedBootImages: { machineManagers: [] } })), undefined);
  assert.equal(
    event(mc({}), mc({ managedBootImagesStatus: { machineManagers: [] } })),
    'BootImageUpdateConfigurationUpdated',
  );
  const skew = mc({ bootImageSkewEnforcementStatus: { mode: 'None' } });
  assert.equal(event(mc({}), skew), 'BootImageUpdateConfigurationUpdated');
  assert.equal(event(mc({}), skew, false), undefined);
  assert.equal(event(mc({}), mc({ conditions: [{ type: 'a', status: 'True' }] })), undefined);
  assert.equal(machineConfigurationTrigger({ now: mc({}, {}, 'other') }, { skewGate: true }), undefined);
  assert.equal(machineConfigurationTrigger({ now: mc({}) }, { skewGate: true }), 'BootImageUpdateConfigurationAdded');
});

test('BI-V18 only new versions of the golden ConfigMap are events', () => {
  const cm = (name: string, resourceVersion: string): { metadata: { name: string; resourceVersion: string } } => ({
    metadata: { name, resourceVersion },
  });
  assert.equal(goldenTrigger({ old: cm('other-name', '1'), now: cm('other-name', '2') }), undefined);
  assert.equal(goldenTrigger({ old: cm('coreos-bootimages', '1'), now: cm('coreos-bootimages', '1') }), undefined);
  assert.equal(
    goldenTrigger({ old: cm('coreos-bootimages', '1'), now: cm('coreos-bootimages', '2') }),
    'BootImageConfigMapUpdated',
  );
  assert.equal(inputTrigger('VSphereCredentialsSecret', { old: cm('a', '1') }), 'VSphereCredentialsSecretDeleted');
});

test('machine set events follow four fields and nothing else', () => {
  const set = (labels: Record<string, string>, replicas: number): MachineSet => ({
    metadata: { name: 'a', labels },
    spec: { replicas },
  });
  assert.equal(machineSetTrigger({ old: set({}, 1), now: set({}, 2) }), undefined);
  assert.equal(machineSetTrigger({ old: set({}, 1), now: set({ a: 'b' }, 1) }), 'MAPIMachineSetUpdated');
  assert.equal(machineSetTrigger({ old: set({}, 1) }), 'MAPIMachineSetDeleted');
});
