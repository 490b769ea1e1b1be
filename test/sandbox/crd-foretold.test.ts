import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { firstSeed } from '@drydock/model';
import { build, type Sandbox, startSandbox } from '@drydock/sandbox';
import { generatedKinds, shapeKinds, store } from './support/crd-differential.ts';
import { SKIPS_JUDGED, skips } from './support/crd-eras.ts';
import { type Foretold, foretell } from './support/crd-foretold.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';

// Before a definition narrows, a preflight says what it does to each stored object. The server then shows whether that is so: nothing is missed, and nothing is said that does not happen.

const SEED = firstSeed();

function assertForetold({ misses }: Foretold): void {
  const lines = misses.map(({ about, after, before: was, kind, object, said, server }) =>
    [`${kind} ${about} ${object}`, JSON.stringify(was), JSON.stringify(after), `said: ${said.join('; ')}`, server].join(
      '\n  ',
    ),
  );
  assert.equal(lines.length, 0, `${lines.length} misses, seed ${SEED}:\n${lines.slice(0, 8).join('\n')}`);
}

suite('what a preflight foretells', { skip: SKIPS_JUDGED }, () => {
  let sandbox: Sandbox;
  let server: CrdServer;

  before(async () => {
    await build({ servers: [] });
    sandbox = await startSandbox();
    server = connectCrdServer(sandbox);
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await sandbox?.[Symbol.asyncDispose]();
  });

  for (const era of ['E2', 'E0'] as const)
    test(`FIND-11 ${era}: what is pruned, filled in, refused to an apply, to a creation and to the first status is foretold, and nothing else`, {
      skip: skips(era),
    }, async (t) => {
      if (sandbox.era !== era) await sandbox.switchEra('E2');
      // A server of E0 takes no rules with an optional old value.
      const generated = generatedKinds(SEED, era === 'E2' ? 25 : 20, `foretold-${era.toLowerCase()}-`);
      const kinds =
        era === 'E2'
          ? [...generated, ...shapeKinds(SEED, 0)]
          : generated.filter(({ schema }) => !JSON.stringify(schema).includes('optionalOldSelf'));
      await store(server, kinds);
      if (sandbox.era !== era) await sandbox.switchEra(era);
      const foretold = await foretell(server, kinds, era);
      t.diagnostic(JSON.stringify({ ...foretold, misses: foretold.misses.length }));
      assertForetold(foretold);
      const { apply, creation, read } = foretold.agreed;
      assert.ok(read > 20 && creation > 20, `${read} and ${creation} prove little`);
      if (era === 'E2') assert.ok(apply > 10 && foretold.agreed['first status'] > 0, `${apply} applies prove little`);
      assert.ok(foretold.clean > (era === 'E2' ? 100 : 0), `${foretold.clean} clean objects prove little`);
    });
});
