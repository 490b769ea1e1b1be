import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { recordProcess, scratchFolder } from '@drydock/sandbox';

const program = join(import.meta.dirname, '../../apps/drydock/bin/drydock.js');

test('the demo updates a boot image, survives a SIGKILL half-way, and leaves no file behind', async () => {
  using scratch = scratchFolder();
  const temp = join(scratch.path, 'temp');
  await mkdir(temp);
  const child = spawn(process.execPath, [program, 'demo', '--size', '8', '--rate', '16', '--no-stay'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temp },
  });
  recordProcess(scratch.path, 'demo', child.pid ?? 0);
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  assert.equal(code, 0, `${out}\n${errors}`);
  assert.match(out, /SIGKILL to process \d+/);
  assert.match(out, /ms\/worker-owned\s+Skipped/);
  const newest = out.slice(out.lastIndexOf("vCenter's own inventory"));
  for (const domain of ['fd1', 'fd2']) {
    const found = newest.match(new RegExp(`harbour-7k2xp-rhcos-${domain}-9\\.8\\.20261019-0-[0-9a-f]{8} `, 'g'));
    assert.equal(found?.length, 1, `one template of the newest release in ${domain}:\n${newest}`);
  }
  assert.deepEqual(await readdir(temp), []);
});
