import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { testRig } from '../testing/rig.ts';
import { testWish } from '../testing/wishes.ts';

test('what a pin or a history counts on is never collected, takes the place of what is newer, and the dry run says whose it is', async () => {
  const rig = testRig(virtualClock());
  const names: string[] = [];
  const { image, placement, cluster } = testWish();
  for (const [release, digit] of [
    ['9.1', '1'],
    ['9.2', '2'],
    ['9.3', '3'],
    ['9.4', '4'],
  ] as const)
    names.push((await rig.publish({ image: { ...image, release, sha256: digit.repeat(64) } })).name);
  const [oldest, second, third, newest] = names;
  const collect = (dryRun: boolean) =>
    rig.store.collect(placement, cluster, {
      ...{ holderIsLive: () => true, keep: 1, graceMs: 0, dryRun },
      referenced: (name) => (name === newest ? 'machineset a' : undefined),
      needed: ({ release }, keep) => (release === '9.1' && keep === 1 ? 'ms/a is pinned to it' : undefined),
    });
  for (const dryRun of [true, false]) {
    const verdicts = new Map((await collect(dryRun)).map((one) => [one.name, one]));
    assert.deepEqual(
      [verdicts.get(oldest ?? '')?.removed, verdicts.get(oldest ?? '')?.reason],
      [false, 'ms/a is pinned to it'],
    );
    assert.deepEqual(
      [second, third].map((name) => verdicts.get(name ?? '')?.removed),
      [true, true],
      'the number counts images',
    );
  }
  assert.equal((await rig.store.inspect(placement, oldest ?? '')).kind, 'present');
});
