import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BootImage, bootImageName, Lease, Machine, MachineSet, Secret } from '@drydock/api';
import type { ClusterPlan } from '@drydock/boot-images';
import { seeds } from '@drydock/model';
import { scratchFolder } from '@drydock/sandbox';
import { type ApiGate, openApiGate } from './support/api-gate.ts';
import { type AuditLog, changeLog } from './support/audit-log.ts';
import { operatorProgram } from './support/crash-rig.ts';
import { type Ended, flaws, imageReach, runCommand, runDrydock, runImage } from './support/image-cli.ts';
import { type Process, startProcess } from './support/operator-process.ts';
import { startVoyage, type Voyage } from './support/voyage.ts';
import { machineApi, oldRelease } from './support/voyage-cluster.ts';

const set = 'way-back';
const key = { namespace: machineApi, name: bootImageName('ms', set) };
const [first, second, third] = ['9.8.20260802-0', '9.9.20260903-0', '9.10.20261004-0'] as const;

let voyage: Voyage;
let gate: ApiGate;
let operator: Process;
let start: () => Process;
let files: ReturnType<typeof scratchFolder>;
let log: AuditLog;

before(async () => {
  files = scratchFolder();
  log = changeLog(files.path, { 'machine.openshift.io': ['machinesets', 'machines'], '': ['secrets'] });
  voyage = await startVoyage({ operator: false, apiserverFlags: log.flags });
  gate = await openApiGate(voyage.sandbox);
  const { directory } = voyage.sandbox;
  const kubeconfig = join(directory, 'operator.kubeconfig');
  await writeFile(kubeconfig, gate.kubeconfig, { mode: 0o600 });
  const logs = { sandbox: directory, log: join(directory, 'operator.log'), compiled: join(directory, 'compiled') };
  const folder = await voyage.folder(set);
  const args = operatorProgram.args({ voyage, kubeconfig, folder });
  start = () => startProcess(operatorProgram.module, args, logs);
  await voyage.createSet({ name: set, folder });
  operator = start();
  await voyage.current(set, oldRelease);
  for (const release of [first, second]) {
    await voyage.release(await voyage.image(release));
    await voyage.current(set, release);
  }
});

after(async () => {
  await operator?.[Symbol.asyncDispose]();
  await gate?.[Symbol.asyncDispose]();
  await voyage?.[Symbol.asyncDispose]();
  files?.[Symbol.dispose]();
});

const image = (...args: readonly string[]): Promise<Ended> => runImage(voyage.sandbox, ...args);
const drydock = (...args: readonly string[]): Promise<Ended> => runDrydock(voyage.sandbox, ...args);

/** Tree and status are one answer: of each set in the same words, and the pin has a line of its own beside what is folded. */
async function tellsTheSame(): Promise<void> {
  const tree = await drydock('tree', '-o', 'json');
  assert.deepEqual([tree.code, flaws('tree', tree.out)], [0, []], tree.errors);
  const { items } = JSON.parse((await drydock('status', '-o', 'json')).out) as { readonly items: readonly BootImage[] };
  const told = new Map<string, unknown>();
  JSON.parse(tree.out, (_key, value: unknown) => {
    const one = value as { readonly fine?: boolean; readonly set: string; readonly status: object } | undefined;
    if (one?.fine !== undefined) told.set(one.set, one.status);
    return value;
  });
  assert.equal(told.size, items.length);
  for (const { status = {} } of items) {
    const { phase, progress, reason, message, nextStep, since, revertTo } = status;
    const said = { phase, progress, reason, message, nextStep, since, revertTo };
    assert.deepEqual(told.get(status.set ?? ''), JSON.parse(JSON.stringify(said)));
  }
  const { out } = await drydock('tree');
  assert.match(out, new RegExp(`leads boot images .*\\n(?:.*\\n)*.*release ${first}\\n`));
  assert.match(out, new RegExp(`• ms/${set}  Current  .*pinned by .* until it is released\\n`));
  assert.match(out, new RegExp(`✔ release ${third}: ms/witness  Current`));
}

const pinned = (release: string) =>
  voyage.status(
    set,
    `pinned at ${release}`,
    ({ current, reason, phase }) => current === release && reason === 'Pinned' && phase === 'Current',
  );

test('history, revert and release, with the operator as a process: no upload, no move by the next release, and back', async () => {
  const history = await image('history', set);
  assert.equal(history.code, 0, history.errors);
  assert.match(history.out, new RegExp(`${second} +release +\\S+ +InUse`));
  // The operator looks at a place a minute after it moved a set; a revert looks now, and so does this.
  assert.match(history.out, new RegExp(`${first} +release +\\S+ +Replaced +yes\\n`), history.out);
  assert.doesNotMatch(history.out, /not looked at/);
  const before = await voyage.template(set);
  const { count } = await voyage.switchboard.uploads();

  const { spec } = await voyage.client.get(MachineSet, { namespace: machineApi, name: set });
  const labels = spec?.selector?.matchLabels ?? {};
  await voyage.client.create(Machine, { metadata: { namespace: machineApi, name: 'made-since', labels } });
  const asked = await image('revert', set);
  assert.match(asked.out, /\n {2}machines {2}1 of 1 were made since \S+, when the image came: made-since; they stay/);
  assert.equal(asked.code, 5, 'nobody said yes');
  assert.equal(await voyage.template(set), before);
  const reverted = await image('revert', set, '--reason', 'nodes do not boot', '--yes');
  assert.equal(reverted.code, 0, `${reverted.out}${reverted.errors}`);
  assert.match(reverted.out, new RegExp(`^ms/${set}: ${second} → ${first}\n`));
  assert.match(reverted.out, /upload {4}none\n/);
  const status = await pinned(first);
  assert.equal(status.history?.[0]?.by, 'revert');
  assert.deepEqual([status.history?.[1]?.release, status.history?.[1]?.outcome], [second, 'RevertedFrom']);
  assert.equal((await voyage.switchboard.uploads()).count, count, 'nothing was uploaded');
  const back = await voyage.template(set);
  assert.match(back, new RegExp(first.replaceAll('.', '\\.')));

  await voyage.createSet({ name: 'witness', folder: await voyage.folder('witness') });
  await voyage.release(await voyage.image(third));
  await voyage.current('witness', third);
  assert.equal(await voyage.template(set), back, 'the next release moved a pinned set');
  await pinned(first);

  await tellsTheSame();

  for (const [name, args] of [
    ['image-history', ['history', set]],
    ['image-revert', ['revert', set, '--to', first, '--yes']],
  ] as const)
    assert.deepEqual(flaws(name, (await image(...args, '-o', 'json')).out), [], name);
  const gone = await image('revert', set, '--to', '1.2.3', '--yes', '-o', 'json');
  assert.equal(gone.code, 3, gone.out);
  assert.match(gone.errors, /pinned to 1\.2\.3, which is not in/);
  assert.deepEqual(flaws('image-revert', gone.out), []);
  assert.match(gone.out, /"result": "refused"/);

  const released = await image('release', set, '--reason', 'they boot again', '--yes', '-o', 'json');
  assert.deepEqual([released.code, flaws('image-release', released.out)], [0, []], released.errors);
  await voyage.current(set, third);
  const { spec: lifted, status: kept } = await voyage.client.get(BootImage, key);
  assert.equal(lifted?.pin, undefined);
  const [, entry] = kept?.history ?? [];
  assert.deepEqual([entry?.by, entry?.pinReason, entry?.pinnedBy], ['revert', 'nodes do not boot', lifted?.lifted?.by]);
  assert.deepEqual(
    kept?.pins?.map(({ release, reason, liftedBy, liftedReason }) => [release, reason, liftedBy, liftedReason]).at(-1),
    [first, 'nodes do not boot', entry?.pinnedBy, 'another pin replaced it'],
  );
  assert.equal(kept?.pins?.[0]?.liftedReason, 'they boot again');
  const after = await image('history', set);
  assert.match(
    after.out,
    /\nWHEN +WHO +PINS\n.* lifted: they boot again\n[\s\S]* lifted: another pin replaced it\n.* pinned to \S+: nodes do not boot\n/,
  );
  const told = await drydock('history', set);
  assert.match(told.out, new RegExp(` its pin to ${first} was lifted: they boot again\\n`));
  assert.match(told.out, new RegExp(` was pinned to ${first}: nodes do not boot\\n`));
});

test('OWN-18 the installer’s own template, which no failure domain names: refused with the command by which a person says what it is, and gone back to once that was said', async () => {
  const refused = await image('revert', 'witness', '--to', oldRelease, '--yes');
  assert.equal(refused.code, 3, refused.out);
  assert.match(
    refused.errors,
    /and nothing proves that it is the template that the set had: it is not adopted, and no/,
  );
  const [, command = ''] = /say so: drydock (template adopt .* --mark-key FILE)/.exec(refused.errors) ?? [];
  const { url, ca, user, password } = voyage.sandbox.vcenter;
  const { data = {} } = await voyage.client.get(Secret, { namespace: 'drydock', name: 'drydock-mark-key' });
  const file = join(files.path, 'mark.key');
  await writeFile(file, `k1:${Buffer.from(data['k1'] ?? '', 'base64').toString()}\n`, { mode: 0o600 });
  // The command, as it was said, with the key and where the simulator is.
  const words = command
    .replace(/ FILE$/, ` ${file}`)
    .replace(/--url \S+/, `--url ${url} --ca ${ca} --username ${user}`);
  const adopted = await runCommand(voyage.sandbox, words.split(' '), { GOVC_PASSWORD: password });
  assert.equal(adopted.code, 0, adopted.errors);
  const { count } = await voyage.switchboard.uploads();
  const reverted = await image('revert', 'witness', '--to', oldRelease, '--yes');
  assert.equal(reverted.code, 0, `${reverted.out}${reverted.errors}`);
  assert.match(await voyage.template('witness'), /-rhcos-fd1$/);
  assert.equal((await voyage.switchboard.uploads()).count, count, 'nothing was uploaded');
  assert.equal((await image('release', 'witness', '--yes')).code, 0);
  await voyage.current('witness', third);
});

test('twenty SIGKILLs during reverts, before and after each write of one: exactly one outcome each, no upload, nothing left', async () => {
  const folder = `/DC0/vm/${set}`;
  const names = async (): Promise<readonly string[]> => [...(await voyage.inventory(folder)).keys()].toSorted();
  const before = await names();
  const { count } = await voyage.switchboard.uploads();
  const points = ['bootimages/status', 'machinesets'].flatMap((resource) =>
    (['before', 'after'] as const).map((when) => ({ resource, when })),
  );
  for (const seed of seeds(20, 10_000, 'kills during a revert')) {
    const kill = seed - 1;
    const release = kill % 2 === 0 ? first : second;
    const { resource, when } = points[Math.floor(kill / 2) % points.length] ?? assert.fail('there is a point');
    {
      await using hold = gate.hold((write) => write.resource === resource && fitsRevert(write.body, resource), when);
      await voyage.client.mergePatch(BootImage, key, { spec: { pin: { release, image: null } } });
      await Promise.race([hold.held, operator.died]);
      await operator.crash();
    }
    for await (const lease of voyage.client.list(Lease, { namespace: machineApi }))
      await voyage.client.replace(Lease, { ...lease, spec: { ...lease.spec, holderIdentity: '' } });
    operator = start();
    await Promise.race([pinned(release), operator.died]);
    assert.match(await voyage.template(set), new RegExp(release.replaceAll('.', '\\.')));
  }
  assert.equal((await voyage.switchboard.uploads()).count, count);
  assert.deepEqual(await names(), before);
});

/** Of the set that goes back: what is written of other sets is none of a revert. */
function fitsRevert(body: string, resource: string): boolean {
  return resource === 'machinesets' || (body.includes(`"ms/${set}"`) && body.includes('"Switching"'));
}

const fourth = '9.11.20261105-0';
const planned = 'plan-a';

/** Methods of the vCenter that plans name. */
const METHODS =
  /^(ImportVApp|HttpNfcLeaseComplete|ReconfigVM_Task|MarkAsTemplate|Rename_Task|SetField|AddCustomFieldDef|Destroy_Task)$/;

const sorted = (calls: readonly string[]): readonly string[] => calls.toSorted();

test('a plan is applied as it was printed, refused beside an operator and in another world, and completed after a kill', async (t) => {
  const { sandbox, client, switchboard } = voyage;
  const file = join(sandbox.directory, 'plan.json');
  const folder = await voyage.folder(planned);

  await t.test('beside an operator: exit code 3, with its name and how to pause it', async () => {
    assert.ok([0, 3, 6].includes((await image('plan', '--out', file)).code));
    const refused = await image('apply', file, '--yes', '-o', 'json');
    assert.equal(refused.code, 3, refused.errors);
    const [lease] = await Array.fromAsync(client.list(Lease, { namespace: machineApi }));
    assert.match(refused.errors, new RegExp(`${lease?.spec?.holderIdentity} leads boot images`));
    assert.match(
      refused.errors,
      /Next: drydock pause --role boot-images --lease-namespace openshift-machine-api, this again, and then drydock resume/,
    );
    assert.deepEqual(flaws('image-apply', refused.out), []);
  });

  await operator[Symbol.asyncDispose]();
  await voyage.createSet({ name: planned, folder, userData: 'worker-user-data-2019' });
  await voyage.release(await voyage.image(fourth));

  await t.test(
    'a plan says what is downloaded, what it takes where, and what changes; nothing is written',
    async () => {
      const shown = await image('plan', planned, '--out', file);
      assert.equal(shown.code, 6, shown.errors);
      assert.match(shown.out, /\n {7}download http:\S+ \(1\.\d MiB, sha256 [0-9a-f]{12}…\)\n/);
      assert.match(
        shown.out,
        /\n {7}upload 1\.\d MiB to datastore LocalDS_0, which has \S+ .iB free; 3\.\d MiB are needed, 1\.0 GiB must stay free\n/,
      );
      assert.match(shown.out, /\nTo do exactly this: drydock image apply \S+plan\.json\n/);
      const json = await image('plan', planned, '-o', 'json');
      assert.deepEqual(flaws('image-plan', json.out), []);
      assert.equal((await image('apply', file)).code, 5, 'nobody said yes');
      assert.match(await voyage.template(planned), /-rhcos-fd1$/);
    },
  );

  await t.test('another world: exit code 4, the first difference, and nothing is changed', async () => {
    const key = { namespace: machineApi, name: planned };
    const before = log.calls().length;
    const annotations = { 'drydock.dev/boot-image': 'Disabled' };
    await client.mergePatch(MachineSet, key, { metadata: { annotations } });
    const refused = await image('apply', file, '--yes', '-o', 'json');
    assert.equal(refused.code, 4, refused.errors);
    assert.match(
      refused.errors,
      /step 3 of the plan says ms\/plan-a: .*left alone by request.*Next: drydock image plan ms\/plan-a --out /,
    );
    assert.deepEqual(flaws('image-apply', refused.out), []);
    await client.mergePatch(MachineSet, key, { metadata: { annotations: { 'drydock.dev/boot-image': null } } });
    assert.equal(log.calls().length - before, 2, 'what this test wrote');
  });

  await t.test(
    'interrupted, and killed after the upload, and applied again: the same end, the planned calls, one upload',
    async () => {
      const plan = JSON.parse(readFileSync(file, 'utf8')) as ClusterPlan;
      assert.deepEqual(
        plan.steps.map(({ kind }) => kind),
        ['image', 'stub', 'point'],
      );
      await switchboard.resetCalls();
      await switchboard.resetUploads();
      const since = log.calls().length;
      for (const how of ['SIGINT', 'SIGKILL'] as const) {
        await using hold = gate.hold(({ resource }) => resource === 'secrets', 'before');
        const args = ['image', 'apply', file, '--yes', '--kubeconfig', join(sandbox.directory, 'operator.kubeconfig')];
        const env = { HOME: sandbox.directory };
        const killed = startProcess(operatorProgram.module, [...args, ...imageReach(sandbox)], {
          ...{ sandbox: sandbox.directory, log: join(sandbox.directory, 'apply.log'), env },
        });
        await Promise.race([hold.held, killed.died]);
        if (how === 'SIGKILL') await killed.crash();
        else {
          process.kill(killed.pid, how);
          await assert.rejects(
            killed.died,
            /ended by itself \(130\): [\s\S]*what is done is done, and drydock image apply \S+ goes on/,
          );
        }
        assert.match(await voyage.template(planned), /-rhcos-fd1$/, 'not pointed yet');
      }
      const applied = await image('apply', file, '--yes', '-o', 'json');
      assert.equal(applied.code, 0, applied.errors);
      assert.deepEqual(flaws('image-apply', applied.out), []);
      assert.match(applied.errors, /ms\/plan-a Switched: /);
      assert.match(await voyage.template(planned), new RegExp(fourth.replaceAll('.', '\\.')));
      assert.equal((await switchboard.uploads()).count, 1);
      const calls = plan.steps.flatMap((step) => (step.kind === 'image' ? step.steps.flatMap((one) => one.calls) : []));
      const methods = calls.map((call) => call.split(' ')[0] ?? '').filter((method) => METHODS.test(method));
      const made = (await switchboard.callLog()).map(({ method }) => method).filter((method) => METHODS.test(method));
      assert.deepEqual(sorted(made), sorted(methods));
      assert.deepEqual(
        sorted(
          log
            .calls()
            .slice(since)
            .map(({ verb, resource, name }) => `${verb} ${resource} ${name}`),
        ),
        // What the old stub said is kept, and then sealed.
        sorted([
          ...['', '-ignition-2', '-ignition-2'].map((suffix) => `update secrets worker-user-data-2019${suffix}`),
          `patch machinesets ${planned}`,
        ]),
      );
      const again = await image('apply', file, '--yes');
      assert.deepEqual([again.code, again.out], [0, 'Nothing of the plan is left to do.\n'], again.errors);
    },
  );

  await t.test('an operator finds all of it done', async () => {
    operator = start();
    await voyage.current(planned, fourth);
    assert.equal((await switchboard.uploads()).count, 1);
  });
});

test('a revert without a leader writes the pin, says that nothing moves yet, and the next operator obeys it; a hold ends by itself', async () => {
  await operator[Symbol.asyncDispose]();
  const { count } = await voyage.switchboard.uploads();
  const before = await voyage.template(set);
  const reverted = await image('revert', set, '--to', first, '--hold', '12h', '--yes', '-o', 'json');
  assert.equal(reverted.code, 3, reverted.errors);
  assert.match(
    reverted.errors,
    /the pin is written, and nothing moves yet: nobody leads boot images.*Next: drydock operator/,
  );
  assert.equal(await voyage.template(set), before);
  const { since = '', until = '' } = (await voyage.client.get(BootImage, key)).spec?.pin ?? {};
  assert.equal(Date.parse(until) - Date.parse(since), 12 * 3_600_000);
  operator = start();
  await Promise.race([pinned(first), operator.died]);
  assert.equal((await voyage.switchboard.uploads()).count, count, 'nothing was uploaded');
  const past = `${new Date(Date.now() - 1_000).toISOString().slice(0, 19)}Z`;
  await voyage.client.mergePatch(BootImage, key, { spec: { pin: { until: past } } });
  await voyage.current(set, fourth);
  assert.equal((await voyage.client.get(BootImage, key)).spec?.pin, undefined);
});
