import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual, promisify } from 'node:util';
import { DurableError, type FsOps, type FsTap, nodeOps, syncDir, tapOps } from '@drydock/durable';
import { protocols } from '@drydock/durable/testing';
import { soaking } from '@drydock/model';
import { contentAt, noting } from './crash-points.ts';
import { cannotRun, type Disk, type Kind, kinds, type PowerRig, powerRig } from './power-rig.ts';

// The file system goes down under a process that lives on: whoever was told that it is durable must find it after the restart.

/** One run of an operation during which the file system went down before a sync, or right after it. */
interface Told {
  readonly error: unknown;
  readonly kept: boolean;
}

async function goDown(
  rig: PowerRig,
  act: (ops: FsOps, root: string) => Promise<unknown>,
  kept: (root: string) => boolean,
  sync: number,
  late: boolean,
): Promise<Told | undefined> {
  using disk: Disk = rig.boot();
  const open = new Set<number>();
  let seen = -1;
  let down = false;
  const machine = noting(open, () => false);
  const tap: FsTap = async (call, run) => {
    const here = call.op === 'fsync' && ++seen === sync;
    if (here && !late) disk.shutdown();
    if (here) down = true;
    const result = await run();
    if (here && late) disk.shutdown();
    return result;
  };
  const error: unknown = await act(tapOps(machine, tap), join(disk.root, 'r')).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!down) return undefined;
  disk.restart(open);
  return { error, kept: kept(join(disk.root, 'r')) };
}

for (const kind of kinds) {
  const skip = cannotRun(kind);
  for (const [index, { name, path, wanted, exchange }] of protocols('/', 1).entries()) {
    if (!exchange) continue;
    test(`SAFE-13 ${kind} goes down at a sync, ${name}: nobody is told that it is durable who then finds something else`, {
      skip,
    }, async (t) => {
      using rig = await rigFor(kind, (root) => protocols(root, 1)[index]?.prepare({ ...nodeOps }));
      const found = { acknowledged: 0, failed: 0 };
      for (const late of soaking ? [false, true] : [false])
        for (let sync = 0; ; sync += 1) {
          const told = await goDown(
            rig,
            (ops, root) => protocols(root, 1)[index]?.act(ops) ?? Promise.reject(new Error('none')),
            (root) => isDeepStrictEqual(contentAt(join(root, path)), wanted),
            sync,
            late,
          );
          if (told === undefined) break;
          if (told.error === undefined)
            assert.ok(told.kept, `sync ${sync}, ${late ? 'after' : 'before'} it: durable, then lost`);
          else assert.ok(told.error instanceof DurableError, `sync ${sync}: no DurableError`);
          found[told.error === undefined ? 'acknowledged' : 'failed'] += 1;
        }
      t.diagnostic(JSON.stringify(found));
      assert.ok(found.failed > 0, JSON.stringify(found));
    });
  }
}

async function rigFor(kind: Kind, prepare: (root: string) => Promise<unknown> | undefined): Promise<PowerRig> {
  return powerRig(kind, async (mounted) => {
    fs.mkdirSync(join(mounted, 'r'));
    await prepare(join(mounted, 'r'));
  });
}

const files = (text: string) => new Map([['a', { content: text, mode: 0o600 }]]);

test('SAFE-13 negative control: the fsync of a directory of an XFS that went down answers 0, and what was told durable by it alone is lost', {
  skip: cannotRun('xfs'),
}, async () => {
  const bare = promisify(fs.fsync);
  using rig = await rigFor('xfs', (root) => syncDir({ target: `${root}/t`, files: files('old'), ops: { ...nodeOps } }));
  using disk = rig.boot();
  const root = join(disk.root, 'r');
  const fd = fs.openSync(root, 'r');
  fs.renameSync(join(root, 't'), join(root, 'u'));
  disk.shutdown();
  await bare(fd);
  await assert.rejects(nodeOps.fsync({ path: root, fd }), { code: 'EIO' });
  disk.restart([fd]);
  assert.deepEqual(fs.readdirSync(root), ['t']);
});

for (const kind of kinds)
  test(`SAFE-13 power cut, ${kind}: what somebody else wrote in place is synced before it is called durable`, {
    skip: cannotRun(kind),
  }, async () => {
    using rig = await rigFor(kind, async () => undefined);
    using disk = rig.boot();
    const root = join(disk.root, 'r');
    const ops = { ...nodeOps };
    await syncDir({ target: `${root}/t`, files: files('first'), ops });
    fs.writeFileSync(`${root}/t/a`, 'other', { flag: 'r+' });
    const { changed, durable } = await syncDir({ target: `${root}/t`, files: files('other'), ops });
    assert.deepEqual([changed, durable], [false, true]);
    disk.shutdown();
    disk.restart([]);
    assert.equal(fs.readFileSync(`${root}/t/a`, 'utf8'), 'other');
  });
