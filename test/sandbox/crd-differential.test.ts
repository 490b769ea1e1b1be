import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type Era, readCrds } from '@drydock/crd';
import { firstSeed, seeds, soaking, withSeed } from '@drydock/model';
import { build, crdFolder, type Sandbox, startSandbox } from '@drydock/sandbox';
import {
  compare,
  generatedKinds,
  type Kind,
  type Outcome,
  prepare,
  realKind,
  remove,
  shapeKinds,
} from './support/crd-differential.ts';
import { ERAS_HERE, SKIPS_JUDGED, skips } from './support/crd-eras.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';

// The verdict of this project's validator and that of a real API server on the same writes: what was legal or not when it was stored, and what a writer then sends. Whatever differs is a
// bug of ours. What is compared loosely, and why, is said where it is done (isComposite in support/crd-differential.ts).

const SEED = firstSeed();
/** How many generations make a million cases. */
const GENERATIONS = 200;
const FILE = 'test/sandbox/crd-differential.test.ts';
const SETS = ['openshift-4.14', 'openshift-4.17', 'openshift-4.21'];

/** All definitions of the releases that the sandbox knows, each release in groups of its own. */
function realKinds(): readonly Kind[] {
  return SETS.flatMap((set, at) =>
    globSync(join(crdFolder(set), '*.yaml'))
      .sort()
      .flatMap((file) => readCrds(readFileSync(file, 'utf8'), file))
      .map((crd, index) => realKind(crd, `r${at}`, SEED * 1000 + index)),
  );
}

function assertAgrees({ accepted, cases, disagreements, undecided }: Outcome, atLeast: number): void {
  const [first] = disagreements.toSorted((a, b) => JSON.stringify(a).length - JSON.stringify(b).length);
  assert.equal(
    disagreements.length,
    0,
    `one of ${disagreements.length}: ${JSON.stringify(first, null, 1)}\nAgain: DRYDOCK_SEED=${SEED} npm test -- ${FILE}`,
  );
  assert.ok(cases >= atLeast, `only ${cases} cases`);
  assert.ok(undecided < cases * 0.12, `${undecided} of ${cases} could not be decided`);
  assert.ok(
    accepted > cases * 0.08 && accepted < cases * 0.8,
    `${accepted} of ${cases} were accepted: they prove little`,
  );
}

suite('the validator and the API server say the same', { skip: SKIPS_JUDGED }, () => {
  const generated = generatedKinds(SEED, 30);
  const shapes = shapeKinds(SEED, 2);
  let real: readonly Kind[];
  let sandbox: Sandbox;
  let server: CrdServer;

  before(async () => {
    await build({ servers: [], crds: SETS });
    real = realKinds();
    assert.equal(real.length, 27);
    sandbox = await startSandbox();
    server = connectCrdServer(sandbox);
    await prepare(server, [...generated, ...shapes, ...real]);
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await sandbox?.[Symbol.asyncDispose]();
  });

  for (const era of ['E2', 'E0', 'E1'] as const) {
    test(`${era}: of creations, writes of objects and writes of status, generated and by real definitions`, {
      skip: skips(era),
    }, async () => {
      if (sandbox.era !== era) await sandbox.switchEra(era);
      assertAgrees(await compare(server, generated, era), 1000);
      assertAgrees(await compare(server, shapes, era), 2000);
      assertAgrees(await compare(server, real, era), 400);
    });
  }

  test('a validator that takes the server for one of another era is found out', async () => {
    const other: Era = sandbox.era === 'E0' ? 'E2' : 'E0';
    const { cases, disagreements } = await compare(server, generated, other);
    assert.ok(disagreements.length > cases / 20, `only ${disagreements.length} of ${cases} differ`);
  });

  test('a million more', { skip: soaking ? false : 'only in a soak', timeout: 24 * 3_600_000 }, async () => {
    for (const seed of seeds(0, GENERATIONS))
      await withSeed(seed, FILE, async () => {
        const kinds = generatedKinds(seed, 40, `s${seed}n`);
        // A server of E0 takes no rules with an optional old value.
        await sandbox.switchEra('E2');
        await prepare(server, kinds);
        for (const era of ERAS_HERE) {
          await sandbox.switchEra(era);
          const [first] = (await compare(server, kinds, era)).disagreements;
          assert.equal(first, undefined, JSON.stringify(first, null, 1));
        }
        await remove(server, kinds);
      });
  });
});
