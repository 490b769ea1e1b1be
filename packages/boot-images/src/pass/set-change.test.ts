import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MachineSet } from '@drydock/api';
import { computed, fakeCluster, machineSet, oldRelease, published } from '../testing/fake-cluster.ts';
import type { ObjectChange } from '../wakes/triggers.ts';
import { noteSetChange } from './set-change.ts';

const made = (uid: string, template: string = computed): MachineSet => machineSet('wk-a', { template }, { uid });

/** A machine set that is moved and set back by somebody else three times, and what the watch shows then. */
async function after(...changes: readonly ObjectChange<MachineSet>[]) {
  const c = fakeCluster({ sets: [made('u-1')] });
  for (let i = 0; i < 3; i++) {
    await c.pass();
    c.edit.set('wk-a', () => made('u-1'));
  }
  const platform = c.ports.platforms.get('VSphere');
  for (const change of changes) noteSetChange(change, c.state, platform);
  const { now } = changes.at(-1) ?? {};
  if (now !== undefined) c.edit.set('wk-a', () => now);
  return c;
}

for (const [how, changes] of [
  ['', [{ old: made('u-1') }, { now: made('u-2') }]],
  [', where the watch was interrupted and shows only the new one', [{ old: made('u-1'), now: made('u-2') }]],
] as const)
  test(`KEEP-C: a machine set that is created again under the name of one in a hot loop is moved${how}`, async () => {
    const c = await after(...changes);
    await c.pass();
    assert.equal(c.template('wk-a'), published);
    assert.deepEqual([c.last('wk-a')?.attempts?.count, c.asked], [1, []], 'nobody else has changed it');
  });

test('KEEP-C: a machine set that stays, and that somebody changes once more, is not moved a fourth time, and it is asked who that was', async () => {
  const c = await after({ old: made('u-1', published), now: made('u-1') });
  await c.pass();
  assert.deepEqual([c.template('wk-a'), c.asked], [computed, ['wk-a']]);
});

test('KEEP-C: the image that Drydock itself has written is no change by somebody else', async () => {
  const c = fakeCluster({ sets: [made('u-1')], templates: { [computed]: { version: oldRelease } } });
  await c.pass();
  noteSetChange({ old: made('u-1'), now: made('u-1', published) }, c.state, c.ports.platforms.get('VSphere'));
  await c.pass();
  assert.deepEqual(c.asked, []);
});
