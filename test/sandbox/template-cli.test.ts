import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BIRTH_KEY, OWNERSHIP } from '@drydock/templates';
import { expectExit, folder, startTemplateCli, type TemplateCli } from './support/template-cli.ts';

let cli: TemplateCli;
let first: string;
let second: string;
before(async () => {
  cli = await startTemplateCli();
  [first, second] = await Promise.all([cli.ova('9.6.1', { seed: 1 }), cli.ova('9.6.2', { seed: 2 })]);
});
after(() => cli?.[Symbol.asyncDispose]());

/** Calls that change something, as a plan names them. */
const CHANGES: Readonly<Record<string, string>> = {
  ImportVApp: 'ImportVApp',
  upload: 'Upload',
  HttpNfcLeaseComplete: 'HttpNfcLeaseComplete',
  ReconfigVM_Task: 'ReconfigVM_Task',
  MarkAsTemplate: 'MarkAsTemplate',
  Rename_Task: 'Rename_Task',
  Destroy_Task: 'Destroy_Task',
  AddCustomFieldDef: 'AddCustomFieldDef',
  SetField: 'SetField',
  'POST /rest/com/vmware/cis/tagging/tag-association/id:*?~action=attach': 'AttachTag',
};

async function changes(): Promise<readonly string[]> {
  const log = await cli.switchboard.callLog();
  return log.map(({ method }) => CHANGES[method]).filter((name) => name !== undefined);
}

async function plannedCalls(file: string): Promise<readonly string[]> {
  const { plan } = JSON.parse(await readFile(file, 'utf8')) as { plan: { steps: { calls: string[] }[] } };
  return plan.steps.flatMap(({ calls }) => calls).map((call) => call.split(' ')[0] ?? '');
}

test('by pointer: publish prints the new name and points the file to it; the one before stays; revert points back', async () => {
  const file = join(cli.files, 'image.auto.tfvars');
  const flags = ['--name', 'rhcos', '--pointer', file, '--pointer-variable', 'image'];
  const one = expectExit(await cli.run(['publish', first, ...flags]), 0).stdout.trim();
  assert.match(one, /^rhcos-9\.6\.1-[0-9a-f]{8}$/);
  assert.equal(await readFile(file, 'utf8'), `image = "${one}"\n`);
  const made = await cli.vm(one);
  assert.equal(made.isTemplate, true);
  // What somebody reads who finds it in vCenter.
  assert.match(
    made.annotation,
    new RegExp(`^Boot image template ${one}, release 9\\.6\\.1, of .*kept by Drydock.*drydock explain`, 's'),
  );

  const again = expectExit(await cli.run(['publish', first, ...flags]), 0);
  assert.equal(again.stdout.trim(), one);
  assert.match(again.stderr, /nothing was uploaded\nUnchanged: .* points to /);

  const two = expectExit(await cli.run(['publish', second, ...flags]), 0).stdout.trim();
  assert.deepEqual(await cli.names(), [one, two]);
  const known = ['--pointer', file, '--pointer-variable', 'image'];
  const history = expectExit(await cli.run(['history', 'rhcos', ...known]), 0).stdout;
  assert.match(
    history,
    new RegExp(`${two} +current.*\n${one} +kept.* drydock template revert rhcos --to ${one} --pointer`),
  );

  expectExit(await cli.run(['revert', 'rhcos', ...known]), 5);
  assert.equal(await readFile(file, 'utf8'), `image = "${two}"\n`, 'nobody said yes');
  await cli.switchboard.resetUploads();
  assert.equal(expectExit(await cli.run(['revert', 'rhcos', '--yes', ...known]), 0).stdout.trim(), one);
  assert.equal(await readFile(file, 'utf8'), `image = "${one}"\n`);
  assert.equal((await cli.switchboard.uploads()).count, 0);
  assert.match(
    expectExit(await cli.run(['revert', 'rhcos']), 2).stderr,
    /next: drydock template revert rhcos --pointer FILE\n$/,
  );

  expectExit(await cli.run(['gc', '--grace', '0', '--keep', '0', ...known]), 5);
  assert.deepEqual(await cli.names(), [one, two], 'nobody said yes');
  const kept = expectExit(await cli.run(['gc', '--grace', '0', '--keep', '0', '--yes', ...known]), 0).stdout;
  assert.match(kept, new RegExp(`${two} +removed +nothing uses it\n${one} +stays +used by the pointer`));
  assert.deepEqual(await cli.names(), [one]);
});

test('by swap: the stable name stays, the old template is kept, and going back uploads nothing and takes less than ten seconds', async () => {
  const flags = ['--name', 'base 100% 🚢', '--swap', '--tag', 'golden'];
  assert.equal(expectExit(await cli.run(['publish', first, ...flags]), 0).stdout, 'base 100% 🚢\n');
  const old = await cli.vm('base 100% 🚢');
  const replaced = expectExit(await cli.run(['publish', second, ...flags]), 0);
  assert.match(
    replaced.stderr,
    /Replaced base 100% 🚢: 1\.0 MiB uploaded in .*\nThe name was absent for [\d.]+ m?s, between the two renames\nThe one before is kept as base 100% 🚢-retired-/,
  );
  const now = await cli.vm('base 100% 🚢');
  assert.notEqual(now.instanceUuid, old.instanceUuid);
  assert.deepEqual([now.isTemplate, now.tags], [true, ['images/golden']]);
  expectExit(await cli.run(['verify', 'base 100% 🚢', '--tag', 'golden']), 0);

  await cli.switchboard.resetUploads();
  const reverted = expectExit(await cli.run(['revert', 'base 100% 🚢', '--yes', '-o', 'json']), 0);
  const told = reverted.events.find(({ event }) => event === 'reverted');
  // The start of a process is not part of it.
  assert.ok(Number(told?.['ms']) < 10_000, JSON.stringify(told));
  assert.deepEqual([told?.['release'], told?.['uploads'], Number(told?.['absentMs']) >= 0], ['9.6.1', 0, true]);
  assert.equal((await cli.vm('base 100% 🚢')).instanceUuid, old.instanceUuid);
  assert.equal((await cli.switchboard.uploads()).count, 0);

  const history = expectExit(await cli.run(['history', 'base 100% 🚢']), 0).stdout;
  const [, to = ''] = /drydock template revert 'base 100% 🚢' --to ([0-9a-f]{8})/.exec(history) ?? [];
  assert.equal(to, now.instanceUuid.slice(0, 8));
  assert.match(
    expectExit(await cli.run(['revert', 'base 100% 🚢', '--to', to, '-y']), 0).stderr,
    /Reverted base 100% 🚢 to release 9\.6\.2 in .*, absent for .*, nothing uploaded/,
  );
  assert.equal((await cli.vm('base 100% 🚢')).instanceUuid, now.instanceUuid);
  assert.match(
    expectExit(await cli.run(['revert', 'base 100% 🚢', '--to', now.instanceUuid, '-y']), 0).stderr,
    /nothing to do/,
  );
});

test('a template made by hand is adopted without being changed, and replaced afterwards', async () => {
  await cli.switchboard.createVm({ name: 'handmade', folder, template: true, productVersion: '8.0' });
  const old = await cli.vm('handmade');
  const refused = expectExit(await cli.run(['publish', first, '--name', 'handmade', '--swap']), 3);
  assert.match(refused.stderr, /next: drydock template adopt handmade\n$/);
  expectExit(await cli.run(['plan', 'adopt', 'handmade']), 6);
  assert.match(expectExit(await cli.run(['adopt', 'handmade']), 0).stderr, /Adopted handmade \(release 8\.0\)/);
  expectExit(await cli.run(['plan', 'adopt', 'handmade']), 0);
  const adopted = await cli.vm('handmade');
  assert.deepEqual([adopted.isTemplate, adopted.extraConfig], [true, old.extraConfig]);
  assert.match(expectExit(await cli.run(['list']), 0).stdout, /\nhandmade +adopted +8\.0 /);
  expectExit(await cli.run(['publish', first, '--name', 'handmade', '--swap']), 0);
  expectExit(await cli.run(['revert', 'handmade', '--yes']), 0);
  assert.equal((await cli.vm('handmade')).instanceUuid, old.instanceUuid);
});

test('apply makes the calls that plan printed, in their order, and none when the world moved', async () => {
  const file = join(cli.files, 'plan.json');
  const flags = ['--name', 'planned', '--swap', '--tag', 'golden', '--out', file];
  for (const image of [first, second]) {
    await cli.switchboard.resetCalls();
    expectExit(await cli.run(['plan', 'publish', image, ...flags]), 6);
    assert.deepEqual(await changes(), [], 'planning changes nothing');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const planned = await plannedCalls(file);
    assert.ok(planned.length >= 5);
    expectExit(await cli.run(['apply', file]), 0);
    assert.deepEqual(await changes(), planned);
  }
  const before = await cli.names();
  await cli.switchboard.resetCalls();
  const moved = expectExit(await cli.run(['apply', file]), 4);
  assert.deepEqual([await changes(), await cli.names()], [[], before]);
  assert.match(moved.stderr, /next: drydock template plan publish OVA --name NAME --out .*plan\.json\n$/);
  assert.match(expectExit(await cli.run(['plan', 'publish', second, ...flags]), 0).stdout, /nothing to change/);

  await cli.switchboard.resetCalls();
  expectExit(await cli.run(['plan', 'revert', 'planned', '--out', file]), 6);
  expectExit(await cli.run(['apply', file]), 0);
  assert.deepEqual(await changes(), await plannedCalls(file));

  await cli.switchboard.resetCalls();
  expectExit(await cli.run(['plan', 'gc', '--grace', '0', '--keep', '0', '--out', file]), 6);
  const names = await cli.names();
  expectExit(await cli.run(['apply', file]), 0);
  const planned = await plannedCalls(file);
  assert.deepEqual(await changes(), planned);
  assert.equal((await cli.names()).length, names.length - planned.length);
});

test('OWN-9 an edited plan does nothing: what it says and what it wishes for must be the same, and no command comes from it', async () => {
  const file = join(cli.files, 'edited.json');
  const flags = ['--name', 'planned', '--swap', '--tag', 'golden', '--release', '7.7', '--out', file];
  expectExit(await cli.run(['plan', 'publish', second, ...flags]), 6);
  const plan = JSON.parse(await readFile(file, 'utf8')) as {
    readonly command?: string;
    readonly plan: { readonly steps: readonly object[]; readonly wish: { readonly image: object } };
  };
  assert.deepEqual([plan.command, Object.keys(plan.plan.wish.image)], [undefined, ['release', 'sha256']]);
  assert.ok(!JSON.stringify(plan).includes(cli.files), 'no path of this machine');
  const { image } = plan.plan.wish;
  for (const change of [
    { plan: { ...plan.plan, steps: [] } },
    { plan: { ...plan.plan, steps: plan.plan.steps.slice(1) } },
    { plan: { ...plan.plan, wish: { ...plan.plan.wish, image: { ...image, release: '6.6' } } } },
    { plan: { ...plan.plan, target: 'another' } },
    { plan: { ...plan.plan, world: '0'.repeat(64) } },
  ]) {
    await writeFile(file, JSON.stringify({ ...plan, command: 'rm -rf /', ...change }));
    await cli.switchboard.resetCalls();
    const before = await cli.names();
    const refused = expectExit(await cli.run(['apply', file]), 4);
    assert.deepEqual([await changes(), await cli.names()], [[], before]);
    assert.ok(!refused.stderr.includes('rm -rf') && !refused.stderr.includes('Nothing to do'));
  }
});

test('OWN-9 the image of a plan is found by its digest: beside the plan, where somebody says, or it is asked for', async () => {
  const elsewhere = join(cli.files, 'elsewhere');
  await mkdir(elsewhere, { recursive: true });
  const file = join(elsewhere, 'swap.plan');
  const image = join(elsewhere, 'moved.ova');
  await copyFile(second, image);
  expectExit(await cli.run(['plan', 'publish', image, '--name', 'by-digest', '--release', '5.5', '--out', file]), 6);
  await rename(image, `${image}.away`);
  const missing = expectExit(await cli.run(['apply', file]), 2);
  assert.match(
    missing.stderr,
    /needs the image with sha256 [0-9a-f]{64} \(moved\.ova\).*\nnext: drydock template apply .*swap\.plan --image OVA\n$/,
  );
  expectExit(await cli.run(['apply', file, '--image', first]), 3);
  expectExit(await cli.run(['apply', file, '--image', `${image}.away`]), 0);
  expectExit(
    await cli.run(['plan', 'publish', `${image}.away`, '--name', 'by-digest', '--release', '4.4', '--out', file]),
    6,
  );
  expectExit(await cli.run(['apply', file]), 0);
});

test('OWN-4 gc keeps what consumers point at, whoever runs it: by the record on the template, not by a file that may be missing', async () => {
  const file = join(cli.files, 'held.json');
  const flags = ['--name', 'held', '--pointer', file];
  const one = expectExit(await cli.run(['publish', first, ...flags]), 0).stdout.trim();
  const two = expectExit(await cli.run(['publish', second, ...flags]), 0).stdout.trim();
  expectExit(await cli.run(['revert', 'held', '--yes', '--pointer', file]), 0);
  // A publication that knows nothing of the file, and another pipeline with a pointer of its own.
  expectExit(await cli.run(['publish', first, '--name', 'held', '--release', '3.3']), 0);
  const other = ['--pointer', join(cli.files, 'other.json'), '--consumer', 'pipeline b'];
  const theirs = expectExit(
    await cli.run(['publish', second, '--name', 'held', '--release', '2.2', ...other]),
    0,
  ).stdout.trim();
  const gc = ['gc', '--grace', '0', '--keep', '0', '--yes'];
  const missing = expectExit(await cli.run([...gc, '--pointer', join(cli.files, 'no-such.json')]), 3);
  assert.match(missing.stderr, /no-such\.json is not there or names no template/);
  const { stdout } = expectExit(await cli.run(gc), 0);
  assert.match(stdout, new RegExp(`${one} +stays +.*held\\.json on .* \\(since .*\\) points at it`));
  assert.match(stdout, new RegExp(`${theirs} +stays +pipeline b \\(since`));
  const names = await cli.names();
  assert.ok(names.includes(one) && names.includes(theirs) && !names.includes(two));
  assert.match(
    expectExit(await cli.run([...gc, '--forget', 'pipeline b']), 0).stdout,
    new RegExp(`${theirs} +removed`),
  );
});

test("OWN-4 in a cluster's folder nothing goes unless the cluster is asked", async () => {
  const owner = ['--owner', '5b1a6b52-6f4e-4a38-9a54-2b1d0f0f9c11'];
  const name = expectExit(await cli.run(['publish', first, '--name', 'of-a-cluster', ...owner]), 0).stdout.trim();
  const { stdout } = expectExit(await cli.run(['gc', '--grace', '0', '--keep', '0', '--yes', ...owner]), 0);
  assert.match(stdout, new RegExp(`${name} +stays +it is unknown whether something uses it`));
});

test('doctor looks at everything and changes nothing', async () => {
  await cli.switchboard.resetCalls();
  const well = expectExit(await cli.run(['doctor', first, '--tag', 'golden']), 0).stdout;
  for (const name of [
    'settings',
    'tls',
    'login',
    'clock',
    'sessions',
    'datacenter',
    'folder',
    'cluster',
    'pool',
    'datastore',
    'network',
    'privileges',
    'hosts',
    'space',
    'tag',
    'dry import',
    'templates',
  ])
    assert.match(well, new RegExp(`^ok    ${name} `, 'm'));
  assert.deepEqual(await changes(), []);
});

test('the config file is read, and json is a stream of events', async () => {
  const { GOVC_URL = '', GOVC_USERNAME = '', GOVC_PASSWORD = '', GOVC_TLS_CA_CERTS = '' } = cli.env;
  const none = Object.fromEntries(
    Object.keys(cli.env)
      .filter((name) => name.startsWith('GOVC_'))
      .map((name) => [name, '']),
  );
  const config = join(cli.files, 'template.yaml');
  await writeFile(join(cli.files, 'password'), `${GOVC_PASSWORD}\n`, { mode: 0o600 });
  const said = {
    ...{ url: GOVC_URL, username: GOVC_USERNAME, passwordFile: 'password', ca: GOVC_TLS_CA_CERTS },
    ...{ folder: 'templates', cluster: 'DC0_C0', network: 'VM Network', owner: 'pipeline-7' },
  };
  await writeFile(config, JSON.stringify(said));
  const published = expectExit(
    await cli.run(['publish', first, '--name', 'config', '--config', config, '-o', 'json'], none),
    0,
  );
  assert.equal(published.stderr, '');
  assert.equal(published.stdout.trimEnd().split('\n').length, published.events.length);
  const kinds = published.events.map(({ event }) => event);
  assert.deepEqual([kinds[0], ...kinds.slice(-2)], ['import', 'published', 'done']);
  assert.ok(
    published.events.some(
      ({ event, step, bytes, total }) => event === 'progress' && step === 'Uploading' && bytes === total,
    ),
  );
  const result = published.events.find(({ event }) => event === 'published');
  const listed = expectExit(await cli.run(['list', '--owner', 'pipeline-7', '-o', 'json']), 0).events;
  assert.ok(listed.some(({ name, owner }) => name === result?.['name'] && owner === 'pipeline-7'));
  assert.match(expectExit(await cli.run(['list']), 0).stdout, new RegExp(`${String(result?.['name'])} +foreign `));
});

test('OWN-3 without a key: nothing that another run imported is used or removed, and doctor says so; a key given later lets the ledger here vouch for it', async () => {
  const keyless = { DRYDOCK_MARK_KEY: '' };
  const name = expectExit(await cli.run(['publish', first, '--name', 'plain'], keyless), 0).stdout.trim();
  const again = expectExit(await cli.run(['publish', first, '--name', 'plain'], keyless), 0).stdout.trim();
  assert.notEqual(again, name);
  const { stdout } = expectExit(await cli.run(['gc', '--grace', '0', '--keep', '0', '--yes'], keyless), 0);
  assert.match(stdout, new RegExp(`${name} +stays +nothing proves that .* is owned: give the key`));
  assert.match(
    expectExit(await cli.run(['doctor'], keyless), 0).stdout,
    /warn +mark key +none: .*\n +next: .*openssl rand/,
  );
  const elsewhere = ['list', '-o', 'wide', '--state-dir', join(cli.files, 'another-machine')];
  assert.match(expectExit(await cli.run(elsewhere), 0).stdout, new RegExp(`${name} +unproven`));
  assert.match(expectExit(await cli.run(['list', '-o', 'wide']), 0).stdout, new RegExp(`${name} +published`));
  // What two runs made is the same content: the older one is used, and the record that it lacks is written.
  const found = expectExit(await cli.run(['publish', first, '--name', 'plain']), 0);
  assert.match(found.stderr, /nothing was uploaded/);
  assert.match(expectExit(await cli.run(elsewhere), 0).stdout, new RegExp(`${found.stdout.trim()} +published`));
  const bad = expectExit(await cli.run(['list'], { DRYDOCK_MARK_KEY: 'k1:too-short-to-be-a-key' }), 2);
  assert.ok(/has 21 bytes, and 32 are needed/.test(bad.stderr) && !bad.stderr.includes('too-short'), bad.stderr);
});

test('KEEP-3: a leaked key is revoked: what only its codes prove is listed and stays, a new key signs, and what a person knows is adopted', async () => {
  const file = join(cli.files, 'leaked.key');
  await writeFile(file, `k1:${'a'.repeat(64)}\n`, { mode: 0o600 });
  const keyed = ['--mark-key', file, '--owner', 'leaked'];
  // Published from here; everything else is done on another machine, whose ledger does not know the template.
  const elsewhere = ['--state-dir', join(cli.files, 'elsewhere')];
  const run = async (...args: readonly string[]) =>
    expectExit(await cli.run([...args, ...keyed, ...(args[0] === 'publish' ? [] : elsewhere)]), 0);
  const name = (await run('publish', first, '--name', 'leaked')).stdout.trim();
  assert.match((await run('doctor')).stdout, /ok +mark key +[0-9a-f]{12} \(k1\) signs new codes \(flags\)/);
  const revoked = await run('mark-key', 'revoke', 'k1', '--yes');
  assert.match(revoked.stderr, /1 template here bears a code of [0-9a-f]{12} \(k1\); 1 of them has no other proof\n/);
  assert.match(revoked.stderr, /\nRevoked [0-9a-f]{12} \(k1\) in .*; [0-9a-f]{12} \(key-2\) signs new codes\n/);
  assert.match(revoked.stderr, new RegExp(`\nnext: drydock template adopt ${name} .*--mark-key`));
  assert.ok(
    revoked.stdout.includes(name) &&
      !/[0-9a-f]{64}/.test(
        `${revoked.stdout}${revoked.stderr}${await readFile(file, 'utf8')}`.replaceAll(/key-2:\S+/g, ''),
      ),
  );
  assert.match((await run('list', '-o', 'wide')).stdout, new RegExp(`${name} +unproven .*a key that is gone`));
  assert.match(
    (await run('doctor')).stdout,
    /warn +mark key +1 template has a code under [0-9a-f]{12}, made with a key that is gone/,
  );
  assert.match((await run('gc', '--grace', '0', '--keep', '0', '--yes')).stderr, /nothing to remove|0 removed/);
  const named = new RegExp(
    `warn +template +${name} is unproven, kept and never .*\n +next: drydock template adopt ${name} `,
  );
  // As a newer version may write an entry: the command names it, and goes on.
  const ledger = join(cli.files, 'elsewhere', 'ownership.json');
  const records = { 'vm.0': '{"stage":"of a later version"}' };
  await writeFile(ledger, JSON.stringify({ drydockOwnership: 1, records }), { mode: 0o600 });
  const { stdout: doctor } = await run('doctor');
  assert.match(doctor, named);
  assert.ok(doctor.includes(`${ledger}: the value of vm.0 cannot be read`), doctor);
  await run('adopt', name);
  assert.match((await run('list', '-o', 'wide')).stdout, new RegExp(`${name} +(?:current|published) `));
  assert.doesNotMatch((await run('doctor')).stdout, named);
});

test('OWN-3 a forged record on the simulator: a stranger with our public marks is never the release, and never goes', async () => {
  const name = expectExit(await cli.run(['publish', first, '--name', 'forged']), 0).stdout.trim();
  const { extraConfig, customValues, instanceUuid } = await cli.vm(name);
  for (const template of [true, false]) {
    const stranger = `stranger-${template}`;
    await cli.switchboard.createVm({ name: stranger, folder, template, productVersion: '9.6.1' });
    const { moref, instanceUuid: own } = await cli.vm(stranger);
    const birth = JSON.parse(extraConfig[BIRTH_KEY] ?? '{}') as object;
    const claim = JSON.stringify({ ...birth, instanceUuid: own });
    await cli.switchboard.editVm(moref, { extraConfig: { ...extraConfig, [BIRTH_KEY]: claim } });
    await cli.switchboard.setCustomValue(moref, OWNERSHIP, customValues[OWNERSHIP] ?? '');
  }
  const again = expectExit(await cli.run(['publish', first, '--name', 'forged']), 0).stdout.trim();
  assert.deepEqual([again, (await cli.vm(again)).instanceUuid], [name, instanceUuid]);
  expectExit(await cli.run(['gc', '--grace', '0', '--keep', '0', '--yes']), 0);
  const left = await cli.names();
  assert.ok(left.includes('stranger-true') && left.includes('stranger-false'));
});
