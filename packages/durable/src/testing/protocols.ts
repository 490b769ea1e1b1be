import { join } from 'node:path';
import { commitTree } from '../commit-tree.ts';
import { replaceFileDurable, replaceSymlinkDurable } from '../file.ts';
import type { FsOps } from '../ops.ts';
import { makeDirectoryDurable } from '../parents.ts';
import { removeTreeDurable } from '../remove-tree.ts';
import { syncDir } from '../sync-dir.ts';
import type { FileSpec } from '../tree.ts';
import type { Content } from './explore-crashes.ts';

/** One operation of this package on a small example, for rigs that cut it. */
export interface Protocol {
  readonly name: string;
  /** Makes what is there before, below the root. */
  prepare(ops: FsOps): Promise<unknown>;
  act(ops: FsOps): Promise<unknown>;
  /** What readers look at. */
  readonly path: string;
  readonly old: Content | undefined;
  readonly wanted: Content | undefined;
  /** False: to be tried without exchange of directories. */
  readonly exchange: boolean;
}

const OLD = { a: 'a1', b: 'b1' };

const files = (content: Readonly<Record<string, string>>): Map<string, FileSpec> =>
  new Map(Object.entries(content).map(([name, text]) => [name, { content: text, mode: 0o600 }]));

/** Every operation, with its variants, on paths below `root`, which exists; with two new files, or with one where the rig multiplies its work by each. */
export function protocols(root: string, count: 1 | 2 = 2): readonly Protocol[] {
  const fresh: Readonly<Record<string, string>> = count === 1 ? { a: 'a2' } : { a: 'a2', c: 'c2' };
  const revision: Readonly<Record<string, string>> = count === 1 ? { 'x/a': 'a1' } : { 'x/a': 'a1', p: 'p1' };
  const at = (path: string): string => join(root, path);
  const nothing = async (): Promise<void> => undefined;
  const existing = async (ops: FsOps): Promise<void> => {
    await syncDir({ target: at('s/t'), files: files(OLD), ops });
    await ops.mkdir(at('staging'), 0o755);
  };
  const file = (ops: FsOps): Promise<unknown> => replaceFileDurable(at('m'), 'old', { ops });
  const link = (ops: FsOps): Promise<unknown> => replaceSymlinkDurable(at('l'), 'one', { ops });
  return [
    {
      name: 'syncDir beside an existing target',
      prepare: existing,
      act: (ops) => syncDir({ target: at('s/t'), files: files(fresh), ops }),
      path: at('s/t'),
      old: OLD,
      wanted: fresh,
      exchange: true,
    },
    {
      name: 'syncDir staged elsewhere',
      prepare: existing,
      act: (ops) => syncDir({ target: at('s/t'), staging: at('staging'), files: files(fresh), ops }),
      path: at('s/t'),
      old: OLD,
      wanted: fresh,
      exchange: true,
    },
    {
      name: 'syncDir with syncfs',
      prepare: existing,
      act: (ops) => syncDir({ target: at('s/t'), strategy: 'syncfs', files: files(fresh), ops }),
      path: at('s/t'),
      old: OLD,
      wanted: fresh,
      exchange: true,
    },
    {
      name: 'syncDir, first install with missing ancestors',
      prepare: nothing,
      act: (ops) => syncDir({ target: at('s/t'), staging: at('staging'), files: files({ a: 'a2' }), ops }),
      path: at('s/t'),
      old: undefined,
      wanted: { a: 'a2' },
      exchange: true,
    },
    {
      name: 'syncDir to an empty directory',
      prepare: existing,
      act: (ops) => syncDir({ target: at('s/t'), files: new Map(), ops }),
      path: at('s/t'),
      old: OLD,
      wanted: {},
      exchange: true,
    },
    {
      name: 'syncDir without exchange',
      prepare: existing,
      act: (ops) => syncDir({ target: at('s/t'), exchange: 'auto', files: files({ a: 'a2' }), ops }),
      path: at('s/t'),
      old: OLD,
      wanted: { a: 'a2' },
      exchange: false,
    },
    {
      name: 'syncDir without exchange, staged elsewhere',
      prepare: existing,
      act: (ops) =>
        syncDir({ target: at('s/t'), staging: at('staging'), exchange: 'auto', files: files({ a: 'a2' }), ops }),
      path: at('s/t'),
      old: OLD,
      wanted: { a: 'a2' },
      exchange: false,
    },
    {
      name: 'commitTree',
      prepare: nothing,
      act: (ops) => commitTree({ dir: at('rev-1'), files: files(revision), ops }),
      path: at('rev-1'),
      old: undefined,
      wanted: count === 1 ? { x: { a: 'a1' } } : { p: 'p1', x: { a: 'a1' } },
      exchange: true,
    },
    {
      name: 'makeDirectoryDurable with missing ancestors',
      prepare: nothing,
      act: (ops) => makeDirectoryDurable(at('x/y'), { ops }),
      path: at('x/y'),
      old: undefined,
      wanted: {},
      exchange: true,
    },
    {
      name: 'replaceFileDurable',
      prepare: file,
      act: (ops) => replaceFileDurable(at('m'), 'new', { ops }),
      path: at('m'),
      old: 'old',
      wanted: 'new',
      exchange: true,
    },
    {
      name: 'replaceSymlinkDurable',
      prepare: link,
      act: (ops) => replaceSymlinkDurable(at('l'), 'two', { ops }),
      path: at('l'),
      old: '-> one',
      wanted: '-> two',
      exchange: true,
    },
    {
      name: 'removeTreeDurable',
      prepare: existing,
      act: (ops) => removeTreeDurable(at('s/t'), at('s'), { ops }),
      path: at('s/t'),
      old: OLD,
      wanted: undefined,
      exchange: true,
    },
    {
      name: 'removeTreeDurable into a trash that must be made',
      prepare: existing,
      act: (ops) => removeTreeDurable(at('s/t'), at('trash'), { ops }),
      path: at('s/t'),
      old: OLD,
      wanted: undefined,
      exchange: true,
    },
  ];
}
