import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PoolFacts, stampOf } from './stamp.ts';

const own = { release: '4.21.0', hash: 'abc' };
const rendered = { release: '4.21.0', hash: 'abc' };
const settled: PoolFacts = {
  ...{ target: 'rendered-master-1', actual: 'rendered-master-1' },
  ...{ updatedMachines: 3, updating: false, updated: true },
};
const golden = { metadata: { name: 'coreos-bootimages' }, data: { stream: '{}' } };
const stamp = { MCOVersionHash: 'abc', MCOReleaseImageVersion: '4.21.0' };

test('the stamps are set when a node of the control plane runs this release', () => {
  assert.deepEqual(stampOf(golden, settled, rendered, own), stamp);
  const begun = { ...settled, actual: 'rendered-master-0', updated: false, updating: true, updatedMachines: 1 };
  assert.deepEqual(stampOf(golden, begun, rendered, own), stamp);
  assert.equal(stampOf(golden, { ...begun, updatedMachines: 0 }, rendered, own), undefined);
});

test('BI-V206 a pool that is updated to something else is not stamped', () => {
  assert.equal(stampOf(golden, { ...settled, actual: 'rendered-master-0' }, rendered, own), undefined);
});

test('BI-V207 a configuration of another release is not stamped', () => {
  assert.equal(stampOf(golden, settled, { ...rendered, release: '4.20.0' }, own), undefined);
  assert.equal(stampOf(golden, settled, { ...rendered, hash: 'other' }, own), undefined);
  assert.equal(stampOf(golden, settled, undefined, own), undefined);
  assert.equal(stampOf(golden, undefined, rendered, own), undefined);
});

test('BI-V208 stamps of somebody else are put right, and right ones are left alone', () => {
  const data = { ...golden.data, MCOVersionHash: 'fake-value', MCOReleaseImageVersion: 'fake-value' };
  assert.deepEqual(stampOf({ ...golden, data }, settled, rendered, own), stamp);
  assert.equal(stampOf({ ...golden, data: { ...golden.data, ...stamp } }, settled, rendered, own), undefined);
});
