import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '@drydock/kube';
import { capabilitiesIn, missingAfter, nextStatus, type VersionStatus } from './capabilities.ts';
import { expectRefused, refusalText } from './status-writers.ts';

const refusal = new ApiError({
  code: 'Invalid',
  action: 'write status of ClusterVersion version',
  said: 'it is invalid',
  status: 422,
  details: { causes: [{ field: 'status.capabilities', message: `Unsupported value: ${'x'.repeat(500)}` }] },
});

test('a chapter that shows a trap ends with an error when one write got through', () => {
  assert.deepEqual(expectRefused([refusal, refusal]), [refusal, refusal]);
  assert.throws(() => expectRefused([refusal, undefined]), /took 1 of 2 writes of the naive writer: there is no trap/);
  assert.throws(() => expectRefused([]), /took 0 of 0/);
});

test('the words of the server are shortened', () => {
  assert.match(refusalText(refusal), /^status\.capabilities: Unsupported value: x+…$/);
  assert.ok(refusalText(refusal).length < 200);
});

test('what is meant next comes on top of what is there, and what is gone is named', () => {
  const before: VersionStatus = {
    history: [{ image: 'registry.example/release@4.21.0' }],
    capabilities: { enabledCapabilities: ['a', 'c'], knownCapabilities: ['a', 'b', 'c'] },
  };
  const known = ['a', 'b', 'c'];
  const after = nextStatus(nextStatus(before, 'b'), 'b');
  assert.deepEqual(after.capabilities?.enabledCapabilities, ['a', 'c', 'b']);
  assert.deepEqual(missingAfter(after, known, 2), []);
  assert.deepEqual(missingAfter(after, [...known, 'd'], 3), ['enabled d', 'known d', '1 of 3 steps of the history']);
});

test('a definition tells which capabilities it takes', () => {
  const lists = { enabledCapabilities: { items: { enum: ['b', 'a'] } } };
  const schema = { properties: { status: { properties: { capabilities: { properties: lists } } } } };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }];
  const names = { kind: 'ClusterVersion', plural: 'clusterversions' };
  assert.deepEqual(capabilitiesIn({ spec: { group: 'g', scope: 'Cluster', names, versions } }), ['a', 'b']);
});
