import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage } from '@drydock/api';
import { runPass } from '../pass/pass.ts';
import { computed, machineSet, newRelease, oldRelease, published } from '../testing/fake-cluster.ts';
import { type ReportingCluster, reportingCluster } from '../testing/reporting-cluster.ts';
import { type HistoryEntry, historyLimit, withImage, withReach } from './history.ts';

const historyIn = ({ image }: ReportingCluster): readonly HistoryEntry[] => image()?.status?.history ?? [];
const short = (history: readonly HistoryEntry[]): readonly unknown[] =>
  history.map(({ release, image, by, outcome, until }) => [release, image, by, outcome, until === undefined]);

test('the image before the first move is the first of the history, and the release that came after it says so', async () => {
  const c = reportingCluster();
  await c.pass();
  assert.deepEqual(short(historyIn(c)), [
    [newRelease, published, 'release', 'InUse', true],
    [oldRelease, computed, 'found', 'Replaced', false],
  ]);
  const [inUse, before] = historyIn(c);
  assert.deepEqual([inUse?.id, inUse?.digest], ['0123abcd', 'ab'], 'the operation that made it, and its digest');
  assert.deepEqual([before?.until, inUse?.place], [inUse?.since, 'vc1 /dc1/vm/c1']);
  c.cluster.clock += 60_000;
  await c.pass();
  const first = historyIn(c);
  assert.equal(first[1]?.revertable, true, 'the place was looked at');
  await c.pass();
  c.restart();
  await c.pass();
  assert.deepEqual(historyIn(c), first, 'what stays the same makes no entry');
});

for (const publication of ['pointer', 'swap'] as const)
  test(`FIND-18: ${publication} mode: who reverted and why, and who lifted the pin, outlive the pin and a restart`, async () => {
    const c = reportingCluster({ publication });
    await c.pass();
    const pin = { release: oldRelease, image: computed, by: 'alice', reason: 'nodes do not boot' };
    const since = new Date(c.cluster.clock).toISOString();
    for (const spec of [{ pin: { ...pin, since } }, { lifted: { by: 'bob', since: '2030-01-01T00:00:00Z' } }]) {
      const image = c.image() ?? assert.fail('nothing was written');
      const { machineSet: of } = image.spec ?? {};
      c.cluster.client.put(BootImage, { ...image, spec: { ...(of === undefined ? {} : { machineSet: of }), ...spec } });
      await c.pass();
    }
    c.restart();
    await c.pass();
    const { history = [], pins = [] } = c.image()?.status ?? {};
    assert.deepEqual(
      history.map(({ by, pinnedBy, pinReason }) => [by, pinnedBy, pinReason]),
      [
        ['release', undefined, undefined],
        ['revert', 'alice', 'nodes do not boot'],
        ['release', undefined, undefined],
        ['found', undefined, undefined],
      ],
    );
    const lifted = { liftedAt: '2030-01-01T00:00:00Z', liftedBy: 'bob' };
    const { image, ...named } = pin;
    assert.deepEqual(pins, [{ id: pins[0]?.id, ...named, image, since, ...lifted }]);
  });

test('swap mode: one name, another content: each content is an entry of its own', async () => {
  const c = reportingCluster({ publication: 'swap' });
  await c.pass();
  assert.deepEqual(short(historyIn(c)), [
    [newRelease, computed, 'release', 'InUse', true],
    [oldRelease, computed, 'found', 'Replaced', false],
  ]);
});

test('whoever else moves the set is in the history by the name of its field manager, and the move after it as our own', async () => {
  const c = reportingCluster();
  await c.pass();
  c.cluster.edit.set('wk-a', (set) => ({ ...set, spec: machineSet('wk-a').spec ?? {} }));
  c.state.foreign.add('ms/wk-a');
  await c.pass();
  assert.deepEqual(short(historyIn(c)), [
    [newRelease, published, 'release', 'InUse', true],
    [oldRelease, computed, 'somebody', 'Replaced', false],
    [newRelease, published, 'release', 'Replaced', false],
    [oldRelease, computed, 'found', 'Replaced', false],
  ]);
});

test('what an image came to, and until when it was in use, stays said of it when others come and go', () => {
  const seen = (release: string, by: string, now: string) => ({
    ...{ image: `t-${release}`, release, digest: undefined, place: undefined, operation: undefined, by, now },
  });
  const days = [
    '2026-01-01T00:00:00Z',
    '2026-01-02T00:00:00Z',
    '2026-01-03T00:00:00Z',
    '2026-01-04T00:00:00Z',
  ] as const;
  const history = [
    seen('1', 'found', days[0]),
    seen('2', 'release', days[1]),
    seen('1', 'revert', days[2]),
    seen('3', 'release', days[3]),
  ].reduce<readonly HistoryEntry[]>(withImage, []);
  assert.deepEqual(
    history.map(({ release, outcome, until }) => [release, outcome, until]),
    [
      ['3', 'InUse', undefined],
      ['1', 'Replaced', days[3]],
      ['2', 'RevertedFrom', days[2]],
      ['1', 'Replaced', days[1]],
    ],
  );
  assert.equal(new Set(history.map(({ id }) => id)).size, 4);
});

test('a set that was read before it was moved says nothing of what it starts from now', async () => {
  const c = reportingCluster();
  const late = c.ports.world.machineSets();
  await c.pass();
  const before = historyIn(c);
  const { world } = c.ports;
  await runPass({ ...c.ports, world: { ...world, machineSets: () => late } }, c.state, {
    ...{ reason: 'Test', touched: 'all' },
  });
  assert.deepEqual(historyIn(c), before);
});

test('a history has twenty entries with different ids, the oldest goes', () => {
  let history: readonly HistoryEntry[] = [];
  for (let n = 0; n < 25; n += 1)
    history = withImage(history, {
      ...{ image: 't', release: `${n % 2}`, digest: undefined, place: undefined, operation: 'same', by: 'release' },
      now: '2026-01-01T00:00:00Z',
    });
  assert.equal(history.length, historyLimit);
  assert.equal(new Set(history.map(({ id }) => id)).size, historyLimit);
  assert.equal(history.filter(({ until }) => until === undefined).length, 1);
});

test('an entry whose image went says that it cannot be gone back to', () => {
  const base = { image: 't', digest: undefined, place: undefined, operation: undefined, by: 'release' };
  const first = withImage([], { ...base, release: 'Q', now: '2026-01-01T00:00:00Z' });
  const history = withImage(first, { ...base, release: 'R', now: '2026-01-02T00:00:00Z' });
  const there = [{ image: 't-retired-1', release: 'Q', stableName: 't' }];
  assert.equal(withReach(history, there)[1]?.revertable, true);
  assert.equal(withReach(history, [])[1]?.revertable, false);
  assert.equal(withReach(history, undefined), history);
  assert.equal(withReach(history, there)[0]?.revertable, undefined, 'the one in use is no way back');
});
