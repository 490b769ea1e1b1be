import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recover, syncDir } from '@drydock/durable';
import { type Protocol, protocols } from '@drydock/durable/testing';
import { soaking } from '@drydock/model';
import { controls } from './controls.ts';
import { type Cuttable, cutEverywhere } from './crash-points.ts';
import { cutTable } from './cut-table.ts';
import { cannotRun, kinds } from './power-rig.ts';

// Real file systems, real power cuts: after each call, with and without somebody else's fsync in between.

const table = cutTable();

// A soak run takes the larger examples.
const examples = (root: string): readonly Protocol[] => protocols(root, soaking ? 2 : 1);

for (const kind of kinds) {
  for (const [index, { name, path, old, wanted, exchange }] of examples('/').entries()) {
    const job: Cuttable = {
      prepare: async (ops, root) => examples(root)[index]?.prepare(ops),
      act: async (ops, root) => examples(root)[index]?.act(ops),
      watched: [{ name, path, old, wanted }],
      exchange,
    };
    test(`power cut, ${kind}, ${name}: old or new at every call`, { skip: cannotRun(kind) }, async () => {
      for (const others of [false, true])
        for (const outcomes of await cutEverywhere(kind, job, others)) {
          table.add(kind, name, outcomes, others);
          assert.deepEqual(outcomes.corrupt, []);
          assert.equal(outcomes.lost, 0);
          if (exchange) assert.equal(outcomes.healed, 0, 'a reader after the restart sees neither before recovery ran');
          else if (others) assert.equal(outcomes.healed, 1, 'the cut between the two renames needs recovery');
          assert.ok(outcomes.old > 0 && outcomes.new > 0, 'the cuts did not reach both sides of the replacement');
        }
    });
  }
}

/** A cut between the two renames of a replacement without exchange, with a removal and a new file under way elsewhere. */
const halfDone: Cuttable = {
  prepare: async (ops, root) => {
    for (const target of ['t', 'gone'])
      await syncDir({ target: `${root}/${target}`, files: new Map([['a', { content: 'old' }]]), ops });
    await ops.rename(`${root}/t`, `${root}/.t.0123456789abcdef.old`);
    await ops.rename(`${root}/gone`, `${root}/.gone.0123456789abcdef.trash`);
    await ops.mkdir(`${root}/.t.0123456789abcdee.staging`, 0o700);
  },
  act: (ops, root) => recover(root, { ops }),
  watched: [{ name: 't', path: 't', old: undefined, wanted: { a: 'old' } }],
  recover: async () => undefined,
  again: (ops, root) => recover(root, { ops }),
};

for (const kind of kinds)
  test(`power cut, ${kind}, recover: put back or not yet at every call, and run again it completes`, {
    skip: cannotRun(kind),
  }, async () => {
    for (const others of [false, true])
      for (const outcomes of await cutEverywhere(kind, halfDone, others)) {
        table.add(kind, 'recover', outcomes, others);
        assert.deepEqual(outcomes.corrupt, []);
        assert.equal(outcomes.lost, 0);
        assert.ok(outcomes.old > 0 && outcomes.new > 0);
      }
  });

for (const { name, job, others, kinds: where, red } of controls)
  for (const kind of where)
    test(`power cut, ${kind}, negative control: ${name}, ${others ? 'others sync' : 'quiet'}: comes out red`, {
      skip: cannotRun(kind),
    }, async () => {
      const [outcomes] = await cutEverywhere(kind, { ...job, recover: async () => undefined }, others);
      assert.ok(outcomes !== undefined && red(outcomes), JSON.stringify(outcomes));
      table.add(kind, name, outcomes, others, 'red');
    });

test('power cut: the table of packages/durable', (t) => table.print(t));
