import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImageStatus } from '@drydock/api';
import { bootImageStatus } from '../status/boot-image.ts';
import { computed, type FakeCluster, fakeCluster, newRelease, oldRelease, published } from '../testing/fake-cluster.ts';
import { setFacts } from './set-facts.ts';

const between = '9.8.20260601-0';

/** The status of wk-a after all that was told of it, as the one writer makes it. */
function statusOf(c: FakeCluster): BootImageStatus {
  let status: BootImageStatus | undefined;
  const [set] = c.ports.world.machineSets();
  for (const outcome of c.outcomes.get('wk-a') ?? [])
    status = bootImageStatus(status, outcome, {
      set: 'ms/wk-a',
      platform: 'vsphere',
      generation: 1,
      now: new Date(c.clock),
      facts: set === undefined ? assert.fail('there is a set') : setFacts(set, c.ports),
    });
  return status ?? assert.fail('nothing was told');
}

test('TRUTH-1 the way back is the newest older release that is there, also after the template in use was destroyed', async () => {
  const retained = `${computed}-${between}-0123abcd`;
  const other = `${computed}-2-9.8.20260701-0-0123abcd`;
  const c = fakeCluster({
    templates: {
      [computed]: { version: oldRelease },
      [retained]: { version: between, ours: true },
      // Of another failure domain in the same folder.
      [other]: { version: '9.8.20260701-0', ours: true },
    },
  });
  c.store.collect = async () => [...c.store.templates.keys()].map((name) => ({ name, removed: false, reason: '' }));
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.deepEqual([statusOf(c).current, statusOf(c).revertTo], [newRelease, oldRelease], 'it came from there');
  c.clock += 60_000;
  await c.timer();
  assert.equal(statusOf(c).revertTo, between, 'a look at the place says more');

  c.store.templates.delete(published);
  await c.pass();
  assert.deepEqual([c.store.uploads, statusOf(c).current, statusOf(c).revertTo], [2, newRelease, between]);

  c.store.templates.delete(retained);
  c.store.templates.delete(computed);
  c.clock += 60_000;
  await c.timer();
  assert.equal(statusOf(c).revertTo, undefined, 'there is none left');
});

test('TRUTH-1 a set whose template is not there boots from nothing, not from the one under the computed name', async () => {
  const c = fakeCluster({ templates: { [computed]: { version: oldRelease } } });
  c.edit.set('wk-a', (set) => ({
    ...set,
    spec: {
      template: {
        spec: { providerSpec: { value: { ...set.spec?.template?.spec?.providerSpec?.value, template: 'gone' } } },
      },
    },
  }));
  await c.pass();
  const moving = (c.outcomes.get('wk-a') ?? []).filter(({ kind }) => kind === 'step');
  assert.ok(moving.length > 0);
  assert.deepEqual([...new Set(moving.map(({ current }) => current))], [undefined]);
});
