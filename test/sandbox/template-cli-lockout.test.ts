import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTemplateCli } from './support/template-cli.ts';

test('FIND-1: commands with ever new wrong passwords are refused three times, and a fourth with --login-now; the vCenter never locks the account', async () => {
  await using cli = await startTemplateCli();
  await cli.switchboard.lockAccounts();
  const refused = async (): Promise<number> => (await cli.switchboard.sessions()).refused;
  const list = async (password: string, ...flags: readonly string[]) =>
    cli.run(['list', ...flags], { GOVC_PASSWORD: password });
  for (const [at, guess] of ['first', 'second', 'third'].entries()) {
    const { code, stderr } = await list(guess);
    assert.deepEqual([code, await refused()], [1, at + 1], stderr);
  }
  const limited = await list('fourth');
  assert.deepEqual([limited.code, await refused()], [3, 3], limited.stderr);
  assert.match(limited.stderr, / 3 logins .*; the next attempt is possible at [\s\S]*next: /);
  const risked = await list('fifth', '--login-now');
  assert.deepEqual([risked.code, await refused()], [1, 4], risked.stderr);
  for (const guess of ['sixth', cli.env['GOVC_PASSWORD'] ?? '']) {
    const { code, stderr } = await list(guess, '--login-now');
    assert.deepEqual([code, await refused()], [3, 4], stderr);
  }
  assert.deepEqual((await cli.switchboard.sessions()).locked, []);
  // A machine that shares no notes is let in.
  const elsewhere = await cli.run(['list'], { HOME: join(cli.files, 'elsewhere') });
  assert.equal(elsewhere.code, 0, elsewhere.stderr);
});
