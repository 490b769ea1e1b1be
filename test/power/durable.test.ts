import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FsCall, type FsOps, type FsTap, replaceFileDurable, syncDir, tapOps } from '@drydock/durable';
import { type Protocol, protocols } from '@drydock/durable/testing';
import { type Cuttable, cutEverywhere, type Outcomes } from './crash-points.ts';
import { cannotRun, type Kind } from './power-rig.ts';

// Real file systems, real power cuts: after each call, with and without somebody else's fsync in between.

const kinds: readonly Kind[] = ['ext4', 'xfs'];
const skips = new Map(kinds.map((kind) => [kind, cannotRun(kind)]));

// A soak run takes the larger examples.
const examples = (root: string): readonly Protocol[] =>
  protocols(root, process.env['DRYDOCK_SOAK'] === undefined ? 1 : 2);

function row(kind: Kind, others: boolean, { points, old, new: done, lost, healed, corrupt }: Outcomes): string {
  const when = `${kind.padEnd(4)} ${others ? 'others sync' : 'quiet      '} ${String(points).padStart(3)} cuts`;
  return `${when}: old ${old}, new ${done}, corrupt ${corrupt.length}, acknowledged but lost ${lost}, healed by recovery ${healed}`;
}

for (const kind of kinds) {
  for (const [index, { name, path, old, wanted, exchange }] of examples('/').entries()) {
    const job: Cuttable = {
      prepare: async (ops, root) => examples(root)[index]?.prepare(ops),
      act: async (ops, root) => examples(root)[index]?.act(ops),
      path,
      old,
      wanted,
      exchange,
    };
    test(`power cut, ${kind}, ${name}: old or new at every call`, { skip: skips.get(kind) ?? false }, async (t) => {
      for (const others of [false, true]) {
        const outcomes = await cutEverywhere(kind, job, others);
        t.diagnostic(row(kind, others, outcomes));
        assert.deepEqual(outcomes.corrupt, []);
        assert.equal(outcomes.lost, 0);
        if (exchange) assert.equal(outcomes.healed, 0, 'a reader after the restart sees neither before recovery ran');
        assert.ok(outcomes.old > 0 && outcomes.new > 0, 'the cuts did not reach both sides of the replacement');
      }
    });
  }
}

/** Our own operation with some of its syncs left out. */
function without(skipped: (call: FsCall) => boolean): (ops: FsOps) => FsOps {
  const tap: FsTap = (call, run) =>
    call.op === 'fsync' && skipped(call) ? (Promise.resolve() as ReturnType<typeof run>) : run();
  return (ops) => tapOps(ops, tap);
}

const files = (text: string): Map<string, { content: string }> =>
  new Map([
    ['a', { content: `${text} a` }],
    ['b', { content: `${text} b` }],
  ]);
const directory = (weaken: (ops: FsOps) => FsOps): Cuttable => ({
  prepare: (ops, root) => syncDir({ target: `${root}/t`, files: files('old'), ops }),
  act: (ops, root) => syncDir({ target: `${root}/t`, files: files('new'), ops: weaken(ops) }),
  path: 't',
  old: { a: 'old a', b: 'old b' },
  wanted: { a: 'new a', b: 'new b' },
});
const manifest = (act: (ops: FsOps, path: string) => Promise<unknown>): Cuttable => ({
  prepare: (ops, root) => replaceFileDurable(`${root}/m`, 'old', { ops }),
  act: (ops, root) => act(ops, `${root}/m`),
  path: 'm',
  old: 'old',
  wanted: 'new',
});
const isFile = ({ path }: FsCall): boolean => /\/[ab]$/.test(path);

interface Control {
  readonly name: string;
  readonly job: Cuttable;
  readonly others: boolean;
  readonly kinds: readonly Kind[];
  readonly red: (outcomes: Outcomes) => boolean;
}

const emptied = ({ corrupt }: Outcomes): boolean => corrupt.some((found) => found.includes('""'));
const lost = (outcomes: Outcomes): boolean => outcomes.lost > 0;

const controls: readonly Control[] = [
  { name: 'no sync at all, others sync', job: directory(without(() => true)), others: true, kinds, red: emptied },
  { name: 'directories synced, files not', job: directory(without(isFile)), others: false, kinds, red: emptied },
  {
    name: 'files synced, directories not',
    job: directory(without((call) => !isFile(call))),
    others: false,
    kinds,
    red: lost,
  },
  {
    name: 'parents not synced',
    job: directory(without(({ path }) => path.endsWith('/r'))),
    others: false,
    kinds,
    red: lost,
  },
  {
    name: 'DU-W1 manifest deleted, then written',
    job: manifest(async (ops, path) => {
      await ops.unlink(path);
      const file = await ops.open(path, 'new', 0o600);
      await ops.write(file, Buffer.from('new'), 0);
      await ops.fsync(file);
      await ops.close(file);
    }),
    others: true,
    kinds,
    red: (outcomes) => emptied(outcomes) && outcomes.corrupt.includes('missing'),
  },
  {
    name: 'manifest renamed over without a sync',
    job: manifest((ops, path) =>
      replaceFileDurable(path, 'new', { ops: without(({ path: at }) => at.includes('.m.'))(ops) }),
    ),
    others: true,
    // ext4 writes the data out on such a rename by itself.
    kinds: ['xfs'],
    red: emptied,
  },
];

for (const { name, job, others, kinds: where, red } of controls)
  for (const kind of where)
    test(`power cut, ${kind}, negative control: ${name} comes out red`, {
      skip: skips.get(kind) ?? false,
    }, async (t) => {
      const outcomes = await cutEverywhere(kind, job, others);
      t.diagnostic(`${row(kind, others, outcomes)} ${outcomes.corrupt.join(' ')}`);
      assert.ok(red(outcomes), JSON.stringify(outcomes));
    });
