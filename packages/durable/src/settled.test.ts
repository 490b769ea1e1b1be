import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { commitTree } from './commit-tree.ts';
import { DurableError } from './errors.ts';
import { replaceFileDurable } from './file.ts';
import { nodeOps } from './node-ops.ts';
import { type FsOps, type FsTap, tapOps } from './ops.ts';
import { syncDir } from './sync-dir.ts';
import { disk } from './testing/crash-scenario.ts';
import { memoryFs } from './testing/memory-fs.ts';
import { protocols } from './testing/protocols.ts';
import { scratch } from './testing/scratch.ts';

for (const protocol of protocols('/r', 1))
  test(`SAFE-13 ${protocol.name}: a file system that only tells after the last sync that it is down is believed`, async () => {
    const image = await disk(protocol);
    const { exchange } = protocol;
    let syncs = 0;
    const count: FsTap = (call, run) => {
      if (call.op === 'fsync' || call.op === 'syncfs') syncs += 1;
      return run();
    };
    await protocol.act(tapOps(memoryFs({ image, exchange }), count));
    const last = syncs;
    syncs = 0;
    const down: FsTap = (call, run) => {
      if (syncs < last || call.op === 'close') return count(call, run);
      return Promise.reject(Object.assign(new Error(`EIO: ${call.op} ${call.path}`), { code: 'EIO' }));
    };
    await assert.rejects(protocol.act(tapOps(memoryFs({ image, exchange }), down)), (error) => {
      assert.ok(error instanceof DurableError, String(error));
      assert.deepEqual([error.code, error.visible, error.errno], ['DIRECTORY_SYNC_FAILED', 'new', 'EIO']);
      return true;
    });
  });

const mode = 0o600;

/** A clock that stands still: two contents have one time of change. */
const still: FsOps = {
  ...nodeOps,
  lstat: async (path) => {
    const stat = await nodeOps.lstat(path);
    return stat === undefined ? undefined : { ...stat, changedNs: 0n };
  },
  volatile: async () => false,
};

for (const [clock, ops] of [
  ['', { ...nodeOps, volatile: async () => false }],
  [', and the clock stands still', still],
] as const)
  test(`SAFE-13 what somebody else rewrote in place is not known to be durable${clock}`, async () => {
    await using dir = await scratch();
    const files = (content: string) => new Map([['a', { content, mode }]]);
    const acts: Readonly<Record<string, (text: string) => Promise<{ changed: boolean; fsyncs: number }>>> = {
      'dir/a': (text) => syncDir({ target: dir.at('dir'), files: files(text), ops }),
      'tree/a': (text) => commitTree({ dir: dir.at('tree'), files: files(text), ops }),
      file: (text) => replaceFileDurable(dir.at('file'), text, { mode, unlessEqual: true, ops }),
    };
    for (const [path, act] of Object.entries(acts)) {
      await act('first');
      assert.deepEqual(await act('first').then(({ changed, fsyncs }) => [changed, fsyncs]), [false, 0], path);
      await writeFile(dir.at(path), 'other', { flag: 'r+' });
      const { changed, fsyncs } = await act('other');
      assert.equal(changed, false);
      assert.ok(fsyncs > 0, `${path}: called durable without a sync`);
      assert.equal((await act('other')).fsyncs, 0, path);
    }
  });
