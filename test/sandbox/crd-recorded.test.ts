import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSandbox } from '@drydock/sandbox';
import { compare, generatedKinds, prepare } from './support/crd-differential.ts';
import { connectCrdServer } from './support/crd-server.ts';
import { digestOf, readVerdicts, recording, replaying, type Verdicts, writeVerdicts } from './support/crd-verdicts.ts';

// The verdicts of servers of all eras, recorded once, so that every run compares with 20,000 of them in seconds and without a server. To record them anew, as a change of the generator
// demands: DRYDOCK_RECORD=1 npm test -- test/sandbox/crd-recorded.test.ts

const KINDS = generatedKinds(77, 150, 'rec');
const ERAS = ['E0', 'E1', 'E2'] as const;

async function record(): Promise<Verdicts> {
  await using sandbox = await startSandbox();
  await using server = connectCrdServer(sandbox);
  await prepare(server, KINDS);
  const answers: { [era in (typeof ERAS)[number]]?: Record<string, string[]> } = {};
  for (const era of ERAS) {
    await sandbox.switchEra(era);
    const into: Record<string, string[]> = {};
    const { disagreements } = await compare(recording(server, into), KINDS, era);
    assert.equal(disagreements.length, 0, JSON.stringify(disagreements[0], null, 1));
    answers[era] = into;
  }
  return { digest: digestOf(KINDS), answers };
}

test('20,000 verdicts that servers of all eras gave', async () => {
  if (process.env['DRYDOCK_RECORD'] === '1') writeVerdicts(await record());
  const verdicts = readVerdicts();
  assert.equal(verdicts.digest, digestOf(KINDS), 'other cases than those recorded: record them anew, see above');
  let cases = 0;
  for (const era of ERAS) {
    const outcome = await compare(replaying(KINDS, verdicts.answers[era] ?? {}), KINDS, era);
    assert.equal(outcome.disagreements.length, 0, JSON.stringify(outcome.disagreements[0], null, 1));
    cases += outcome.cases;
  }
  assert.ok(cases >= 20_000, `only ${cases}`);
});

test('the verdicts of another era are found out', async () => {
  const { answers } = readVerdicts();
  const { cases, disagreements } = await compare(replaying(KINDS, answers.E1 ?? {}), KINDS, 'E2');
  assert.ok(disagreements.length > cases / 50, `only ${disagreements.length} of ${cases} differ`);
});
