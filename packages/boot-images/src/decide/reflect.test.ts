import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MachineManager } from '@drydock/api';
import { managed } from '../testing/fake-cluster.ts';
import { type ReflectInput, reflect } from './reflect.ts';

const input: ReflectInput = { spec: undefined, status: undefined, platform: 'VSphere', cpmsGate: true };

test('BI-V173 BI-V183 a fresh vSphere cluster is opted in to machine sets alone', () => {
  assert.deepEqual(reflect(input), { managers: managed('All'), optIn: true });
});

test('BI-V174 BI-V176 a manager in spec is copied and is no opt-in', () => {
  assert.deepEqual(reflect({ ...input, spec: managed('All') }), { managers: managed('All'), optIn: false });
  const partial = managed('Partial', { matchLabels: { a: 'b' } });
  assert.deepEqual(reflect({ ...input, spec: partial, status: managed('All') }), { managers: partial, optIn: false });
});

test('BI-V177 an explicit empty list stays an empty list', () => {
  assert.deepEqual(reflect({ ...input, spec: [], status: managed('All') }), { managers: [], optIn: false });
});

test('BI-V178 an unsupported platform leaves status alone', () => {
  assert.deepEqual(reflect({ ...input, platform: 'BareMetal' }), { managers: undefined, optIn: false });
});

test('BI-V184 None left by an older default becomes All and is an opt-in', () => {
  assert.deepEqual(reflect({ ...input, status: managed('None') }), { managers: managed('All'), optIn: true });
  assert.equal(reflect({ ...input, status: managed('All') }).optIn, false);
});

/** Managers of machine sets and of control plane sets. */
function both(machineSets: string, controlPlane: string): readonly MachineManager[] {
  return [
    ...managed(machineSets),
    ...managed(controlPlane).map((one) => ({ ...one, resource: 'controlplanemachinesets' })),
  ];
}

for (const platform of ['AWS', 'GCP', 'Azure']) {
  test(`BI-V179 BI-V181 BI-V182 ${platform}: control plane sets are opted in by hand alone`, () => {
    const on = { ...input, platform };
    assert.deepEqual(reflect(on), { managers: both('All', 'None'), optIn: true });
    assert.deepEqual(reflect({ ...on, spec: managed('All') }), { managers: both('All', 'None'), optIn: false });
    for (const spec of [both('All', 'All'), both('None', 'All'), both('Partial', 'All')])
      assert.deepEqual(reflect({ ...on, spec, status: both('All', 'None') }), { managers: spec, optIn: false });
    assert.deepEqual(reflect({ ...on, cpmsGate: false }).managers, managed('All'));
  });
}

test('BI-V118 on Azure Stack Hub nothing is managed', () => {
  const hub = { ...input, platform: 'Azure', azureCloud: 'AzureStackCloud' };
  assert.deepEqual(reflect(hub), { managers: undefined, optIn: false });
});
