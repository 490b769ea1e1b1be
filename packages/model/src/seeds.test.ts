import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { repetitions, seeds, withSeed } from './seeds.ts';

const NAMES = ['DRYDOCK_SEED', 'DRYDOCK_SEEDS', 'DRYDOCK_SEED_FROM'] as const;
const before = NAMES.map((name) => [name, process.env[name]] as const);
const clear = (): void => {
  for (const name of NAMES) delete process.env[name];
};
beforeEach(clear);
afterEach(() => {
  clear();
  for (const [name, value] of before) if (value !== undefined) process.env[name] = value;
});

test('seeds begin at 1; the environment chooses how many, from where, or a single one', () => {
  assert.equal([...seeds(3, 3)].join(), '1,2,3');
  process.env['DRYDOCK_SEEDS'] = '2';
  process.env['DRYDOCK_SEED_FROM'] = '40';
  assert.equal([...seeds(3)].join(), '40,41');
  assert.equal(repetitions(20, 10_000, 'kills'), 2);
  process.env['DRYDOCK_SEED'] = '7';
  assert.equal([...seeds(3)].join(), '7');
});

test('what only many seeds reach together is asserted after the usual number of them, and not where fewer were played', () => {
  let asked = 0;
  const together = (): void => {
    asked += 1;
  };
  assert.deepEqual([[...seeds(3, 3, 'seeds', together)].length, asked], [3, 1]);
  process.env['DRYDOCK_SEEDS'] = '2';
  assert.deepEqual([[...seeds(3, 3, 'seeds', together)].length, asked], [2, 1]);
  process.env['DRYDOCK_SEED'] = '7';
  assert.deepEqual([[...seeds(3, 3, 'seeds', together)].length, asked], [1, 1]);
});

test('what is no count is refused by name, not read as none', () => {
  process.env['DRYDOCK_SEEDS'] = 'many';
  assert.throws(() => repetitions(1, 1, 'kills'), /DRYDOCK_SEEDS is many/);
});

test('a failure says how to have it again', async () => {
  const failing = withSeed(12, 'x.test.ts', async () => {
    throw new Error('lost');
  });
  await assert.rejects(failing, /seed 12: lost\nAgain: DRYDOCK_SEED=12 node --test x\.test\.ts/);
});
