import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MachineConfiguration } from '@drydock/api';
import fc from 'fast-check';
import { noAttempts } from '../image-facts.ts';
import { computed, fakeCluster, machineSet, managed, newRelease, published } from '../testing/fake-cluster.ts';
import { labelSelector, selectionOf } from './selection.ts';

const zero =
  '0 of 0 ControlPlaneMachineSets | Reconciled 0 of 0 CAPI MachineSets | Reconciled 0 of 0 CAPI MachineDeployments';

const patches = (writes: readonly string[]): readonly string[] => writes.filter((w) => w.startsWith('patch '));

test('BI-V21 with no manager nothing is enrolled and the hot loop memory is cleared', async () => {
  const c = fakeCluster({ managers: [] });
  for (let i = 0; i < 3; i++) c.state.hotLoop.record(machineSet('wk-a'), newRelease);
  await c.pass();
  assert.equal(c.condition('Progressing')?.message, `Reconciled 0 of 0 MAPI MachineSets | Reconciled ${zero}`);
  assert.equal(c.condition('Progressing')?.status, 'False');
  assert.equal(c.state.hotLoop.of(machineSet('wk-a')), undefined);
  assert.deepEqual(c.last('wk-a')?.attempts, noAttempts);
  assert.equal(c.template('wk-a'), computed);
});

test('BI-V22 Partial moves only the selected set', async () => {
  const sets = [machineSet('wk-a', {}, { labels: { update: 'true' } }), machineSet('wk-b')];
  const c = fakeCluster({ sets, managers: managed('Partial', { matchLabels: { update: 'true' } }) });
  await c.pass();
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 1 of 1 MAPI MachineSets \|/);
  assert.deepEqual([c.template('wk-a'), c.template('wk-b')], [published, computed]);
  const left = c.last('wk-b');
  assert.ok(left?.kind === 'skip' && left.reason === 'NotSelected');
});

test('BI-V26 an invalid selector is reported and nothing is written', async () => {
  const c = fakeCluster({ managers: managed('Partial', { matchExpressions: [{ key: 'a', operator: 'Near' }] }) });
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /failed to create a machineset selector while enqueueing MAPI machineset /,
  );
  assert.deepEqual(patches(c.client.writes), []);
});

test('BI-V27 mode None leaves the image where it is', async () => {
  const c = fakeCluster({ managers: managed('None') });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.deepEqual(c.store.calls, []);
});

test('BI-V28 a manager of control plane sets alone enrols no machine set', async () => {
  const c = fakeCluster({
    managers: [{ resource: 'controlplanemachinesets', apiGroup: 'machine.openshift.io', selection: { mode: 'All' } }],
  });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 0 of 0 MAPI MachineSets/);
  assert.ok(c.client.peek(MachineConfiguration, { name: 'cluster' }) !== undefined);
});

test('BI-V23 BI-V24 an empty selector selects everything, an absent one nothing', () => {
  assert.equal(selectionOf(managed('Partial', {}), 'machinesets').includes({}), true);
  assert.equal(selectionOf(managed('Partial'), 'machinesets').includes({}), false);
});

test('label selectors: NotIn is the complement of In', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y')),
      fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { minLength: 1 }),
      (labels, values) => {
        const match = (operator: string): boolean =>
          labelSelector({ matchExpressions: [{ key: 'a', operator, values }] })(labels);
        assert.notEqual(match('In'), match('NotIn'));
      },
    ),
  );
});

test('opting out during an upload wins: the set is not switched, and that is no failure', async () => {
  const c = fakeCluster();
  c.store.onPublish = () =>
    c.edit.mc((mc) => ({
      ...mc,
      status: { ...mc.status, managedBootImagesStatus: { machineManagers: managed('None') } },
    }));
  await c.pass();
  assert.equal(c.store.uploads, 1);
  assert.equal(c.template('wk-a'), computed);
  assert.equal(c.condition('Degraded')?.status, 'False');
  const left = c.last('wk-a');
  assert.ok(left?.kind === 'skip' && left.reason === 'NotSelected');
});
