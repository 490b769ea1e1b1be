import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { repetitions, threadTests } from '@drydock/model';
import { replaceFileDurable } from './file.ts';
import { syncDir } from './sync-dir.ts';

const ROUNDS = repetitions(10_000, 100_000, 'replacements');
/** Where others want the cores, the reader may sleep: after so many replacements it is waited for, until it has looked so often. */
const [BURST, LOOKS] = [10, 6];

const test = threadTests(import.meta.url);

/** Reads without rest until told to stop, and counts what it saw. A pair is read through one open directory, as a careful consumer does. */
const READER = `
const { parentPort, workerData } = require('node:worker_threads');
const fs = require('node:fs');
const seen = { reads: 0, missing: 0, partial: 0, mixed: 0, changes: 0, cpuMs: 0 };
let last = '';
const [STOP, READS] = [0, 1];
const shared = new Int32Array(workerData.shared);
parentPort.postMessage('reading');
const before = process.threadCpuUsage();
while (Atomics.load(shared, STOP) === 0) {
  seen.reads += 2;
  Atomics.add(shared, READS, 2);
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
const { user, system } = process.threadCpuUsage(before);
seen.cpuMs = (user + system) / 1000;
parentPort.postMessage(seen);
`;

interface Seen {
  /** A manifest is one, a pair is another. */
  readonly reads: number;
  readonly missing: number;
  readonly partial: number;
  readonly mixed: number;
  readonly changes: number;
  /** What the reader's own thread worked; where others want the cores too, more time goes by. */
  readonly cpuMs: number;
}

/** Watches a file and a pair of files while `replace` goes on; `seen` resolves when the reader, which never waits, has looked again. */
async function watched(
  replace: (file: string, dir: string, seen: () => Promise<void>) => Promise<void>,
): Promise<Seen> {
  const root = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'durable-'));
  const [file, dir] = [join(root, 'pod.yaml'), join(root, 'tls')];
  const [STOP, READS] = [0, 1];
  const shared = new SharedArrayBuffer(8);
  const view = new Int32Array(shared);
  const seenAgain = async (): Promise<void> => {
    const enough = Atomics.load(view, READS) + LOOKS;
    const deadline = performance.now() + 60_000;
    while (Atomics.load(view, READS) < enough) {
      assert.ok(performance.now() < deadline, 'the reader does not read');
      await new Promise(setImmediate);
    }
  };
  try {
    await replaceFileDurable(file, 'a'.repeat(1000));
    await syncDir({ target: dir, files: pair('a') });
    const worker = new Worker(READER, { eval: true, workerData: { file, dir, shared } });
    await once(worker, 'message');
    const result = once(worker, 'message') as Promise<[Seen]>;
    try {
      await replace(file, dir, seenAgain);
    } finally {
      Atomics.store(view, STOP, 1);
    }
    const [seen] = await result;
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

test(`a reader at 10 kHz sees neither a gap nor a part nor a mixed pair while ${ROUNDS} manifests and ${ROUNDS} certificates are replaced`, async (t) => {
  const begun = performance.now();
  const seen = await watched(async (file, dir, seenAgain) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await replaceFileDurable(file, letter(round).repeat(1000));
      await syncDir({ target: dir, files: pair(String(round)) });
      if (round % BURST === 0) await seenAgain();
    }
  });
  const perSecond = Math.round((seen.reads * 1000) / (performance.now() - begun));
  t.diagnostic(`${JSON.stringify(seen)}, ${perSecond} reads a second`);
  assert.deepEqual([seen.missing, seen.partial, seen.mixed], [0, 0, 0]);
  assert.ok(seen.changes >= ROUNDS / BURST, `only ${seen.changes} changes were seen`);
  assert.ok(seen.reads / seen.cpuMs >= 10, `${seen.reads} reads in ${seen.cpuMs} ms of its thread: less than 10 kHz`);
});

test('negative control: the same reader sees the gap of a manifest that is deleted and written', async () => {
  const { unlinkSync, writeFileSync } = await import('node:fs');
  const seen = await watched(async (file, _dir, seenAgain) => {
    for (let round = 0; round < 1_000; round += 1) {
      unlinkSync(file);
      writeFileSync(file, letter(round).repeat(1000));
      await seenAgain();
    }
  });
  assert.ok(seen.missing + seen.partial > 0, JSON.stringify(seen));
});
