import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** Says at the end how many threads the process had: Node makes its pool, all of it, when it is first used. */
const WATCH = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs';
  process.on('exit', () => console.log('threads', fs.readdirSync('/proc/self/task').length));
  setTimeout(() => fs.stat('/', () => undefined), 50);
`)}`;

const programs: readonly (readonly [string, string, readonly string[]])[] = [
  ['drydock-node', 'bin/drydock-node.js', []],
  ['drydock node', '../drydock/bin/drydock.js', ['node']],
];

for (const [name, file, verbs] of programs) {
  test(`${name} has 64 threads for fsync, or as many as it is told`, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'threads-'));
    try {
      const threads = async (env: Readonly<Record<string, string>>): Promise<number> => {
        const args = [join(import.meta.dirname, '..', file), ...verbs, 'doctor', '--resource-dir', dir];
        const { UV_THREADPOOL_SIZE: _, ...own } = process.env;
        const { stdout } = await promisify(execFile)(process.execPath, ['--import', WATCH, ...args], {
          env: { ...own, ...env },
          timeout: 60_000,
        });
        return Number(/^threads (\d+)$/m.exec(stdout)?.[1]);
      };
      const few = await threads({ UV_THREADPOOL_SIZE: '1' });
      assert.equal((await threads({})) - few, 63);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
}
