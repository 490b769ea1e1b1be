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
  });
  assert.equal(coverage.scenarios, 1 + 2 + 4 + 8);
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
