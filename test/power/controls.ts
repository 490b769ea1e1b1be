import {
  commitTree,
  type FsCall,
  type FsOps,
  type FsTap,
  replaceFileDurable,
  replaceSymlinkDurable,
  syncDir,
  tapOps,
} from '@drydock/durable';
import type { Content } from '@drydock/durable/testing';
import type { Cuttable, Outcomes } from './crash-points.ts';
import { type Kind, kinds } from './power-rig.ts';

/** Something that is known to lose or tear: where it does not come out so, the rig cannot be trusted. */
export interface Control {
  readonly name: string;
  readonly job: Cuttable;
  readonly others: boolean;
  /** File systems on which it must come out red. */
  readonly kinds: readonly Kind[];
  readonly red: (outcomes: Outcomes) => boolean;
}

/** Our own operation with some of its syncs left out. */
function without(skipped: (call: FsCall) => boolean): (ops: FsOps) => FsOps {
  const tap: FsTap = (call, run) =>
    call.op === 'fsync' && skipped(call) ? (Promise.resolve() as ReturnType<typeof run>) : run();
  return (ops) => tapOps(ops, tap);
}

const nothing = async (): Promise<void> => undefined;
const files = (text: string): Map<string, { content: string }> =>
  new Map([
    ['a', { content: `${text} a` }],
    ['b', { content: `${text} b` }],
  ]);
const pair = (text: string): Content => ({ a: `${text} a`, b: `${text} b` });

const directory = (act: (ops: FsOps, root: string) => Promise<unknown>, wanted?: Content): Cuttable => ({
  prepare: (ops, root) => syncDir({ target: `${root}/t`, files: files('old'), ops }),
  act,
  watched: [{ name: 't', path: 't', old: pair('old'), wanted }],
});
const swapped = (weaken: (ops: FsOps) => FsOps): Cuttable =>
  directory((ops, root) => syncDir({ target: `${root}/t`, files: files('new'), ops: weaken(ops) }), pair('new'));
const manifest = (act: (ops: FsOps, path: string) => Promise<unknown>): Cuttable => ({
  prepare: (ops, root) => replaceFileDurable(`${root}/m`, 'old', { ops }),
  act: (ops, root) => act(ops, `${root}/m`),
  watched: [{ name: 'm', path: 'm', old: 'old', wanted: 'new' }],
});

async function write(ops: FsOps, path: string, synced: boolean): Promise<void> {
  const file = await ops.open(path, 'truncate', 0o600);
  await ops.write(file, Buffer.from('new'), 0);
  if (synced) await ops.fsync(file);
  await ops.close(file);
}

const isFile = ({ path }: FsCall): boolean => /\/[ab]$/.test(path);
const isStaged = ({ path }: FsCall): boolean => path.includes('/.m.');
const isParent = ({ path }: FsCall): boolean => path.endsWith('/r');

const emptied = ({ corrupt }: Outcomes): boolean => corrupt.some((found) => found.includes('""'));
const missing = ({ corrupt }: Outcomes): boolean => corrupt.includes('missing');
const lost = (outcomes: Outcomes): boolean => outcomes.lost > 0;

const others = true;
const quiet = false;

/** What others do, and what ours would do with a sync less. */
export const controls: readonly Control[] = [
  { name: 'exchange, no sync at all', job: swapped(without(() => true)), others, kinds, red: emptied },
  { name: 'exchange, no sync at all', job: swapped(without(() => true)), others: quiet, kinds, red: lost },
  {
    name: 'exchange, directories synced, files not',
    job: swapped(without(isFile)),
    others: quiet,
    kinds,
    red: emptied,
  },
  {
    name: 'exchange, files synced, directories not',
    job: swapped(without((call) => !isFile(call))),
    others: quiet,
    kinds,
    red: lost,
  },
  { name: 'exchange, parents not synced', job: swapped(without(isParent)), others: quiet, kinds, red: lost },
  {
    name: 'whole tree, files not synced',
    job: {
      prepare: nothing,
      act: (ops, root) => commitTree({ dir: `${root}/t`, files: files('new'), ops: without(isFile)(ops) }),
      watched: [{ name: 't', path: 't', old: undefined, wanted: pair('new') }],
    },
    others,
    kinds,
    red: emptied,
  },
  {
    name: 'DU-W1 manifest deleted, then written and synced',
    job: manifest(async (ops, path) => {
      await ops.unlink(path);
      await write(ops, path, true);
    }),
    others,
    kinds,
    red: (outcomes) => emptied(outcomes) && missing(outcomes),
  },
  {
    name: 'DU-W2 manifest deleted, then written without a sync',
    job: manifest(async (ops, path) => {
      await ops.unlink(path);
      await write(ops, path, false);
    }),
    others,
    kinds,
    // To the end: what is acknowledged is empty.
    red: (outcomes) => missing(outcomes) && outcomes.corrupt.at(-1) === '""',
  },
  {
    name: 'DU-W4 manifest rewritten in place',
    job: manifest((ops, path) => write(ops, path, true)),
    others,
    kinds,
    red: emptied,
  },
  {
    name: 'manifest renamed over, nothing synced',
    job: manifest((ops, path) => replaceFileDurable(path, 'new', { ops: without(() => true)(ops) })),
    others: quiet,
    kinds,
    red: lost,
  },
  {
    name: 'manifest renamed over, content not synced',
    job: manifest((ops, path) => replaceFileDurable(path, 'new', { ops: without(isStaged)(ops) })),
    others,
    // ext4 writes the data out on such a rename by itself.
    kinds: ['xfs'],
    red: emptied,
  },
  {
    name: 'DU-W5 link removed, then made',
    job: {
      prepare: (ops, root) => replaceSymlinkDurable(`${root}/l`, 'one', { ops }),
      act: async (ops, root) => {
        await ops.unlink(`${root}/l`);
        await ops.symlink('two', `${root}/l`);
      },
      watched: [{ name: 'l', path: 'l', old: '-> one', wanted: '-> two' }],
    },
    others,
    kinds,
    red: missing,
  },
  {
    name: 'DU-W6 directory removed file by file',
    job: directory(async (ops, root) => {
      for (const name of ['a', 'b']) await ops.unlink(`${root}/t/${name}`);
      await ops.rmdir(`${root}/t`);
    }),
    others,
    kinds,
    red: ({ corrupt }) => corrupt.includes('{"b":"old b"}'),
  },
];
