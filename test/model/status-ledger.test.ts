import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '@drydock/kube';
import { explore, scheduler, seeds, soaking, withSeed } from '@drydock/model';
import { type LedgerWorld, ledgerWorld, type Mistakes } from './status-ledger-world.ts';

type Fault = 'kill' | 'lost';

interface Explored extends LedgerWorld {
  readonly problems: string[];
}

/** There and back again with a writer that fails at every call, before and after the server acted; a process that was killed is started anew and knows nothing. */
function exploring(depth: 1 | 2, faults: readonly Fault[], mistakes: Mistakes = {}) {
  return explore<Explored, Fault>({
    setup: () => {
      const problems: string[] = [];
      return Object.assign(
        ledgerWorld((what) => problems.push(what), mistakes),
        { problems },
      );
    },
    run: async (world, tripwire) => {
      world.cluster.onCall = ({ verb, resource }, phase, { client }) => {
        const fault = tripwire.hit(`${phase} ${verb} ${resource}`);
        if (fault === undefined) return;
        if (fault === 'kill') client.kill();
        throw new ApiError({ code: 'Connection', action: verb, said: 'the connection was cut' });
      };
      let writer = world.start();
      const write = async (): Promise<void> => {
        // A cut connection is an error of the write, which its queue repeats; a killed process does nothing any more.
        await writer.write().catch((error: unknown) => {
          if (!(error instanceof ApiError)) throw error;
          return writer.write();
        });
      };
      world.serve(13);
      await write();
      await write();
      // Also without any fault a new process takes over.
      writer = world.start();
      await write();
      world.serve(14);
      await write();
      world.cluster.onCall = undefined;
    },
    check: (world) => {
      assert.deepEqual(world.problems, []);
      world.check();
      assert.ok(world.cuts > 0, 'nothing was ever cut');
    },
    faults,
    depth,
  });
}

test('a kill anywhere, alone and in pairs, or a lost call: status and ledger together hold everything at every instant, and in the end the status alone does', async () => {
  const { places, scenarios, complete } = await exploring(2, soaking ? ['kill', 'lost'] : ['kill']);
  await exploring(1, ['lost']);
  assert.ok(places.some((place) => place === 'after create configmaps'));
  assert.ok(places.some((place) => place === 'before replaceStatus clusterversions.config.openshift.io'));
  assert.ok(!complete || scenarios > 500, `${scenarios} scenarios`);
});

test('negative control: a ledger that is tidied up before the write is caught', async () => {
  const early: Mistakes = {
    hooks: (hooks) => ({
      ...hooks,
      project: async <S>(intent: S, current: unknown): Promise<S> => {
        const sent = await hooks.project(intent, current);
        // As if it were stored already.
        await hooks.written(sent, { ...(current as object), status: sent });
        return sent;
      },
    }),
  };
  await assert.rejects(exploring(1, ['kill'], early), /nobody knows/);
});

test('negative control: a ledger that is saved after the write is caught', async () => {
  const late: Mistakes = {
    ledger: (ledger) => {
      const owed: (() => Promise<unknown>)[] = [];
      return {
        ...ledger,
        grow: (...args) => {
          owed.push(() => ledger.grow(...args));
          return ledger.view(args[0].uid);
        },
        shrink: async (...args) => {
          for (const pay of owed.splice(0)) await pay();
          await ledger.shrink(...args);
        },
      };
    },
  };
  await assert.rejects(exploring(1, ['kill'], late), /nobody knows/);
});

/** Two processes that both believe to lead, one with an older view of the definition; their calls interleave by the seed. */
async function playTwo(seed: number, mistakes: Mistakes = {}): Promise<number> {
  const problems: string[] = [];
  const world = ledgerWorld((what) => problems.push(what), mistakes);
  const turns = scheduler(seed);
  world.serve(13);
  await world.start().write();
  world.serve(14);
  world.cluster.onCall = () => turns.turn();
  // One watch is behind: what it believes lags until its third write.
  let believes: 13 | 14 = 13;
  const [late, early] = [world.start(() => believes), world.start()];
  const outcomes = await turns.run([
    async () => {
      for (let count = 0; count < 3; count += 1) await late.write();
      believes = 14;
    },
    async () => {
      for (let count = 0; count < 3; count += 1) await early.write();
    },
  ]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  world.cluster.onCall = undefined;
  // Who leads in the end is one of them, or knows nothing but what it reads.
  const last = [early, late, world.start()][seed % 3] ?? early;
  await last.write();
  await last.write();
  assert.deepEqual(problems, []);
  world.check();
  return world.cuts;
}

test('two writers with different views of the definition: whatever the order of their calls, nothing is lost', async () => {
  let cuts = 0;
  const together = (): void => assert.ok(cuts > 0, 'nothing was ever cut');
  for (const seed of seeds(400, 20_000, 'seeds', together)) {
    await withSeed(seed, import.meta.filename, async () => {
      cuts += await playTwo(seed);
    });
  }
});

test('negative control: a ledger that shrinks whoever wrote to it last is caught', async () => {
  const careless: Mistakes = {
    ledger: (ledger) => ({
      ...ledger,
      shrink: async (subject, _before, entries) => {
        const now = await ledger.grow(subject, [], { schemaHash: '', firstSeen: '', release: '' }, {});
        await ledger.shrink(subject, now, entries);
      },
    }),
  };
  let caught = 0;
  for (let seed = 1; seed <= 400; seed += 1) {
    await playTwo(seed, careless).catch((error: unknown) => {
      assert.ok(error instanceof assert.AssertionError, String(error));
      caught += 1;
    });
  }
  assert.ok(caught >= 1, `only ${caught} of 400`);
});
