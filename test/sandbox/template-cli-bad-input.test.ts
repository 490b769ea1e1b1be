import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { type Failure, NEXT_COMMANDS } from '../../apps/drydock/src/template/next-command.ts';
import {
  type Environment,
  expectExit,
  folder,
  nextCommand,
  type Ran,
  startTemplateCli,
  type TemplateCli,
} from './support/template-cli.ts';

let cli: TemplateCli;
let ova: string;
let standing: string;
before(async () => {
  cli = await startTemplateCli();
  ova = await cli.ova('9.6.2', { seed: 2 });
  const one = await cli.ova('9.6.1', { seed: 1 });
  expectExit(await cli.run(['publish', one, '--name', 'standing', '--swap']), 0);
  await cli.switchboard.createVm({ name: 'worker', folder, powerOn: true });
  await cli.switchboard.createVm({ name: 'machine', folder });
  standing = (await cli.vm('standing')).instanceUuid;
});
after(() => cli?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await cli.switchboard.clearRules();
  await cli.switchboard.denyPrivileges([]);
});

/** Runs something that must fail: with this code, these words, this command to run next, and an inventory as it was. */
async function refused(
  args: readonly string[],
  code: number,
  said: RegExp,
  next: RegExp,
  env: Environment = {},
): Promise<Ran> {
  const names = await cli.names();
  const ran = expectExit(await cli.run(args, env), code);
  assert.match(ran.stderr, said);
  assert.match(nextCommand(ran), next);
  assert.equal(ran.stdout, '', 'a pipeline must not take an error for a name');
  assert.deepEqual(await cli.names(), names);
  assert.equal((await cli.vm('standing')).instanceUuid, standing);
  return ran;
}

const swap = (name: string): readonly string[] => ['publish', ova, '--name', name, '--swap'];

test('places that do not exist are named, and doctor says what is there', async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['--folder', '/DC0/vm/absent'], /failed to find folder: \/DC0\/vm\/absent does not exist/],
    [['--datacenter', 'DC9', '--folder', 'x'], /\/DC9/],
    [['--cluster', 'C9'], /failed to find compute cluster: \/DC0\/host\/C9/],
    [['--resource-pool', '/DC0/host/DC0_C0/Resources/p'], /failed to find resource pool/],
    [['--datastore', 'DS9'], /failed to find datastore: \/DC0\/datastore\/DS9/],
    [['--network', 'N9'], /failed to find network: \/DC0\/network\/N9/],
  ];
  for (const [flags, said] of cases)
    await refused([...swap('standing'), ...flags], 3, said, new RegExp(`^drydock template doctor ${flags[0] ?? ''} `));
  const doctor = expectExit(await cli.run(['doctor', '--datastore', 'DS9']), 3);
  assert.match(
    doctor.stdout,
    /FAIL +datastore +\S+\/DS9 does not exist; there is \S+LocalDS_0\n +next: drydock template doctor --datastore \/DC0\/datastore\/LocalDS_0\n/,
  );
  await refused(swap('standing'), 2, /there are 2 compute clusters in \/DC0/, / --cluster \/DC0\/host\/DC0_C0$/, {
    GOVC_CLUSTER: '',
  });
});

test('a privilege that is missing is named before a byte is sent', async () => {
  await cli.switchboard.denyPrivileges(['VirtualMachine.Config.Rename']);
  await cli.switchboard.resetUploads();
  await refused(
    swap('standing'),
    3,
    /the user \S+@vsphere\.local lacks VirtualMachine\.Config\.Rename on \/DC0\/vm\/templates/,
    /^drydock template doctor$/,
  );
  assert.equal((await cli.switchboard.uploads()).count, 0);
  const doctor = expectExit(await cli.run(['doctor']), 3);
  assert.match(
    doctor.stdout,
    /FAIL +privileges +on \S+templates the user \S+@vsphere\.local lacks (VirtualMachine\.Config\.Rename)\n +next: govc role\.update -a ROLE \1\n/,
  );
});

test('SAFE-8 no output has the key of a session, whichever call of an import fails', async () => {
  const said: string[] = [];
  await cli.switchboard.resetCalls();
  const system = { name: 'SystemError', fields: { reason: 'the test says so' } };
  for (const on of [
    'HttpNfcLeaseGetManifest',
    'HttpNfcLeaseComplete',
    'HttpNfcLeaseAbort',
    'RetrievePropertiesEx',
    'ImportVApp',
    'upload',
  ])
    for (const action of [{ do: 'fault', fault: system }, { do: 'drop-before' }] as const) {
      if (on === 'upload' && action.do === 'fault') continue;
      await cli.switchboard.clearRules();
      await cli.switchboard.rule({ on, ...action });
      const { stdout, stderr } = await cli.run(swap('leaky'), { DRYDOCK_DEBUG: '1' });
      said.push(`${stdout}${stderr}`);
    }
  await cli.switchboard.clearRules();
  const keys = new Set(
    (await cli.switchboard.callLog()).flatMap(({ session }) => (session === undefined ? [] : [session])),
  );
  assert.ok(keys.size >= 10, `${keys.size} sessions were seen`);
  assert.ok(
    said.some((text) => text.includes('HttpNfcLease')),
    'the lease is named by its type',
  );
  for (const text of said) for (const key of keys) assert.ok(!text.includes(key), text);
});

test('a full datastore is named, and collection is offered', async () => {
  const fault = { name: 'NoDiskSpace', fields: { datastore: 'LocalDS_0' } };
  await cli.switchboard.rule({ on: 'ImportVApp', do: 'fault', fault });
  await refused(swap('standing'), 3, /LocalDS_0/, /^drydock template gc --dry-run$/);
  await cli.switchboard.clearRules();
  await refused(
    [...swap('standing'), '--reserve', '999999'],
    3,
    /LocalDS_0 has .* free/,
    /^drydock template gc --dry-run$/,
  );
});

test('hosts that cannot take an import are named, each with its reason', async () => {
  const [one, two] = (await cli.switchboard.hosts()).filter(({ path }) => path.includes('DC0_C0'));
  assert.ok(one !== undefined && two !== undefined);
  await cli.switchboard.changeHost(one.path, { connectionState: 'disconnected' });
  await cli.switchboard.changeHost(two.path, { maintenance: true });
  const said = /DC0_C0_H0 is disconnected, DC0_C0_H1 is in maintenance mode/;
  await refused(swap('standing'), 3, said, /^drydock template doctor$/);
  assert.match(expectExit(await cli.run(['doctor']), 3).stdout, new RegExp(`FAIL +hosts .*${said.source}`));
  await cli.switchboard.changeHost(one.path, { connectionState: 'connected' });
  await cli.switchboard.changeHost(two.path, { maintenance: false });
});

test('what bears the name and is no template of ours is left alone', async () => {
  await refused(
    swap('worker'),
    3,
    /worker \(vm-\d+\) is a machine that is not powered off/,
    /^govc vm\.info \/DC0\/vm\/templates\/worker$/,
  );
  await refused(
    swap('machine'),
    3,
    /machine \(vm-\d+\) is a machine, not a template/,
    /^govc vm\.info \/DC0\/vm\/templates\/machine$/,
  );
  await refused(
    [...swap('standing'), '--owner', 'somebody-else'],
    3,
    /standing/,
    /^drydock template list -o wide --owner somebody-else$/,
  );
  await refused(['adopt', 'machine'], 3, /not a template/, /^govc vm\.info/);
  await refused(['adopt', 'absent'], 3, /absent/, /^drydock template list -o wide$/);
  await refused(
    ['verify', 'absent'],
    3,
    /there is no absent in \/DC0\/vm\/templates/,
    /^drydock template list -o wide$/,
  );
  await refused(['revert', 'standing', '--yes'], 3, /standing/, /^drydock template history standing$/);
});

test('an OVA that is damaged or of another kind is refused before anything is imported', async () => {
  const content = await readFile(ova);
  const truncated = join(cli.files, 'truncated.ova');
  const text = join(cli.files, 'text.ova');
  await writeFile(truncated, content.subarray(0, content.length / 2));
  await writeFile(text, 'no image here '.repeat(100));
  const flipped = Buffer.from(content);
  flipped[flipped.length - 8192] = (flipped.at(-8192) ?? 0) ^ 0xff;
  const corrupt = join(cli.files, 'corrupt.ova');
  await writeFile(corrupt, flipped);
  const publish = (path: string): readonly string[] => ['publish', path, '--name', 'standing', '--swap'];
  await refused(publish(truncated), 3, /the file is no OVA/, /^tar -tvf /);
  await refused(publish(text), 3, /the file is no OVA/, /^tar -tvf /);
  await refused(publish(corrupt), 3, /manifest|sha/i, /^(tar|sha256sum) /);
  await refused(publish(join(cli.files, 'absent.ova')), 2, /there is no such file/, /^ls -l /);
  await refused(
    [...publish(ova), '--sha256', 'a'.repeat(64)],
    3,
    /has sha256 [0-9a-f]{64}, but a{64} was expected/,
    /^sha256sum /,
  );
  const adapters = await cli.ova('two-networks', { networks: 2 });
  await refused(publish(adapters), 3, /single network adapter/, /^tar -xOf /);
});

test('wrong flags are usage errors, and nothing is sent', async () => {
  await cli.switchboard.resetCalls();
  await refused(
    swap('x'.repeat(81)),
    2,
    /the name has 81 characters, and vCenter takes 1 to 80/,
    /^drydock template publish .* --name x{40}$/,
  );
  await refused(
    [...swap('standing'), '--pointer', join(cli.files, 'p.json')],
    2,
    /give --swap or --pointer/,
    /--help$/,
  );
  await refused(
    [...swap('standing'), '--url', 'https://me:hunter2@vc.example'],
    2,
    /--url has a password/,
    /--password-file/,
  );
  const own = join(cli.files, 'terraform.tfvars');
  await writeFile(own, 'template = "x"\nregion = "eu"\n');
  await refused(['publish', ova, '--name', 'standing', '--pointer', own], 3, /is no pointer file/, /^cat /);
  await refused(['list', '-o', 'toml'], 2, /unknown output format toml/, /--help$/);
  await refused(['list', '--config', join(cli.files, 'absent.yaml')], 2, /absent\.yaml cannot be read/, /^ls -l /);
  await refused(['apply', own], 2, /it is no JSON/, /^ls -l /);
  assert.match(nextCommand(expectExit(await cli.run(['publish', ova]), 2)), /^drydock template publish --help$/);
  assert.equal((await cli.switchboard.calls()).total, 0);
});

test('a server that is not trusted, a wrong password and nobody there are told apart', async () => {
  await cli.switchboard.resetCalls();
  await refused(
    ['list'],
    1,
    /The certificate of 127\.0\.0\.1:\d+ is not trusted .*nothing was sent to it/,
    /^drydock template doctor$/,
    { GOVC_TLS_CA_CERTS: '' },
  );
  const zeros = Array.from({ length: 32 }, () => '00').join(':');
  await refused(['list', '--thumbprint', zeros], 1, /is not trusted/, /^drydock template doctor --thumbprint /);
  assert.equal((await cli.switchboard.calls()).total, 0);

  const doctor = expectExit(await cli.run(['doctor'], { GOVC_TLS_CA_CERTS: '' }), 3);
  const [, fingerprint = ''] = /--thumbprint ([0-9A-F:]{95})/.exec(doctor.stdout) ?? [];
  expectExit(await cli.run(['list', '--thumbprint', fingerprint], { GOVC_TLS_CA_CERTS: '' }), 0);
  const unsafe = expectExit(await cli.run(['list'], { GOVC_TLS_CA_CERTS: '', GOVC_INSECURE: '1' }), 0);
  assert.match(unsafe.stderr, /^warning: The certificate of this vCenter is not verified/);

  await refused(
    ['list'],
    1,
    /does not let administrator@vsphere\.local in/,
    /^drydock template doctor --username USER --password-file FILE$/,
    { GOVC_PASSWORD: 'hunter2' },
  );
  await refused(['list'], 1, /127\.0\.0\.1:1 cannot be reached/, /^curl -kSs https:\/\/127\.0\.0\.1:1\/sdk/, {
    GOVC_URL: 'https://127.0.0.1:1',
  });
  const json = expectExit(await cli.run(['list', '-o', 'json'], { GOVC_PASSWORD: 'hunter2' }), 1);
  assert.equal(json.stderr, '');
  assert.deepEqual(
    json.events.map(({ event, code, exitCode }) => [event, code, exitCode]),
    [['error', 'VIM_LOGIN_REFUSED', 1]],
  );
});

test('SAFE-17 a flag that no server takes is refused before anything is sent, and the next step is the command that works', async () => {
  const publish = ['publish', ova, '--name', 'step', '--disk', 'foo'];
  const disk = await refused(
    publish,
    2,
    /--disk foo is no way to provision disks: there are thin, thick/,
    / --disk thin$/,
  );
  expectExit(await cli.run(wordsOf(nextCommand(disk)).slice(2)), 0);
  const name = await refused(['publish', ova, '--name', 'a/b'], 2, /the name a\/b has one of \//, / --name a-b$/);
  expectExit(await cli.run(wordsOf(nextCommand(name)).slice(2)), 0);
  const long = await refused(['publish', ova, '--name', 'x'.repeat(81)], 2, /81 characters/, / --name x{40}$/);
  expectExit(await cli.run(wordsOf(nextCommand(long)).slice(2)), 0);
});

/** Words of a command line as a shell has them. */
function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

/** What is called, of what is not installed here: subcommands of govc as its own help names them. */
const GOVC =
  /^govc (about\.cert|vm\.info|snapshot\.tree|tags\.ls|tags\.create|host\.info|datastore\.info|session\.ls|library\.ls) ?/;

test('SAFE-17 the next step of every error is a command that runs', async () => {
  const password = join(cli.files, 'next-password');
  await writeFile(password, cli.env['GOVC_PASSWORD'] ?? '', { mode: 0o600 });
  const context: Failure = {
    program: 'drydock template',
    flags: '',
    again: `drydock template publish ${ova} --name again`,
    replan: `drydock template plan publish ${ova} --name again --out ${join(cli.files, 'next-plan')}`,
    url: `https://${new URL(cli.env['GOVC_URL'] ?? '').host}/sdk`,
    username: cli.env['GOVC_USERNAME'] ?? '',
    subject: 'standing',
    path: `${folder}/standing`,
    source: ova,
    cacheDir: cli.files,
    tag: 'golden',
  };
  const ran = new Map<string, string>();
  for (const [code, next] of Object.entries(NEXT_COMMANDS)) {
    const command = next(context).replaceAll(' USER ', ` ${context.username} `).replaceAll(' FILE', ` ${password}`);
    if (GOVC.test(command) || ran.has(command)) continue;
    const [program = '', group, ...words] = wordsOf(command);
    if (program === 'drydock') {
      assert.equal(group, 'template', command);
      const { code: exit, stderr } = await cli.run(words);
      assert.notEqual(exit, 2, `${code}: ${command}\n${stderr}`);
    } else {
      const failed = await new Promise<Error | null>((resolve) => {
        execFile('bash', ['-c', `set -o pipefail; ${command}`], { env: { PATH: process.env['PATH'] } }, resolve);
      });
      assert.equal(failed, null, `${code}: ${command}`);
    }
    ran.set(command, code);
  }
  assert.ok(ran.size >= 10, `only ${ran.size} commands were run`);
});
