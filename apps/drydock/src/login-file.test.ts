import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type LoginBudget, loginBudget, VimError } from '@drydock/vsphere';
import { loginFile } from './login-file.ts';

const refusal = new VimError({ kind: 'fault', code: 'VIM_LOGIN_REFUSED', op: 'Login', message: 'InvalidLogin' });

/** One command; how often it showed its password to the vCenter, which refuses it. */
async function command(path: string, password: string, now = false): Promise<number> {
  const notes = loginFile(path);
  const logins: LoginBudget = loginBudget({ notes, now });
  let shown = 0;
  const who = { user: 'u', password, version: { origin: 'the environment', id: await notes.version(password) } };
  await assert.rejects(
    logins.attempt('vc1', who, async () => {
      shown += 1;
      throw refusal;
    }),
  );
  return shown;
}

test('SAFE-5 commands of one user show a wrong password twice, and again when a person says so; the file has nothing of it', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const path = join(scratch.path, 'cache', 'logins.json');
  const shown: number[] = [];
  for (let n = 0; n < 4; n += 1) shown.push(await command(path, 'sesame'));
  assert.deepEqual(shown, [1, 1, 0, 0]);
  assert.equal(await command(path, 'sesame', true), 1);
  assert.equal(await command(path, 'sesame'), 0);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const text = await readFile(path, 'utf8');
  assert.doesNotMatch(text, /sesame/);
  assert.match(text, /"versions": \[\s*"[0-9a-f]{4}"\s*\]/);
});

test('FIND-1: commands of one user show an account three wrong passwords within three minutes, and a fourth when a person says so', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const path = join(scratch.path, 'cache', 'logins.json');
  const shown: number[] = [];
  for (const guess of ['first', 'second', 'third', 'fourth']) shown.push(await command(path, guess));
  for (const guess of ['fifth', 'sixth']) shown.push(await command(path, guess, true));
  assert.deepEqual(shown, [1, 1, 1, 0, 1, 0]);
});

test('SAFE-5 a file that cannot be read or written stops no login', async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const path = join(scratch.path, 'logins.json');
  await writeFile(path, '[nothing');
  assert.equal(await command(path, 'sesame'), 1);
  await writeFile(join(scratch.path, 'file'), '');
  assert.equal(await command(join(scratch.path, 'file', 'logins.json'), 'sesame'), 1);
});
