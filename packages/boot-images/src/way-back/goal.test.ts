import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage } from '@drydock/api';
import { standings } from '../standing.ts';
import { imageOf } from '../status/boot-image-store.ts';
import { computed, machineSet } from '../testing/fake-cluster.ts';
import { type ReportingCluster, reportingCluster } from '../testing/reporting-cluster.ts';
import { goalsOf, keepsName } from './goal.ts';

/** What `status` shows of the way back, after what the BootImage says was compared with it. */
async function shown({ cluster, image }: ReportingCluster): Promise<string | undefined> {
  const { world } = cluster.ports;
  const known = image() ?? assert.fail('nothing was written');
  const options = { led: true, now: new Date(cluster.clock), architecture: 'x86_64' };
  const { images } = await standings({ world, images: [known], ...options });
  assert.equal(images[0]?.status?.revertTo, known.status?.revertTo);
  return known.status?.revertTo;
}

for (const publication of ['pointer', 'swap'] as const)
  test(`${publication} mode: REVERT-TO is where image revert goes unless it is told where to, before a revert, and right after it`, async () => {
    const older = '9.5.20260101-0';
    const c = reportingCluster({ publication, templates: { [computed]: { version: older } } });
    const target = (): string | undefined => goalsOf(c.image()?.status, undefined)[0]?.release;
    await c.pass();
    assert.deepEqual([await shown(c), target()], [older, older]);
    const own = imageOf(machineSet('wk-a'));
    const [goal] = goalsOf(c.image()?.status, undefined);
    const pin = { ...(goal ?? assert.fail('there is a way back')), by: 'alice' };
    c.cluster.client.put(BootImage, { ...(c.image() ?? own), spec: { ...own.spec, pin } });
    await c.pass();
    assert.equal(c.image()?.status?.current, older);
    // The release that was gone back from is no way back, and nothing else was there.
    assert.deepEqual([await shown(c), target()], [undefined, undefined]);
  });

test('OWN-18 what a name is known to have borne says that the others under it go along, also while a swap is under way and nothing bears it', () => {
  const [now, before] = [
    { id: 'b', image: 'name', release: '9.8', since: '2026-02-01T00:00:00Z' },
    { id: 'a', image: 'name', release: '9.6', since: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' },
  ];
  const swapped = { history: [now, before] };
  for (const goal of [now, before, { release: '9.8' }, { release: '9.5' }])
    assert.equal(keepsName(swapped, goal), true, JSON.stringify(goal));
  const pointed = { history: [now, { ...before, image: 'other' }] };
  for (const goal of [now, { ...before, image: 'other' }, { release: '9.8' }])
    assert.equal(keepsName(pointed, goal), false, JSON.stringify(goal));
});

test('where nobody says where to, what was gone back from is nowhere to go', () => {
  const entry = (release: string, outcome: string) => ({ id: release, release, image: release, outcome, until: 'u' });
  const { until: _, ...inUse } = entry('9.8', 'InUse');
  const history = [inUse, entry('9.6', 'RevertedFrom'), entry('9.5', 'Replaced')];
  assert.deepEqual(goalsOf({ history }, undefined), [{ release: '9.5', image: '9.5' }]);
});

test('a few letters are no identifier: only six and more are taken for the beginning of one', () => {
  const entry = { id: '0123abcd9876feed', release: '9.6', image: 'name', since: '2026-01-01T00:00:00Z' };
  assert.deepEqual(goalsOf({ history: [entry] }, '0123ab'), [{ release: '9.6', image: 'name' }]);
  assert.deepEqual(goalsOf({ history: [entry] }, '0123a'), [{ release: '0123a' }]);
});
