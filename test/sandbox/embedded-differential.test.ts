import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { firstSeed, seeds } from '@drydock/model';
import { withoutRealServers } from '@drydock/sandbox';
import { type ComparedServer, comparedServer } from './support/differential/compared-servers.ts';
import { type CoverageTable, coverageTable } from './support/differential/coverage-table.ts';
import { DIFFERENCE_CLASSES, differenceText } from './support/differential/differences.ts';
import { explanationOf } from './support/differential/explained-differences.ts';
import { HISTORY_LENGTH, historyOf, KINDS_OF_A_HISTORY } from './support/differential/history-generator.ts';
import { type LockstepPlayer, lockstepPlayer } from './support/differential/lockstep-player.ts';
import type { ObjectKind, PlannedRequest } from './support/differential/planned-request.ts';
import { withPlanted } from './support/differential/planted-differences.ts';
import { recordedRequests, uncovered } from './support/differential/recorded-requests.ts';
import { nameOf, writtenKinds } from './support/differential/served-kinds.ts';
import { shrunk } from './support/differential/shrink-history.ts';
import { placeOf } from './support/differential/write-requests.ts';

// The embedded API server is held to the real one: both get the same seeded requests in lockstep, and what they answer and what their watches see is compared. Both servers are stated
// to differ in what support/differential/explained-differences.ts lists, and in nothing else.

const FILE = 'test/sandbox/embedded-differential.test.ts';
/** Histories of an ordinary run against the real server, and of a soak. */
const REAL = { usual: Math.ceil(3000 / HISTORY_LENGTH), soak: Math.ceil(100_000 / HISTORY_LENGTH) };

async function played(
  t: TestContext,
  player: LockstepPlayer,
  kinds: readonly ObjectKind[],
  numbers: Iterable<number>,
): Promise<{ readonly requests: number; readonly events: number; readonly coverage: CoverageTable }> {
  const coverage = coverageTable();
  const explained = new Map<string, number>();
  let [requests, events] = [0, 0];
  for (const seed of numbers) {
    const history = historyOf(seed, kinds);
    coverage.add(history);
    const outcome = await player.play(history);
    requests += outcome.requests;
    events += outcome.events;
    for (const [why, count] of outcome.explained) explained.set(why, (explained.get(why) ?? 0) + count);
    if (outcome.differences.length > 0) await report(player, seed, history, outcome.differences.map(differenceText));
  }
  t.diagnostic(`${requests} requests and ${events} events of watches were compared`);
  for (const [why, count] of explained) t.diagnostic(`explained ${count} times: ${why}`);
  for (const line of coverage.text().split('\n')) t.diagnostic(line);
  return { requests, events, coverage };
}

/** Fails with all differences of a history, and the shortest history found that still has one. */
async function report(
  player: LockstepPlayer,
  seed: number,
  history: readonly PlannedRequest[],
  texts: readonly string[],
): Promise<never> {
  const fails = async (some: readonly PlannedRequest[]): Promise<boolean> =>
    (await player.play(some, 1)).differences.length > 0;
  const few = await shrunk(history, fails);
  const { differences } = await player.play(few);
  const lines = few.map(({ method, path, user }) => `  ${method} ${path}${user === undefined ? '' : ` as ${user}`}`);
  assert.fail(
    [
      `seed ${seed}: ${texts.length} differences`,
      ...texts,
      `The shortest history that differs:\n${lines.join('\n')}`,
      ...differences.map(differenceText),
      `Again: SERVERS=real DRYDOCK_SEED=${seed} npm test -- ${FILE}`,
    ].join('\n'),
  );
}

suite('two embedded servers are compared', () => {
  let kinds: readonly ObjectKind[];
  const servers: ComparedServer[] = [];

  before(async () => {
    servers.push(...(await Promise.all([comparedServer('embedded'), comparedServer('embedded')])));
    kinds = await writtenKinds((servers[0] as ComparedServer).side);
  });
  after(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  test('they do not differ', async (t) => {
    const [one, other] = servers as [ComparedServer, ComparedServer];
    await using player = await lockstepPlayer(one.side, other.side, kinds, explanationOf);
    const { requests, events } = await played(t, player, kinds, [1, 2]);
    assert.ok(requests === 2 * HISTORY_LENGTH && events > 20, `${requests} requests, ${events} events`);
  });

  test('histories ask all that the test suite and a kubectl session ask', () => {
    const coverage = coverageTable();
    for (let seed = 1; seed <= REAL.usual; seed += 1) coverage.add(historyOf(seed, kinds));
    // Each kind is watched while histories are played.
    coverage.add(kinds.map((kind) => ({ verb: 'watch', patch: '', kind: placeOf(kind), method: 'GET', path: '' })));
    const recorded = recordedRequests();
    assert.ok(recorded.length > 300, `${recorded.length} classes`);
    assert.ok(REAL.usual * KINDS_OF_A_HISTORY >= kinds.length, `${kinds.length} kinds`);
    assert.deepEqual(uncovered(recorded, coverage, kinds), []);
  });

  for (const what of DIFFERENCE_CLASSES) {
    test(`one planted difference is found: ${what}`, async () => {
      const [one, other] = servers as [ComparedServer, ComparedServer];
      await using player = await lockstepPlayer(one.side, withPlanted(other.side, what), kinds, explanationOf, 5000);
      const { differences } = await player.play(plantedHistory(kinds));
      assert.deepEqual(
        differences.map((one) => one.class),
        [what],
      );
    });
  }
});

/** A history that has ConfigMaps. */
function plantedHistory(kinds: readonly ObjectKind[]): readonly PlannedRequest[] {
  return historyOf(
    firstSeed(),
    kinds.filter(({ plural }) => ['configmaps', 'secrets'].includes(plural)),
  );
}

suite('the embedded server is compared with the real one', {
  skip: withoutRealServers('the embedded ones are held to them'),
}, () => {
  let kinds: readonly ObjectKind[];
  const servers: ComparedServer[] = [];

  before(async () => {
    servers.push(...(await Promise.all([comparedServer('real'), comparedServer('embedded')])));
    const [all = [], own = []] = await Promise.all(servers.map(({ side }) => writtenKinds(side)));
    kinds = own;
    // All kinds of the real server but one, which the README names.
    const missing = all.map(nameOf).filter((name) => !own.some((kind) => nameOf(kind) === name));
    assert.deepEqual(missing, ['autoscaling/v1/horizontalpodautoscalers']);
  });
  after(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  test('they answer and notify alike', { timeout: 24 * 3_600_000 }, async (t) => {
    const [real, embedded] = servers as [ComparedServer, ComparedServer];
    await using player = await lockstepPlayer(real.side, embedded.side, kinds, explanationOf);
    await played(t, player, kinds, seeds(REAL.usual, REAL.soak, `histories of ${HISTORY_LENGTH} requests`));
  });
});
