import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage } from '@drydock/api';
import { lacksPinWriter, pinWritersIn } from './pin-writers.ts';

const time = (minute: number): string => `2026-01-01T09:0${minute}:00Z`;
const entry = (manager: string, minute: number, fields: object, more: object = {}): object => ({
  ...{ manager, operation: 'Update', time: time(minute), fieldsV1: fields, ...more },
});
const pin = { 'f:spec': { 'f:pin': { '.': {}, 'f:release': {} } } };
const read = (...managedFields: readonly object[]) => pinWritersIn({ metadata: { managedFields } });

test('FIND-18: field managers say who wrote a pin, who wrote the object since, and until when the pin was seen', () => {
  const status = { subresource: 'status' };
  const found = read(
    entry('drydock', 0, { 'f:spec': { 'f:machineSet': {} } }),
    entry('kubectl-edit', 1, pin),
    entry('drydock', 2, { 'f:status': {} }, status),
    entry('kubectl-client-side-apply', 4, { 'f:metadata': { 'f:annotations': {} } }),
    entry('kubectl-annotate', 5, { 'f:metadata': { 'f:annotations': {} } }),
    entry('somebody', 6, { 'f:status': {} }, status),
  );
  assert.deepEqual(found, {
    owner: { manager: 'kubectl-edit', time: time(1) },
    last: { manager: 'kubectl-client-side-apply', time: time(4) },
    seen: time(2),
  });
  assert.deepEqual(read(entry('drydock-pin', 1, pin)), { owner: { manager: 'drydock-pin', time: time(1) } });
  for (const odd of [undefined, {}, { metadata: { managedFields: 'x' } }, { metadata: { managedFields: [null, {}] } }])
    assert.deepEqual(pinWritersIn(odd), {});
});

test('FIND-18: field managers are read only where the object does not name who pinned or lifted', () => {
  const image = (spec: BootImage['spec'], pins: NonNullable<BootImage['status']>['pins']): BootImage => ({
    ...{ metadata: { name: 'ms-a' }, spec: spec ?? {}, status: pins === undefined ? {} : { pins } },
  });
  const open = { id: '1', release: '9.6' };
  assert.equal(lacksPinWriter(image({}, undefined)), false);
  assert.equal(lacksPinWriter(image({ pin: { release: '9.6', by: 'alice' } }, undefined)), false);
  assert.equal(lacksPinWriter(image({ pin: { release: '9.6' } }, undefined)), true);
  assert.equal(lacksPinWriter(image({ pin: { release: '9.6' } }, [{ ...open, by: 'kubectl-edit' }])), false);
  assert.equal(lacksPinWriter(image({}, [open])), true);
  assert.equal(lacksPinWriter(image({}, [{ ...open, liftedAt: time(1) }])), false);
});
