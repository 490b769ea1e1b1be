import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutRealServers } from '@drydock/sandbox';
import { type Difference, judgedBy } from './support/compared-differences.ts';
import { differencesBetween, type Found, type Observed, type Stage } from './support/compared-facts.ts';
import { startOurs, startUpstream } from './support/compared-managers.ts';
import { comparedReleases } from './support/compared-releases.ts';
import { manifestsIn, played } from './support/compared-story.ts';
import { DIFFERENCES } from './support/compared-table.ts';

// What cluster-version-operator and Drydock make of the same two releases, each in a cluster of its own: objects, the order of their first writes, history and conditions. Whatever differs is in a list with its reason, which
// docs/comparison.md shows.

const wanted = process.env['DRYDOCK_NEIGHBOURS'] === '1' || process.env['DRYDOCK_SOAK'] !== undefined;
const skip = wanted
  ? withoutRealServers('programs of upstream run on kube-apiserver')
  : "needs OpenShift's cluster-version-operator, which takes minutes to build: set DRYDOCK_NEIGHBOURS=1";

test('what cluster-version-operator and Drydock make of the same releases differs where the list says so, and nowhere else', {
  skip,
}, async (t) => {
  const releases = comparedReleases();
  let images: ReadonlyMap<string, string>;
  let ours: ReadonlyMap<Stage, Observed>;
  {
    await using manager = await startOurs(releases);
    images = manager.images;
    ours = await played(manager, releases);
  }
  await using manager = await startUpstream(releases, images);
  const upstream = await played(manager, releases);
  const manifests = manifestsIn(releases);
  const compared = [...upstream].map(([stage, observed]) =>
    differencesBetween(stage, observed, ours.get(stage) ?? assert.fail(stage), manifests),
  );
  const sum = (of: (one: (typeof compared)[number]) => number): number =>
    compared.reduce((all, one) => all + of(one), 0);
  const found = compared.flatMap((one) => one.found);
  const [facts, orders] = [sum((one) => one.facts), sum((one) => one.orders)];
  t.diagnostic(`${found.length} of ${facts} facts differ; ${orders} orders of writes were compared`);
  // Two who do nothing do the same.
  assert.ok(facts > 1000 && orders > 10, `${facts} facts and ${orders} orders were compared`);
  const { unlisted, stale } = judgedBy(DIFFERENCES, found);
  assert.deepEqual(unlisted.map(lineOf), [], 'each difference is in the list');
  assert.deepEqual(
    stale.map(({ difference, stage }) => lineOf({ ...difference, stage })),
    [],
    'what is in the list is seen',
  );
});

test('a difference that is not in the list is red, and so is one of the list that is not seen any more', () => {
  const row: Difference = {
    ...{ stages: ['install', 'hold'], subject: 'ConfigMap *', place: 'metadata.annotations[x/y]' },
    ...{ upstream: '–', ours: '*', reason: 'it is ours' },
  };
  const seen = (stage: Stage, subject: string): Found => ({
    ...{ stage, subject, place: 'metadata.annotations[x/y]', upstream: '–', ours: 'yes' },
  });
  const all = [seen('install', 'ConfigMap a'), seen('install', 'ConfigMap b'), seen('hold', 'ConfigMap a')];
  assert.deepEqual(judgedBy([row], all), { unlisted: [], stale: [] });
  for (const stranger of [
    seen('update', 'ConfigMap a'),
    seen('hold', 'Secret a'),
    { ...seen('hold', 'ConfigMap a'), upstream: 'no' },
    { ...seen('hold', 'ConfigMap a'), place: 'data' },
  ])
    assert.deepEqual(judgedBy([row], [...all, stranger]).unlisted, [stranger]);
  assert.deepEqual(judgedBy([row], all.slice(0, 2)).stale, [{ difference: row, stage: 'hold' }]);
});

function lineOf({ ours, place, stage, subject, upstream }: Omit<Found, never>): string {
  return `${stage} | ${subject} | ${place} | ${upstream} | ${ours}`;
}
