import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { configLayer } from './template/config-file.ts';
import { MAX_PLAN, readPlan } from './template/plan-file.ts';
import { openPointer, parsePointer } from './template/pointer.ts';

test('SAFE-1 a plan, a config file and a pointer file that are too large, or have no end, are refused by name', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drydock-small-'));
  try {
    const large = join(folder, 'large.json');
    await writeFile(large, ' '.repeat(MAX_PLAN + 1));
    await assert.rejects(readPlan(large), /the plan \S+large\.json cannot be used: it has more than 2097152 bytes/);
    await assert.rejects(readPlan('/dev/zero'), /\/dev\/zero cannot be used: it has more than/);
    await assert.rejects(configLayer(large, large), /the config file \S+ cannot be read: it has more than 65536 bytes/);
    await assert.rejects(openPointer(large, 'v'), /the pointer file \S+ cannot be used: it has more than 65536 bytes/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('SAFE-1 a pointer file that names a character that there is not is refused as no pointer file', () => {
  assert.throws(
    () => parsePointer('tfvars', 'v = "\\Uffffffff"', 'v', 'a.tfvars'),
    /a\.tfvars exists and is no pointer file/,
  );
  assert.equal(parsePointer('tfvars', 'v = "\\U0001f4a5"', 'v', 'a.tfvars'), '💥');
});

test('SAFE-9 a config file’s line that has lost its colon is not shown with the password in it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drydock-small-'));
  const path = join(folder, 'template.yaml');
  try {
    await writeFile(path, '{"url https://a:hunter2@b": 1, "colour": 2}');
    await assert.rejects(
      configLayer(path, path),
      (error: Error) => /unknown keys \(no word\), colour;/.test(error.message) && !error.message.includes('hunter2'),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
