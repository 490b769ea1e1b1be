import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { readManifestFile } from '../payload/manifest.ts';
import { type Graph, initialGraph, type Node, updateGraph } from './graph.ts';
import { runGraph } from './run.ts';

const graphOf = (build: (manifests: Parameters<typeof updateGraph>[0]) => Graph, ...files: readonly string[]) =>
  build(
    files.flatMap((file) => {
      const [name = '', kind = 'ConfigMap'] = file.split(' ');
      const apiVersion = kind === 'Job' ? 'batch/v1' : 'v1';
      return readManifestFile(`0000_${name}.yaml`, JSON.stringify({ apiVersion, kind, metadata: { name: 'x' } }));
    }),
  );
const nameOf = ({ manifests }: Node) => manifests.map(({ file }) => file.slice(5, -5)).join(' ');
const never = new AbortController().signal;

/** Runs a graph; nodes whose name has one of the marks end as it says. Returns what began, in order, and how many ran at the same time at most. */
async function run(
  graph: Graph,
  { workers = 16, bad = '', signal = never }: { workers?: number; bad?: string; signal?: AbortSignal } = {},
) {
  const began: string[] = [];
  let [running, most] = [0, 0];
  const outcome = await runGraph(graph, {
    workers,
    signal,
    run: async (node) => {
      began.push(nameOf(node));
      running += 1;
      most = Math.max(most, running);
      await tick();
      running -= 1;
      return bad === '' || !nameOf(node).includes(bad);
    },
  });
  return { began, most, ...outcome };
}

test('RB-R4 what comes before a Job is done before it begins, what comes after it begins afterwards', async () => {
  const graph = graphOf(updateGraph, '10_a_1', '10_a_2 Job', '10_a_3', '10_b_1');
  const { began, incomplete } = await run(graph);
  assert.deepEqual([began.filter((name) => name.includes('a')), incomplete], [['10_a_1', '10_a_2', '10_a_3'], 0]);
});

test('a failure holds back what depends on it, and nothing else; what did not end well is counted', async () => {
  const graph = graphOf(initialGraph, '10_a_1', '10_a_2 Job', '10_a_3', '10_b_1', '20_c_1');
  const { began, incomplete } = await run(graph, { bad: '10_a_2' });
  assert.deepEqual([began.toSorted(), incomplete], [['10_a_1', '10_a_2', '10_b_1', '20_c_1'], 2]);
  const layered = await run(graphOf(updateGraph, '10_a_1', '10_b_1', '20_c_1', '30_d_1'), { bad: '10_b' });
  assert.deepEqual([layered.began, layered.incomplete], [['10_a_1', '10_b_1'], 3]);
});

test('as many nodes run at the same time as there are workers, and no more', async () => {
  const graph = graphOf(initialGraph, ...Array.from({ length: 40 }, (_, index) => `10_c${index}_1`));
  for (const [workers, most] of [
    [2, 2],
    [16, 16],
    [graph.length, 40],
  ] as const)
    assert.equal((await run(graph, { workers })).most, most);
});

test('after the signal nothing begins, and what was not reached is incomplete', async () => {
  const end = new AbortController();
  const graph = graphOf(updateGraph, '10_a_1', '20_a_1', '30_a_1');
  const outcome = await runGraph(graph, {
    workers: 2,
    signal: end.signal,
    run: async () => {
      end.abort();
      return true;
    },
  });
  assert.equal(outcome.incomplete, 2);
});

test('a defect in one node ends the run once all that runs has ended', async () => {
  let ended = 0;
  const graph = graphOf(initialGraph, '10_a_1', '10_b_1', '10_c_1');
  const work = runGraph(graph, {
    workers: 2,
    signal: never,
    run: async (node) => {
      if (nameOf(node) === '10_a_1') throw new TypeError('a defect');
      await tick();
      ended += 1;
      return true;
    },
  });
  await assert.rejects(work, TypeError);
  assert.equal(ended, 1);
});
