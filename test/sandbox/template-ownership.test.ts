import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { VmView } from '@drydock/sandbox';
import { CONTENT_KEY, OWNERSHIP } from '@drydock/templates';
import { type Environment, expectExit, folder, startTemplateCli, type TemplateCli } from './support/template-cli.ts';
import { forge } from './support/template-forger.ts';

let cli: TemplateCli;
let first: string;
let second: string;
before(async () => {
  cli = await startTemplateCli();
  yes = expectExit(await cli.run(['gc', '--help']), 0).stdout.includes('--yes') ? ['--yes'] : [];
  [first, second] = await Promise.all([cli.ova('9.6.1', { seed: 1 }), cli.ova('9.6.2', { seed: 2 })]);
});
after(() => cli?.[Symbol.asyncDispose]());

const publish = async (ova: string, ...flags: readonly string[]): Promise<string> =>
  expectExit(await cli.run(['publish', ova, ...flags]), 0).stdout.trim();
/** Answers where it asks. */
let yes: readonly string[];
const gc = async (): Promise<string> =>
  expectExit(await cli.run(['gc', '--grace', '0', '--keep', '0', ...yes]), 0).stdout;
const listed = async (): Promise<string> => expectExit(await cli.run(['list', '-o', 'wide']), 0).stdout;

test("OWN-1 the installer's template, retired by a swap and converted by an administrator, is there after every verb, and named", async () => {
  const { switchboard } = cli;
  await switchboard.createVm({ name: 'installed', folder, template: true, disks: 1, productVersion: '8.10' });
  expectExit(await cli.run(['adopt', 'installed']), 0);
  await publish(first, '--name', 'installed', '--swap');
  const retired = (await cli.names()).find((name) => name.startsWith('installed-retired-')) ?? assert.fail();
  const { moref } = await cli.vm(retired);
  await switchboard.convertVm(moref, 'machine');
  const kept = async (): Promise<void> => {
    const now = await cli.vm(retired);
    assert.deepEqual([now.moref, now.isTemplate], [moref, false]);
  };
  await publish(first, '--name', 'installed', '--swap');
  await kept();
  assert.match(await gc(), new RegExp(`${retired} +stays +it was a template and somebody made a machine of it`));
  await publish(second, '--name', 'installed', '--swap');
  await kept();
  assert.match(await listed(), new RegExp(`\n${retired} +converted `));
  const doctor = expectExit(await cli.run(['doctor']), 0).stdout;
  assert.match(
    doctor,
    new RegExp(`^warn +template +${retired} is converted, kept and never pointed at: it was a template`, 'm'),
  );
});

test('OWN-1 OWN-2 by pointer: what was booted and switched off stays, what was booted and converted back is tampered; each time a new one is made', async () => {
  const { switchboard } = cli;
  const one = await publish(first, '--name', 'base');
  const { moref } = await cli.vm(one);
  await switchboard.convertVm(moref, 'machine');
  await switchboard.powerVm(moref, true);
  await switchboard.powerVm(moref, false);
  const two = await publish(first, '--name', 'base');
  assert.notEqual(two, one);
  assert.equal((await cli.vm(one)).isTemplate, false);
  await switchboard.convertVm(moref, 'template');
  assert.equal(await publish(first, '--name', 'base'), two);
  assert.match(await listed(), new RegExp(`\n${one} +tampered .* it was powered on since it was published`));
  // The platform's own changes to the other one are none.
  await switchboard.editVm((await cli.vm(two)).moref, {
    annotation: 'a note',
    extraConfig: { nvram: 'x.nvram', 'vmware.tools.internalversion': '12' },
    diskDirectory: '[LocalDS_0] elsewhere',
  });
  assert.equal(await publish(first, '--name', 'base'), two);
  expectExit(await cli.run(['adopt', one]), 0);
  assert.match(await listed(), new RegExp(`\n${one} +published `));
});

test('OWN-5 a linked clone and an unreadable machine keep the template that would go', async () => {
  const { switchboard } = cli;
  const one = await publish(first, '--name', 'linked');
  const { moref } = await cli.vm(one);
  await using held = await switchboard.rule({ on: 'CreateContainerView', do: 'hold', skip: 1, times: 1 });
  const collecting = gc();
  await held.held();
  await switchboard.cloneVm({ template: moref, name: 'worker-l', folder: '/DC0/vm', linked: true });
  await held.release();
  assert.match(await collecting, new RegExp(`${one} +stays +its disks carry those of worker-l`));
  await switchboard.destroyVm('/DC0/vm/worker-l');
  const lost = await switchboard.createVm({ name: 'lost', folder: '/DC0/vm', disks: 1 });
  await switchboard.editVm(lost.moref, { unreadable: true, connectionState: 'inaccessible' });
  assert.match(await gc(), new RegExp(`${one} +stays +it is unknown whether its disks carry those of lost`));
  await switchboard.editVm(lost.moref, { unreadable: false, connectionState: 'connected' });
  await switchboard.destroyVm(lost.moref);
});

test('OWN-8 a template that somebody made a machine of and renamed keeps its files on the datastore: another name serves', async () => {
  const { switchboard } = cli;
  const one = await publish(first, '--name', 'renamed');
  const { moref } = await cli.vm(one);
  await switchboard.convertVm(moref, 'machine');
  await switchboard.renameVm(moref, 'somebody');
  const two = await publish(first, '--name', 'renamed');
  assert.notEqual(two, one);
  assert.equal((await cli.vm(two)).isTemplate, true);
  assert.deepEqual((await cli.vm('somebody')).moref, moref);
});

test('OWN-8 a busy machine is waited for, a session that ends in mid-upload costs one more upload: both publish', async () => {
  const { switchboard } = cli;
  const fault = { name: 'TaskInProgress', xml: '<task type="Task">task-1</task>' };
  await using busy = await switchboard.rule({ on: 'ReconfigVM_Task', do: 'fault', fault, times: 2 });
  await switchboard.resetUploads();
  await publish(first, '--name', 'busy');
  await busy.taken(2);
  assert.equal((await switchboard.uploads()).count, 1);

  const [large] = await Promise.all([cli.ova('9.7.0', { seed: 7, diskBytes: 4 << 20 })]);
  await using slow = await switchboard.rule({ on: 'upload', do: 'hold', afterBytes: 1 << 20, times: 1 });
  const running = cli.start(['publish', large, '--name', 'session']);
  await slow.held();
  await switchboard.killSessions();
  await slow.release();
  const ran = expectExit(await running.ended, 0);
  const name = ran.stdout.trim();
  assert.equal((await cli.vm(name)).isTemplate, true);
  assert.equal((await cli.names()).filter((other) => other.startsWith('session-')).length, 1);
});

test('OWN-12 OWN-13 what cannot be read is not replaced; a host in maintenance and a disabled method are said before anything is renamed or removed', async () => {
  const { switchboard } = cli;
  const one = await publish(first, '--name', 'dark');
  const { moref } = await cli.vm(one);
  await switchboard.editVm(moref, { unreadable: true, connectionState: 'inaccessible' });
  await switchboard.resetUploads();
  const blind = await cli.run(['publish', first, '--name', 'dark']);
  assert.notEqual(blind.code, 0);
  assert.match(blind.stderr, /may be what is wanted, but its configuration is unset, and it is inaccessible/);
  assert.match(await listed(), new RegExp(`\n${one} +unreadable `));
  assert.equal((await switchboard.uploads()).count, 0);
  await switchboard.editVm(moref, {
    unreadable: false,
    connectionState: 'connected',
    disabledMethods: ['Destroy_Task'],
  });
  assert.equal(await publish(first, '--name', 'dark'), one);
  assert.match(await gc(), new RegExp(`${one} +stays +it could not be removed: .*vCenter has disabled Destroy_Task`));

  await publish(first, '--name', 'swapped', '--swap');
  await switchboard.editVm((await cli.vm('swapped')).moref, { disabledMethods: ['Rename_Task'] });
  await switchboard.resetNames();
  const stopped = await cli.run(['publish', second, '--name', 'swapped', '--swap']);
  assert.match(stopped.stderr, /failed to rename swapped .*: vCenter has disabled Rename_Task on it/);
  assert.deepEqual(await switchboard.names(), []);
});

/** With a key and without one. */
const KEYS: readonly (readonly [string, Environment])[] = [
  ['with a key', {}],
  ['without a key', { DRYDOCK_MARK_KEY: '' }],
];

/** The next publication makes a template of its own, and a verification does not call the other one proven. */
async function refuses(moref: string, copied: VmView, args: readonly string[], env: Environment): Promise<void> {
  const { switchboard } = cli;
  await switchboard.resetUploads();
  const ran = expectExit(await cli.run(args, env), 0);
  assert.doesNotMatch(ran.stderr, /it was there already/);
  assert.ok((await switchboard.uploads()).count > 0);
  const own = await cli.vm(ran.stdout.trim());
  assert.ok(own.moref !== moref && own.instanceUuid !== copied.instanceUuid);
  const said = await cli.run(['verify', `${folder}/${copied.name}`], env);
  assert.doesNotMatch(said.stdout, /, (?:proven|imported)/);
  assert.match(said.stdout, env['DRYDOCK_MARK_KEY'] === '' ? /, not proven:/ : /its mark does not count:/);
  // Nor is it ever removed.
  expectExit(await cli.run(['gc', '--grace', '0', '--keep', '0', ...yes], env), 0);
  assert.ok((await switchboard.vms({ folder })).some((vm) => vm.moref === moref));
  await switchboard.destroyVm(moref);
}

for (const [what, env] of KEYS)
  test(`KEEP-1 route one, ${what}: a copy of an unfinished import that says that it is finished is not the release`, async () => {
    const { switchboard } = cli;
    const base = what.replaceAll(' ', '-');
    const args = ['publish', await cli.ova('9.8.1', { seed: 8, diskBytes: 4 << 20 }), '--name', base];
    const before = new Set(await cli.names());
    await using slow = await switchboard.rule({ on: 'upload', do: 'hold', afterBytes: 1 << 20, times: 1 });
    const running = cli.start(args, env);
    await slow.held();
    const name = (await cli.names()).find((one) => !before.has(one)) ?? assert.fail();
    const copied = await cli.vm(name);
    assert.equal(copied.isTemplate, false);
    running.process.kill('SIGTERM');
    await slow.release();
    assert.notEqual((await running.ended).code, 0);
    assert.ok(!(await cli.names()).includes(name), 'the half-made VM was removed');

    const { code } = JSON.parse(copied.extraConfig['drydock.birth'] ?? '{}') as { readonly code?: string };
    assert.equal(code === undefined, env['DRYDOCK_MARK_KEY'] === '', 'the code of the birth mark is copied, too');
    const moref = await forge(cli, copied, { template: true, record: { code } });
    await refuses(moref, copied, args, env);
  });

for (const [what, env] of KEYS)
  test(`KEEP-1 route two, ${what}: a copy of a collected template is not the release when it is needed again`, async () => {
    const { switchboard } = cli;
    const args = ['publish', await cli.ova('9.8.2', { seed: 9 }), '--name', `again-${what.replaceAll(' ', '-')}`];
    const name = expectExit(await cli.run(args, env), 0).stdout.trim();
    const copied = await cli.vm(name);
    assert.ok(copied.extraConfig[CONTENT_KEY] !== undefined && copied.customValues[OWNERSHIP] !== undefined);
    expectExit(await cli.run(['gc', '--grace', '0', '--keep', '0', ...yes], env), 0);
    // Without a key nothing proves what another run imported: a person removes it.
    if (env['DRYDOCK_MARK_KEY'] === '') await switchboard.destroyVm(copied.moref);
    assert.ok(!(await cli.names()).includes(name));

    const moref = await forge(cli, copied, { template: true });
    await refuses(moref, copied, args, env);
  });
