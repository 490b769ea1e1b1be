import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { assertClean, expectExit, startTemplateCli, type TemplateCli } from './support/template-cli.ts';

let cli: TemplateCli;
let ova: string;
before(async () => {
  cli = await startTemplateCli();
  ova = await cli.ova('9.6.1');
});
after(() => cli?.[Symbol.asyncDispose]());
beforeEach(() => cli.switchboard.clearRules());

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} in mid-upload: the import is aborted, nothing is left, the session is ended`, async () => {
    const hold = await cli.switchboard.rule({ on: 'upload', do: 'hold', afterBytes: 4096 });
    const args = ['publish', ova, '--name', 'signalled'];
    const running = cli.start(args);
    await hold.held(1, { timeoutMs: 60_000 });
    assert.equal((await cli.names()).length, 1, 'the half-made machine is there');
    running.process.kill(signal);
    const ran = expectExit(await running.ended, code);
    assert.match(ran.stderr, /Interrupted: .*\nnext: drydock template publish .* --name signalled\n$/);
    assert.equal(ran.stdout, '');
    assert.deepEqual(await cli.names(), []);
    await assertClean(cli.switchboard, ran, cli.secrets, args);
  });
}

test('what a killed run left is recognised as dead by the next one, which finishes at once', async () => {
  const hold = await cli.switchboard.rule({ on: 'upload', do: 'hold', afterBytes: 4096, times: 1 });
  const running = cli.start(['publish', ova, '--name', 'killed']);
  await hold.held(1, { timeoutMs: 60_000 });
  running.process.kill('SIGKILL');
  const ran = await running.ended;
  await hold.remove();
  // The negative control of the rig: nobody logged the dead one out, and a secret would be seen.
  await assert.rejects(assertClean(cli.switchboard, ran, cli.secrets, ['killed']), /sessions are left after killed/);
  await cli.switchboard.killSessions();
  await assert.rejects(
    assertClean(cli.switchboard, { ...ran, stderr: cli.secrets[0] ?? '' }, cli.secrets, ['x']),
    /a secret was said by x/,
  );
  assert.match(expectExit(await cli.run(['list']), 0).stdout, /killed-9\.6\.1-[0-9a-f]{8} +unfinished/);
  const name = expectExit(await cli.run(['publish', ova, '--name', 'killed']), 0).stdout.trim();
  assert.deepEqual(await cli.names(), [name]);
  assert.equal((await cli.vm(name)).isTemplate, true);
});
