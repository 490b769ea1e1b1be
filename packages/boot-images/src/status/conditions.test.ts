import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeCluster, machineSet, published } from '../testing/fake-cluster.ts';
import { aggregate, defaultConditions, degraded, upsertConditions } from './conditions.ts';
import { zeroCounters } from './counters.ts';

test('BI-V29 a missing golden ConfigMap is reported and counters stay', async () => {
  const c = fakeCluster();
  await c.pass();
  const before = c.condition('Progressing')?.message;
  c.client.objects.delete('configmaps openshift-machine-config-operator/coreos-bootimages');
  await c.pass();
  assert.match(c.condition('Degraded')?.message ?? '', /Error\(s\): failed to fetch coreos-bootimages config map: /);
  assert.equal(c.condition('Progressing')?.message, before);
});

test('BI-V51 BI-V52 failures are counted, named and aggregated', async () => {
  const bad = (name: string): ReturnType<typeof machineSet> => ({ ...machineSet(name), spec: {} });
  const one = fakeCluster({ sets: [bad('wk-a'), machineSet('wk-b')] });
  await one.pass();
  assert.match(one.condition('Progressing')?.message ?? '', /^Reconciled 1 of 2 MAPI MachineSets \|/);
  assert.equal(one.condition('Progressing')?.status, 'False');
  const prefix =
    '1 Degraded MAPI MachineSets | 0 Degraded ControlPlaneMachineSets | 0 Degraded CAPI MachineSets | 0 Degraded CAPI MachineDeployments | Error(s): error syncing MAPI MachineSet wk-a: ';
  assert.ok(one.condition('Degraded')?.message?.startsWith(prefix));
  const two = fakeCluster({ sets: [bad('wk-a'), bad('wk-b')] });
  await two.pass();
  assert.match(
    two.condition('Degraded')?.message ?? '',
    /Error\(s\): \[error syncing .*wk-a: .*, error syncing .*wk-b: .*\]$/,
  );
});

test('BI-V53 between two sets Progressing says how far the pass is', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b')] });
  // Else the second set would only find what the first one's publication made, which is no step that lasts.
  c.store.onPublish = () => void c.store.templates.delete(published);
  await c.pass();
  const said = c.conditionWrites.map(([p]) => `${p?.status} ${p?.message?.split(' MAPI')[0]}`);
  assert.deepEqual(said, ['True Reconciled 0 of 2', 'True Reconciled 1 of 2', 'False Reconciled 2 of 2']);
});

test('BI-V54 a fresh MachineConfiguration gets both condition types with reason NA', () => {
  const conditions = defaultConditions(new Date(0));
  assert.deepEqual(
    conditions.map((c) => [c.type, c.status, c.reason]),
    [
      ['BootImageUpdateProgressing', 'False', 'NA'],
      ['BootImageUpdateDegraded', 'False', 'NA'],
    ],
  );
  assert.ok(conditions[1]?.message?.endsWith('| 0 CAPI MachineDeployments'));
  assert.equal(upsertConditions([{ type: 'Other', status: 'True' }], conditions, new Date(0)).length, 3);
});

test('BI-V56 a failure of control plane sets is not masked by clean machine sets', () => {
  const counters = { ...zeroCounters, ControlPlaneMachineSets: { total: 1, reconciled: 0, skipped: 0, errored: 1 } };
  const condition = degraded({ counters, errors: ['error syncing ControlPlaneMachineSet cluster: x'], reason: 'R' });
  assert.equal(condition.status, 'True');
  assert.ok(condition.message?.includes('| 1 Degraded ControlPlaneMachineSets |'));
});

test('lastTransitionTime moves with the status alone, and nothing changed is the same array', () => {
  const first = upsertConditions([], [{ type: 'A', status: 'True', reason: 'r', message: 'm' }], new Date(0));
  const second = upsertConditions(first, [{ type: 'A', status: 'True', reason: 'r', message: 'n' }], new Date(9000));
  assert.equal(second[0]?.lastTransitionTime, '1970-01-01T00:00:00Z');
  assert.equal(
    upsertConditions(second, [{ type: 'A', status: 'True', reason: 'r', message: 'n' }], new Date(9000)),
    second,
  );
  assert.equal(
    upsertConditions(second, [{ type: 'A', status: 'False' }], new Date(9000))[0]?.lastTransitionTime,
    '1970-01-01T00:00:09Z',
  );
  assert.equal(aggregate(['a', 'a']), 'a');
});

test('more failures than the schema of a condition takes are counted, so that Degraded is told all the same', () => {
  const errors = Array.from({ length: 300 }, (_, n) => `error syncing MAPI MachineSet wk-${n}: ${'x'.repeat(200)}`);
  const { status, message = '' } = degraded({ counters: zeroCounters, errors, reason: 'R' });
  assert.equal(status, 'True');
  assert.ok(message.length <= 32_768 && message.length > 32_000, `${message.length} characters`);
  assert.match(message, /Error\(s\): \[error syncing MAPI MachineSet wk-0: x+, error .*, and \d+ more\]$/);
  const told = message.split('error syncing').length - 1;
  assert.ok(message.endsWith(`, and ${300 - told} more]`));
  const long = degraded({ counters: zeroCounters, errors: ['\u{1F600}'.repeat(40_000)], reason: 'R' }).message ?? '';
  assert.ok(long.length <= 32_768 && long.isWellFormed() && long.endsWith('…'));
  assert.equal(aggregate(['a', 'b']), '[a, b]');
});
