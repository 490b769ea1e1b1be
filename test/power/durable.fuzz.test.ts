import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import {
  commitTree,
  type FsOps,
  inspect,
  nodeOps,
  recover,
  removeTreeDurable,
  replaceFileDurable,
  replaceSymlinkDurable,
  syncDir,
} from '@drydock/durable';
import type { Content } from '@drydock/durable/testing';
import { contentAt } from './crash-points.ts';
import { again, fuzz, type Life } from './fuzz.ts';
import { cannotRun, kinds } from './power-rig.ts';

// Every operation in a loop side by side while others sync, and the power goes at a random moment, with syncs, swaps and renames under way.

const FILE = 'test/power/durable.fuzz.test.ts';

/** One operation that is done again and again on a place of its own; `content` is what the n-th leaves there. */
interface Lane {
  readonly name: string;
  readonly path: string;
  content(generation: number): Content | undefined;
  act(ops: FsOps, at: string, generation: number): Promise<unknown>;
}

const text = (name: string, generation: number): string => `${name} ${generation} `.repeat(1 + (generation % 400));
const filesOf = (names: readonly string[], generation: number): Map<string, { content: string }> =>
  new Map(names.map((name) => [name, { content: text(name, generation) }]));
const contentOf = (names: readonly string[], generation: number): Content =>
  Object.fromEntries(names.map((name) => [name, text(name, generation)]));
const NAMES = ['a', 'b', 'c', 'd'];
/** So many that the kernel is told to begin with them. */
const MANY = 'abcdefghij'.split('');
/** The names change too. */
const namesOf = (generation: number): readonly string[] => NAMES.slice(0, 1 + (generation % NAMES.length));

const cannotExchange = (): Promise<never> => Promise.reject(Object.assign(new Error('EINVAL'), { code: 'EINVAL' }));
const without = (ops: FsOps): FsOps => ({ ...ops, exchange: cannotExchange });

const lanes: readonly Lane[] = [
  {
    name: 'directory',
    path: 'd/t',
    content: (n) => contentOf(namesOf(n), n),
    act: (ops, target, n) => syncDir({ target, files: filesOf(namesOf(n), n), ops }),
  },
  {
    name: 'staged elsewhere',
    path: 'e/t',
    content: (n) => contentOf(namesOf(n), n),
    act: (ops, target, n) => syncDir({ target, staging: `${target}-staging`, files: filesOf(namesOf(n), n), ops }),
  },
  {
    name: 'without exchange',
    path: 'f/t',
    content: (n) => contentOf(namesOf(n), n),
    act: (ops, target, n) => syncDir({ target, exchange: 'auto', files: filesOf(namesOf(n), n), ops: without(ops) }),
  },
  {
    name: 'file',
    path: 'm',
    content: (n) => text('m', n),
    act: (ops, path, n) => replaceFileDurable(path, text('m', n), { ops }),
  },
  {
    name: 'link',
    path: 'l',
    content: (n) => `-> ${n}`,
    act: (ops, path, n) => replaceSymlinkDurable(path, String(n), { ops }),
  },
  {
    name: 'tree',
    path: 'g',
    // A tree appears at each odd generation and goes at the next one.
    content: (n) => (n % 2 === 0 ? {} : { rev: { x: contentOf(MANY, n) } }),
    act: (ops, at, n) =>
      n % 2 === 0
        ? removeTreeDurable(`${at}/rev`, at, { ops })
        : commitTree({
            dir: `${at}/rev`,
            files: new Map([...filesOf(MANY, n)].map(([name, file]) => [`x/${name}`, file])),
            ops,
          }),
  },
];

async function prepare(root: string): Promise<void> {
  for (const dir of ['d', 'e', 'f', 'g']) fs.mkdirSync(`${root}/${dir}`);
  for (const lane of lanes) if (lane.name !== 'tree') await lane.act({ ...nodeOps }, `${root}/${lane.path}`, 0);
}

function begin(random: () => number): Life {
  // Few lanes get far, many get in each other's way.
  const chosen = lanes.filter(() => random() < 0.5);
  const at = (chosen.length === 0 ? lanes.slice(0, 1) : chosen).map((lane) => ({ lane, acked: 0 }));
  return {
    live: async (ops, root, on) => {
      const loops = at.map(async (state) => {
        while (on()) {
          await state.lane.act(ops, `${root}/${state.lane.path}`, state.acked + 1);
          // XFS calls a sync done whose log it has just thrown away, but a process without power acknowledges nothing.
          if (on()) state.acked += 1;
        }
      });
      const failed = (await Promise.allSettled(loops)).find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
    judge: async (root) => {
      const ops = { ...nodeOps };
      await recover(root, { ops });
      for (const { lane, acked } of at) {
        const found = contentAt(`${root}/${lane.path}`);
        if (![acked, acked + 1].some((generation) => isDeepStrictEqual(found, lane.content(generation))))
          return `${lane.name}: ${acked} was acknowledged, found ${JSON.stringify(found)?.slice(0, 200)}`;
      }
      const { leftovers } = await inspect(root, { ops });
      return leftovers.length === 0 ? undefined : `left over: ${leftovers.map(({ path }) => path).join()}`;
    },
    cutIn: () => `${at.length} lanes`,
    acknowledged: () => at.reduce((sum, { acked }) => sum + acked, 0),
  };
}

for (const kind of kinds) {
  const skip = cannotRun(kind);
  // 10,000 cuts take the better part of an hour.
  test(`power cut, ${kind}, at random: every operation whole, and never older than what was acknowledged`, {
    skip,
    timeout: 7_200_000,
  }, async (t) => {
    const report = await fuzz(kind, { prepare, begin, longest: 600 });
    const { cuts, acknowledged, wrong } = report;
    t.diagnostic(`${kind}: ${cuts} cuts, ${acknowledged} acknowledged operations, ${wrong.size} wrong`);
    assert.equal(wrong.size, 0, again(report, FILE));
    assert.ok(acknowledged > cuts || cuts === 1, 'the power went before anything was written');
  });

  test(`power cut, ${kind}, at random, negative control: without syncs it comes out red`, { skip }, async (t) => {
    const unsynced = (ops: FsOps): FsOps => ({ ...ops, fsync: async () => undefined });
    const { cuts, wrong } = await fuzz(kind, { prepare, begin, longest: 600 }, [1, 2, 3, 4, 5], unsynced);
    t.diagnostic(`${kind}: ${wrong.size} of ${cuts} wrong`);
    assert.ok(wrong.size > 0);
  });
}
