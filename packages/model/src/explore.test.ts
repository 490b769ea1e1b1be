import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExplorationError, explore, type Tripwire } from './explore.ts';

interface Account {
  from: number;
  to: number;
  moved: boolean;
}

async function strike(tripwire: Tripwire<'crash'>, place: string): Promise<void> {
  if (tripwire.hit(place) === 'crash') throw new Error('crashed');
}

const setup = (): Account => ({ from: 1, to: 0, moved: false });
const check = (account: Account): void => assert.deepEqual([account.from, account.to], [0, 1]);

test('a transfer that looks before it acts survives a crash at every place, alone and in pairs', async () => {
  const coverage = await explore<Account, 'crash'>({
    setup,
    run: async (account, tripwire) => {
      await strike(tripwire, 'before');
      Object.assign(account, { from: 0, to: 1 });
      await strike(tripwire, 'after');
    },
    check,
    faults: ['crash'],
    depth: 2,
    sampled: 1,
  });
  assert.deepEqual(coverage.places, ['before', 'after']);
  assert.equal(coverage.scenarios, 1 + 2 + 4);
});

test('depth 3 tries every triple', async () => {
  const coverage = await explore<Account, 'crash'>({
    setup,
    run: async (account, tripwire) => {
      await strike(tripwire, 'before');
      Object.assign(account, { from: 0, to: 1 });
      await strike(tripwire, 'after');
    },
    check,
    faults: ['crash'],
    depth: 3,
    sampled: 1,
  });
  assert.equal(coverage.scenarios, 1 + 2 + 4 + 8);
});

test('of later faults a sample is tried, of first ones each', async () => {
  const coverage = await explore<Account, 'crash'>({
    setup,
    run: async (account, tripwire) => {
      await strike(tripwire, 'before');
      Object.assign(account, { from: 0, to: 1 });
      await strike(tripwire, 'after');
    },
    check,
    faults: ['crash'],
    depth: 2,
    sampled: 4,
  });
  assert.deepEqual([coverage.scenarios, coverage.complete], [1 + 2 + 1, false]);
});

test('negative control: one that crashes between its halves is found, and the place is named', async () => {
  await assert.rejects(
    explore<Account, 'crash'>({
      setup,
      run: async (account, tripwire) => {
        account.from -= 1;
        await strike(tripwire, 'between');
        account.to += 1;
      },
      check,
      faults: ['crash'],
    }),
    (error) => error instanceof ExplorationError && error.message.includes('crash at 0 between'),
  );
});

interface Steps {
  readonly done: string[];
  reads: number;
}

/** A work of three changes, with a look before each, and what exploring it costs. */
function steps(worlds: boolean) {
  const played = { runs: 0 };
  const coverage = explore<Steps, 'crash'>({
    setup: () => ({ done: [], reads: 0 }),
    run: async (world, tripwire) => {
      played.runs += 1;
      for (const step of ['a', 'b', 'c']) {
        world.reads += 1;
        await strike(tripwire, `look ${step}`);
        if (world.done.includes(step)) continue;
        world.done.push(step);
        await strike(tripwire, step);
      }
    },
    check: ({ done }) => assert.deepEqual(done, ['a', 'b', 'c']),
    faults: ['crash'],
    depth: 2,
    sampled: 1,
    ...(worlds
      ? {
          worlds: {
            copy: ({ done, reads }: Steps) => ({ done: [...done], reads }),
            state: ({ done }: Steps) => done.join(),
            holds: ({ done }: Steps) => assert.ok(done.length === new Set(done).size),
          },
        }
      : {}),
  });
  return { played, coverage };
}

test('histories that leave the same world go on once; all are counted, and the same ends are reached', async () => {
  const each = steps(false);
  const once = steps(true);
  const [all, some] = [await each.coverage, await once.coverage];
  assert.equal(all.merged, 0);
  assert.deepEqual(some.places, all.places);
  // After 0 to 3 changes: four worlds for six single crashes.
  assert.ok(some.merged > 0 && some.scenarios < all.scenarios, `${some.merged} of ${some.scenarios} merged`);
  assert.ok(once.played.runs < each.played.runs / 3, `${once.played.runs} runs against ${each.played.runs}`);
});

test('negative control: what does not hold after a run is found although the history ends as another one', async () => {
  await assert.rejects(
    explore<{ late: boolean }, 'crash'>({
      setup: () => ({ late: false }),
      run: async (world, tripwire) => {
        await strike(tripwire, 'first');
        world.late = true;
        await strike(tripwire, 'second');
      },
      check: () => undefined,
      faults: ['crash'],
      worlds: {
        copy: ({ late }) => ({ late }),
        state: () => 'all the same',
        holds: ({ late }) => assert.equal(late, false, 'it is late'),
      },
    }),
    (error) => error instanceof ExplorationError && /crash at 1 second, .*it is late/s.test(error.message),
  );
});
