import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { replaceFileDurable } from './file.ts';
import { syncDir } from './sync-dir.ts';

const soak = process.env['DRYDOCK_SOAK'] !== undefined;

/** Reads without rest until told to stop, and counts what it saw. A pair is read through one open directory, as a careful consumer does. */
const READER = `
const { parentPort, workerData } = require('node:worker_threads');
const fs = require('node:fs');
const seen = { reads: 0, missing: 0, partial: 0, mixed: 0, changes: 0 };
let last = '';
const stop = new Int32Array(workerData.stop);
parentPort.postMessage('reading');
while (Atomics.load(stop, 0) === 0) {
  seen.reads += 1;
  try {
    const text = fs.readFileSync(workerData.file, 'utf8');
    if (text.length !== 1000 || text !== text[0].repeat(1000)) seen.partial += 1;
    if (text !== last) seen.changes += 1;
    last = text;
    for (;;) {
      const fd = fs.openSync(workerData.dir, 'r');
      try {
        const at = '/proc/self/fd/' + fd + '/';
        if (fs.readFileSync(at + 'tls.crt', 'utf8') !== fs.readFileSync(at + 'tls.key', 'utf8')) seen.mixed += 1;
        break;
      } catch (error) {
        // The open directory was replaced and is being emptied: a reader opens it again. A file that is not in the current one counts.
        if (error.code !== 'ENOENT' || fs.fstatSync(fd).ino === fs.statSync(workerData.dir).ino) throw error;
      } finally {
        fs.closeSync(fd);
      }
    }
  } catch (error) {
    if (error.code === 'ENOENT') seen.missing += 1;
    else throw error;
  }
}
parentPort.postMessage(seen);
`;

interface Seen {
  readonly reads: number;
  readonly missing: number;
  readonly partial: number;
  readonly mixed: number;
  readonly changes: number;
}

/** Watches a file and a pair of files while `replace` goes on. */
async function watched(replace: (file: string, dir: string) => Promise<void>): Promise<Seen> {
  const root = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'durable-'));
  const [file, dir] = [join(root, 'pod.yaml'), join(root, 'tls')];
  const stop = new SharedArrayBuffer(4);
  try {
    await replaceFileDurable(file, 'a'.repeat(1000));
    await syncDir({ target: dir, files: pair('a') });
    const worker = new Worker(READER, { eval: true, workerData: { file, dir, stop } });
    await once(worker, 'message');
    try {
      await replace(file, dir);
    } finally {
      Atomics.store(new Int32Array(stop), 0, 1);
    }
    const [seen] = (await once(worker, 'message')) as [Seen];
    return seen;
  } finally {
    await rm(root, { recursive: true });
  }
}

const pair = (text: string): Map<string, { content: string }> =>
  new Map([
    ['tls.crt', { content: text }],
    ['tls.key', { content: text }],
  ]);
const letter = (round: number): string => String.fromCharCode(97 + (round % 26));

test('a reader without rest sees neither a gap nor a part nor a mixed pair while manifests and certificates are replaced', async (t) => {
  const rounds = soak ? 10_000 : 1_500;
  const seen = await watched(async (file, dir) => {
    for (let round = 0; round < rounds; round += 1) {
      await replaceFileDurable(file, letter(round).repeat(1000));
      await syncDir({ target: dir, files: pair(String(round)) });
    }
  });
  t.diagnostic(JSON.stringify(seen));
  assert.deepEqual([seen.missing, seen.partial, seen.mixed], [0, 0, 0]);
  assert.ok(seen.changes > 20, `only ${seen.changes} changes were seen`);
});

test('negative control: the same reader sees the gap of a manifest that is deleted and written', async () => {
  const { unlinkSync, writeFileSync } = await import('node:fs');
  const seen = await watched(async (file) => {
    for (let round = 0; round < 3_000; round += 1) {
      unlinkSync(file);
      writeFileSync(file, letter(round).repeat(1000));
      await new Promise(setImmediate);
    }
  });
  assert.ok(seen.missing + seen.partial > 0, JSON.stringify(seen));
});
