import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DurableError, replaceFileDurable, syncDir } from '@drydock/durable';
import { cannotRun, powerRig } from './power-rig.ts';

// A disk that is really full, at 16 MiB into about 5.

for (const kind of ['ext4', 'xfs'] as const) {
  test(`disk full, ${kind}: an error with its place, the old content intact, nothing left over`, {
    skip: cannotRun(kind),
  }, async () => {
    using rig = await powerRig(kind, async (root) => {
      await replaceFileDurable(join(root, 'file'), 'old');
      await syncDir({ target: join(root, 'dir'), files: new Map([['a', { content: 'old' }]]) });
    });
    using disk = rig.boot();
    const { bavail, bsize } = fs.statfsSync(disk.root);
    fs.writeFileSync(join(disk.root, 'ballast'), Buffer.alloc(bavail * bsize - (5 << 20), 'x'), { flush: true });
    const before = fs.readdirSync(disk.root).sort();
    const big = Buffer.alloc(16 << 20, 'y');
    const isFull = (error: unknown): true => {
      assert.ok(error instanceof DurableError, String(error));
      assert.deepEqual([error.errno, error.visible, error.durable, error.stage], ['ENOSPC', 'old', false, 'write']);
      return true;
    };
    await assert.rejects(replaceFileDurable(join(disk.root, 'file'), big), isFull);
    const files = new Map([
      ['a', { content: 'new' }],
      ['big', { content: big }],
    ] as const);
    await assert.rejects(syncDir({ target: join(disk.root, 'dir'), files }), isFull);
    assert.equal(fs.readFileSync(join(disk.root, 'file'), 'utf8'), 'old');
    assert.equal(fs.readFileSync(join(disk.root, 'dir', 'a'), 'utf8'), 'old');
    assert.deepEqual(fs.readdirSync(disk.root).sort(), before);
  });
}
