import assert from 'node:assert/strict';
import { test } from 'node:test';
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
