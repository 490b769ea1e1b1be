import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { readManifestFile } from '../payload/manifest.ts';
import { type Graph, initialGraph, type Node, updateGraph } from './graph.ts';
import { runBeside, runGraph } from './run.ts';

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

/** Runs a graph whose node `wide` has ten items that do not wait for each other; `bad` is one that is not well. */
async function wide(workers: number, bad = -1) {
  const graph = graphOf(initialGraph, '10_wide_1', '10_b_1', '10_b_2 Job', '10_c_1');
  const began: string[] = [];
  let [now, most] = [0, 0];
  const busy = async (what: string): Promise<void> => {
    began.push(what);
    now += 1;
    most = Math.max(most, now);
    await tick();
    now -= 1;
  };
  const items = Array.from({ length: 10 }, (_, at) => at);
  const { incomplete } = await runGraph(graph, {
    ...{ workers, signal: never },
    run: async (node, lend) => {
      const name = nameOf(node);
      if (!name.includes('wide')) {
        await busy(name);
        return true;
      }
      return await runBeside(items, lend, async (item) => {
        await busy(`${item}`);
        return item !== bad;
      });
    },
  });
  return { began, most, incomplete };
}

test('workers that no node needs help with what one node has to do at the same time, within the same limit, and a node that is ready goes first', async () => {
  for (const workers of [1, 2, 3, 5, 8]) {
    const { began, most, incomplete } = await wide(workers);
    assert.deepEqual([most, incomplete, began.length], [workers, 0, 13]);
    assert.deepEqual(new Set(began).size, 13, 'each is done once');
  }
  const two = await wide(2);
  assert.ok(two.began.indexOf('10_c_1') <= 3, two.began.join(' '));
});

test('after an item that is not well none begins, its node is not done, and the others are', async () => {
  const alone = await wide(1, 3);
  assert.deepEqual([alone.incomplete, alone.began.filter((name) => /^\d$/.test(name))], [1, ['0', '1', '2', '3']]);
  const many = await wide(8, 0);
  assert.equal(many.incomplete, 1);
  assert.ok(['10_b_1', '10_b_2', '10_c_1'].every((name) => many.began.includes(name)));
});

test('a defect in one item is told once all that runs have ended', async () => {
  let ended = 0;
  const lend = (): Disposable => ({ [Symbol.dispose]: () => undefined });
  const work = runBeside([0, 1, 2], lend, async (item) => {
    if (item === 0) throw new TypeError('a defect');
    await tick();
    ended += 1;
    return true;
  });
  await assert.rejects(work, TypeError);
  assert.equal(ended, 2);
});
