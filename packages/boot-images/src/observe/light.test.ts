import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Machine } from '@drydock/api';
import { fakeCluster, machineSet, published } from '../testing/fake-cluster.ts';
import { lightMachine, lightMachineSet } from './light.ts';
import { referenceIndex } from './references.ts';

const text = 'x'.repeat(1_300_000);
const items = Array.from({ length: 100_000 }, (_, at) => ({ at }));

test('SAFE-4 of a set near the size limit of the API server little is kept: what it refers to stays known, and it is refused in words', async () => {
  const set = machineSet('wk-a');
  assert.equal(lightMachineSet(set), set);
  const large = [{ text }, { items }, { workspace: { folder: text } }].map((value, at) =>
    lightMachineSet(machineSet(`wk-${at}`, { template: '/dc/vm/kept', ...value })),
  );
  for (const light of large) assert.ok(JSON.stringify(light).length < 1000);
  const users = referenceIndex({
    ...{ machineSets: large, machines: [], controlPlaneMachineSets: [] },
    infrastructure: { metadata: { name: 'cluster' } },
  });
  assert.equal(users('kept'), 'machineset wk-0');
  const c = fakeCluster({ sets: [set, ...large] });
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  for (const { metadata } of large) {
    const told = c.last(metadata.name);
    assert.ok(told?.kind === 'failed' && told.blocked && told.reason === 'NameUnusable');
    assert.match(told.message, /providerSpec\.value, or what else the spec has, weighs more than 65536 bytes$/);
  }
});

test('SAFE-4 a status of megabytes costs a set nothing, and a reference that is too long is none', () => {
  const set = machineSet('wk-a');
  const light = lightMachineSet({ ...set, status: { text } } as typeof set);
  assert.deepEqual([light.spec, (light as { readonly status?: unknown }).status], [set.spec, undefined]);
  assert.doesNotMatch(JSON.stringify(lightMachineSet(machineSet('wk-b', { template: text }))), /template":"x/);
});

test('SAFE-4 of a machine its reference and whether it has a VM are kept', () => {
  const machine = {
    metadata: { name: 'm', namespace: 'n', uid: 'u', resourceVersion: '1', annotations: { a: text } },
    spec: { providerID: 'vsphere://1', providerSpec: { value: { template: 't', text } } },
    status: { phase: 'Running', text },
  } as unknown as Machine;
  assert.deepEqual(JSON.parse(JSON.stringify(lightMachine(machine))), {
    metadata: { name: 'm', namespace: 'n', uid: 'u', resourceVersion: '1' },
    spec: { providerID: 'vsphere://1', providerSpec: { value: { template: 't' } } },
    status: { phase: 'Running' },
  });
});
