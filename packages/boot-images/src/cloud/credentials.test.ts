import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectedToken } from './credentials.ts';

test('a token is read where the kubelet projects it, through its links, and nowhere else', async () => {
  const base = await mkdtemp(join(tmpdir(), 'drydock-token-'));
  try {
    const root = join(base, 'secrets');
    await mkdir(join(root, 'cloud', '..2026'), { recursive: true });
    await writeFile(join(root, 'cloud', '..2026', 'token'), 'the token\n');
    await symlink('..2026', join(root, 'cloud', '..data'));
    await symlink('..data/token', join(root, 'cloud', 'token'));
    await writeFile(join(base, 'elsewhere'), 'hunter2');
    await symlink(join(base, 'elsewhere'), join(root, 'cloud', 'out'));
    await writeFile(join(root, 'cloud', 'empty'), '');
    await writeFile(join(root, 'cloud', 'large'), 'x'.repeat(70_000));
    assert.equal(await projectedToken(join(root, 'cloud', 'token'), [root]), 'the token');
    for (const [file, why] of [
      [join(base, 'elsewhere'), /not below/],
      [join(root, '..', 'elsewhere'), /not below/],
      [`${root}/../elsewhere`, /leads out of/],
      ['cloud/token', /not below/],
      [join(root, 'cloud', 'out'), /leads out of/],
      [join(root, 'cloud', 'none'), /no token is projected/],
      [join(root, 'cloud', 'empty'), /holds no token/],
      [join(root, 'cloud', 'large'), /holds no token/],
    ] as const)
      await assert.rejects(projectedToken(file, [root]), (error: Error) => {
        assert.doesNotMatch(error.message, /hunter/);
        return why.test(error.message);
      });
  } finally {
    await rm(base, { recursive: true });
  }
});
