import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computed, fakeCluster, newRelease, oldRelease, published } from '../testing/fake-cluster.ts';
import { reportingCluster } from '../testing/reporting-cluster.ts';

test('TRUTH-1 the way back is the image before, as long as it is there, also after the template in use was destroyed', async () => {
  const other = `${computed}-2-9.8.20260701-0-0123abcd`;
  const c = reportingCluster({
    templates: {
      [computed]: { version: oldRelease },
      // Of another failure domain in the same folder.
      [other]: { version: '9.8.20260701-0', ours: true },
    },
  });
  const { store } = c.cluster;
  store.collect = async () => [...store.templates.keys()].map((name) => ({ name, removed: false, reason: '' }));
  const said = (): readonly unknown[] => [c.image()?.status?.current, c.image()?.status?.revertTo];
  await c.pass();
  assert.equal(c.cluster.template('wk-a'), published);
  assert.deepEqual(said(), [newRelease, oldRelease], 'it came from there');
  c.cluster.clock += 60_000;
  await c.pass();
  assert.deepEqual(said(), [newRelease, oldRelease], 'it never had the others');

  store.templates.delete(published);
  await c.pass();
  assert.deepEqual([store.uploads, ...said()], [2, newRelease, oldRelease]);

  store.templates.delete(computed);
  c.cluster.clock += 60_000;
  await c.pass();
  assert.deepEqual(said(), [newRelease, undefined], 'there is none left');
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

test('OWN-18 swap mode: what somebody else put under the name of a set that this process has moved gets into its history', async () => {
  const c = reportingCluster({ publication: 'swap', templates: { [computed]: { version: oldRelease } } });
  await c.pass();
  assert.equal(c.image()?.status?.current, newRelease);
  const other = '9.9.20261001-0';
  c.cluster.store.templates.set(computed, { version: other, ours: true });
  await c.pass();
  const history = c.image()?.status?.history ?? [];
  assert.deepEqual(
    history.map(({ release, until }) => [release, until === undefined]),
    [
      [other, true],
      [newRelease, false],
      [oldRelease, false],
    ],
  );
});
