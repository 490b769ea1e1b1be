import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { keysOfText } from '@drydock/templates';
import { birthConfig } from '../../packages/templates/src/mark/birth-mark.ts';
import { expectExit, folder, startTemplateCli, type TemplateCli } from './support/template-cli.ts';

let cli: TemplateCli;
before(async () => {
  cli = await startTemplateCli();
});
after(() => cli?.[Symbol.asyncDispose]());

for (const [flags, minutes] of [
  [['--wait'], 11],
  [[], 1],
] as const)
  test(`publish ${flags.join(' ') || 'alone'} waits up to ${minutes} min for an importer on another machine, and goes on when that is gone`, async () => {
    const { switchboard, env } = cli;
    const args = ['publish', await cli.ova('9.6.1', { seed: 1 }), '--name', `busy-${minutes}`];
    const name = expectExit(await cli.run(args), 0).stdout.trim();
    const made = await cli.vm(name);
    await switchboard.destroyVm(made.moref);
    // The same import, which another machine of this installation has just begun.
    const { moref } = await switchboard.createVm({ folder, name, disks: 1, productVersion: '9.6.1' });
    const { instanceUuid } = await cli.vm(name);
    const birth = JSON.parse(made.extraConfig['drydock.birth'] ?? '') as Parameters<typeof birthConfig>[0];
    const { keys } = keysOfText(env['DRYDOCK_MARK_KEY'] ?? '');
    const mark = birthConfig({ ...birth, instanceUuid, holder: 'cli/another-host/boot/1/2/3' }, keys);
    await switchboard.editVm(moref, { extraConfig: Object.fromEntries(mark) });

    const running = cli.start([...args, ...flags]);
    let said = '';
    const waiting = `Waiting up to ${minutes} min for ${name}: `;
    running.process.stderr?.on('data', (text: string) => {
      said += text;
    });
    while (!said.includes(waiting)) {
      assert.equal(running.process.exitCode, null, said);
      await delay(20);
    }
    assert.equal((await cli.vm(name)).moref, moref, 'it is left alone meanwhile');
    await switchboard.destroyVm(moref);
    const { stdout } = expectExit(await running.ended, 0);
    assert.equal((await cli.vm(stdout.trim())).isTemplate, true);
  });
