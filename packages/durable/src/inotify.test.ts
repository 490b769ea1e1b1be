import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import koffi from 'koffi';
import { replaceFileDurable } from './file.ts';
import { nodeOps } from './node-ops.ts';
import { syncDir } from './sync-dir.ts';
import { scratch } from './testing/scratch.ts';

// Whoever watches a directory (kubelet: static pods) must last hear that the name was created, not that it went.

const skip = process.platform === 'linux' ? false : 'inotify needs Linux';
const IN_NONBLOCK = 0x800;
const EVENTS: Readonly<Record<number, string>> = {
  2: 'MODIFY',
  64: 'MOVED_FROM',
  128: 'MOVED_TO',
  256: 'CREATE',
  512: 'DELETE',
};
const WATCHED = 0x2 | 0x40 | 0x80 | 0x100 | 0x200;

/** The events of one name of a directory while `action` runs. */
async function eventsOf(dir: string, name: string, action: () => Promise<unknown>): Promise<readonly string[]> {
  const libc = koffi.load(null);
  const fd = Number(libc.func('inotify_init1', 'int', ['int'])(IN_NONBLOCK));
  try {
    libc.func('inotify_add_watch', 'int', ['int', 'str', 'uint32_t'])(fd, dir, WATCHED);
    await action();
    const buffer = Buffer.alloc(1 << 16);
    const events: string[] = [];
    const end = fs.readSync(fd, buffer);
    for (let at = 0; at < end; at += 16 + buffer.readUInt32LE(at + 12)) {
      const length = buffer.readUInt32LE(at + 12);
      const [found = ''] = buffer.toString('utf8', at + 16, at + 16 + length).split('\0');
      if (found === name) events.push(EVENTS[buffer.readUInt32LE(at + 4) & WATCHED] ?? 'other');
    }
    return events;
  } finally {
    fs.closeSync(fd);
  }
}

const files = (content: string): Map<string, { content: string }> => new Map([['a', { content }]]);

test('inotify: a replaced manifest is created and nothing else', { skip }, async () => {
  await using dir = await scratch();
  await replaceFileDurable(dir.at('pod.yaml'), 'old');
  const events = await eventsOf(dir.path, 'pod.yaml', () => replaceFileDurable(dir.at('pod.yaml'), 'new'));
  assert.deepEqual(events, ['MOVED_TO']);
});

test('inotify: the last event of a swapped directory is a create; with the staged one first it would be a delete', {
  skip,
}, async () => {
  await using dir = await scratch();
  await syncDir({ target: dir.at('t'), files: files('old') });
  const events = await eventsOf(dir.path, 't', () => syncDir({ target: dir.at('t'), files: files('new') }));
  assert.equal(events.at(-1), 'MOVED_TO');
  const backwards = { ...nodeOps, exchange: (target: string, staged: string) => nodeOps.exchange(staged, target) };
  const control = await eventsOf(dir.path, 't', () =>
    syncDir({ target: dir.at('t'), files: files('newer'), ops: backwards }),
  );
  assert.equal(control.at(-1), 'MOVED_FROM');
});
