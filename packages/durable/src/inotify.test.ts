import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { replaceFileDurable } from './file.ts';
import { nodeOps } from './node-ops.ts';
import { syncDir } from './sync-dir.ts';
import { watchNames } from './testing/inotify.ts';

// Whoever watches a directory (kubelet: static pods) must last hear that the name was created, not that it went.

const skip = process.platform === 'linux' ? false : 'inotify needs Linux';
const ROUNDS = 10_000;

async function scratch() {
  const path = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'inotify-'));
  return { path, at: (name: string) => join(path, name), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

const files = (content: string): Map<string, { content: string }> => new Map([['a', { content }]]);

test(`inotify: ${ROUNDS} replacements of a manifest are ${ROUNDS} creates of its name and nothing else; other names begin with a dot`, {
  skip,
}, async () => {
  await using dir = await scratch();
  await replaceFileDurable(dir.at('pod.yaml'), 'old');
  using watch = watchNames(dir.path);
  const heard: Record<string, number> = {};
  let others = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await replaceFileDurable(dir.at('pod.yaml'), `round ${round}`);
    for (const [name, events] of watch.read())
      for (const event of events)
        if (name === 'pod.yaml') heard[event] = (heard[event] ?? 0) + 1;
        else {
          assert.ok(name.startsWith('.'), `${event} of ${name}, which kubelet would read`);
          others += 1;
        }
  }
  assert.deepEqual(heard, { MOVED_TO: ROUNDS });
  // Each is made, written and moved away.
  assert.equal(others, 3 * ROUNDS);
});

test(`inotify: ${ROUNDS} swaps of a directory: the last event of each is a create; with the staged one first it would be a delete`, {
  skip,
}, async () => {
  await using dir = await scratch();
  await syncDir({ target: dir.at('t'), files: files('old') });
  using watch = watchNames(dir.path);
  const last: Record<string, number> = {};
  const swap = async (content: string, ops: typeof nodeOps): Promise<void> => {
    await syncDir({ target: dir.at('t'), files: files(content), ops });
    const event = watch.read().get('t')?.at(-1) ?? 'none';
    last[event] = (last[event] ?? 0) + 1;
  };
  for (let round = 0; round < ROUNDS; round += 1) await swap(`round ${round}`, nodeOps);
  assert.deepEqual(last, { MOVED_TO: ROUNDS });
  const exchange = (target: string, staged: string): Promise<void> => nodeOps.exchange(staged, target);
  await swap('backwards', { ...nodeOps, exchange });
  assert.deepEqual(last, { MOVED_TO: ROUNDS, MOVED_FROM: 1 });
});
