import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VirtualMachine } from '@drydock/api';
import { LOW_PRIORITY } from '@drydock/kube';
import { priorityOf } from './priorities.ts';

const made = { type: 'VirtualMachineCreated', status: 'True' };
const settled: VirtualMachine = {
  metadata: { name: 'a' },
  spec: { powerState: 'PoweredOn' },
  status: { powerState: 'PoweredOn', network: { primaryIP4: '10.0.0.1' }, conditions: [made] },
};

test('what people wait for goes first, then users, then vCenter, then the first list', () => {
  const { status, metadata } = settled;
  assert.equal(
    priorityOf({ ...settled, metadata: { name: 'a', annotations: { 'drydock.dev/priority': '500' } } }, 'initial'),
    500,
  );
  assert.equal(priorityOf({ ...settled, status: {} }, 'generic'), 100);
  assert.equal(priorityOf({ ...settled, spec: { powerState: 'PoweredOff' } }, 'generic'), 99);
  assert.equal(priorityOf({ ...settled, status: { ...status, network: {} } }, 'generic'), 98);
  assert.equal(
    priorityOf({ ...settled, spec: { network: { disabled: true } }, status: { ...status, network: {} } }, 'generic'),
    1,
  );
  assert.equal(priorityOf({ metadata: { ...metadata, deletionTimestamp: 'now' } }, 'generic'), 97);
  const promoting = { type: 'VirtualMachineDiskPromotionSynced', status: 'False' };
  assert.equal(priorityOf({ ...settled, status: { ...status, conditions: [made, promoting] } }, 'generic'), 96);
  const causes = ['create', 'delete', 'update', 'generic', 'initial'] as const;
  assert.deepEqual(
    causes.map((cause) => priorityOf(settled, cause)),
    [4, 3, 2, 1, LOW_PRIORITY],
  );
  assert.equal(
    priorityOf({ ...settled, metadata: { name: 'a', annotations: { 'drydock.dev/priority': 'high' } } }, 'update'),
    2,
  );
});
