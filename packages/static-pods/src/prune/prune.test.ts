import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type CrashScenario, contentOf, exploreCrashes, memoryFs, withoutEachSync } from '@drydock/durable/testing';
import { scratch } from '../testing/scratch.ts';
import { keepSet } from './keep-set.ts';
import { type PruneSpec, prune } from './prune.ts';

async function run(names: readonly string[], change: Partial<PruneSpec>, links: Readonly<Record<string, string>> = {}) {
  await using dir = await scratch();
  for (const name of names) {
    await mkdir(join(dir.path, name));
    await writeFile(join(dir.path, name, 'pod.yaml'), 'x');
  }
  for (const [name, to] of Object.entries(links)) await symlink(to, join(dir.path, name));
  const result = await prune({
    resourceDir: dir.path,
    staticPod: 'test',
    maxEligibleRevision: 9,
    protectedRevisions: [],
    ...change,
  });
  const left = (await readdir(dir.path)).filter((name) => !name.endsWith('.lock')).sort();
  return { ...result, left };
}

test('DU-D96 what is eligible and not protected goes', async () => {
  const { left, removed } = await run(['test-1', 'test-2', 'test-3'], {
    maxEligibleRevision: 2,
    protectedRevisions: [2],
  });
  assert.deepEqual([left, removed], [['test-2', 'test-3'], ['test-1']]);
});

test('DU-D97 another static pod whose name ends alike is not touched', async () => {
  const { left } = await run(['othertest-1', 'othertest-2', 'test-1', 'test-2'], { maxEligibleRevision: 2 });
  assert.deepEqual(left, ['othertest-1', 'othertest-2']);
});

test('DU-D98 DU-W19 an odd name is skipped and named', async () => {
  const { left, skipped } = await run(['test-foo', 'testing', 'test-1-bak', 'test-1'], {});
  assert.deepEqual(
    [left, skipped.toSorted()],
    [
      ['test-1-bak', 'test-foo', 'testing'],
      ['test-1-bak', 'test-foo', 'testing'],
    ],
  );
});

test('DU-W7 a revision that a link leads to stays: relative or absolute', async () => {
  const links = {
    'test-last-known-good': 'test-1/pod.yaml',
    other: '/mounted/elsewhere/test-2/pod.yaml',
    dangling: 'test-7/pod.yaml',
  };
  const { left } = await run(['test-1', 'test-2', 'test-3'], {}, links);
  assert.deepEqual(
    left.filter((name) => name.startsWith('test-') && !name.endsWith('good')),
    ['test-1', 'test-2'],
  );
});

test('wrong arguments are refused; a missing directory has nothing to prune', async () => {
  for (const change of [
    { maxEligibleRevision: 0 },
    { protectedRevisions: [Number.NaN] },
    { resourceDir: '' },
    { staticPod: '../x' },
  ])
    await assert.rejects(run([], change), { code: 'USAGE' });
  assert.deepEqual((await run([], { resourceDir: '/nonexistent/resources' })).removed, []);
});

test('crash model, prune: a revision is there as a whole or not at all, and what is gone stays gone', async () => {
  const fs = memoryFs();
  await fs.mkdir('/r', 0o755);
  for (const name of ['test-1', 'test-2']) {
    await fs.mkdir(`/r/${name}`, 0o755);
    for (const file of ['a', 'pod.yaml']) await fs.close(await fs.open(`/r/${name}/${file}`, 'new', 0o600));
  }
  const scenario: CrashScenario = {
    image: fs.now(),
    act: (ops) =>
      prune(
        { resourceDir: '/r', staticPod: 'test', maxEligibleRevision: 1, protectedRevisions: [] },
        { ops, lanes: 1 },
      ),
    judge: (image, told) => {
      const found = contentOf(image, '/r/test-1');
      const whole = JSON.stringify(found) === '{"a":"","pod.yaml":""}';
      if (found !== undefined && !whole) return `half: ${JSON.stringify(found)}`;
      if (contentOf(image, '/r/test-2') === undefined) return 'the other revision is gone';
      return told === 'acked' && whole ? 'acknowledged, then back' : undefined;
    },
  };
  const report = await exploreCrashes(scenario);
  assert.equal(report.told, 'acked', String(report.error));
  assert.deepEqual(report.violations, []);
  const results = await withoutEachSync(scenario);
  const red = results.filter((one) => one.report.violations.length > 0);
  // The others are of the recovery before, on a disk that needs none: the two revisions, their directory, and its parent.
  assert.deepEqual(
    red.map(({ left }) => left.split(' ')[1]),
    ['/r'],
  );
  assert.equal(results.length, 5);
});

const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

test('DU-D99 DU-D101 DU-D102 DU-D103 DU-D104 DU-D106 DU-D107 DU-D108 DU-D109 which revisions are kept', () => {
  const node = (current: number, target = 0, lastFailed = 0) => ({ current, target, lastFailed });
  const keep = (failed: number, succeeded: number, nodes: Parameters<typeof keepSet>[0], latest: number) =>
    keepSet(nodes, latest, { failed, succeeded });
  assert.deepEqual(keep(1, 1, [node(2)], 4), [2, 4]);
  assert.equal(keep(1, 1, [], 4), 'all');
  assert.deepEqual(keep(2, 3, [node(4, 7)], 10), range(2, 10));
  assert.deepEqual(keep(2, 3, [node(10, 30, 20)], 40), [8, 9, 10, 19, 20, 28, 29, 30, 38, 39, 40]);
  assert.deepEqual(keep(0, 0, [node(10, 30, 20)], 40), [
    ...range(6, 10),
    ...range(16, 20),
    ...range(26, 30),
    ...range(36, 40),
  ]);
  assert.equal(keep(5, 5, [node(15), node(10, 0, 5)], 20), 'all');
  assert.equal(keep(-1, -1, [node(1)], 5), 'all');
  assert.equal(keep(1, -1, [node(1)], 5), 'all');
  assert.equal(keep(-1, 1, [node(1)], 5), 'all', 'while a node is behind');
});
