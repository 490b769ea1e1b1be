import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { firstSeed, generator, repetitions } from '@drydock/model';
import type { VmView } from '@drydock/sandbox';
import { connectVCenter, type MoRef, type VCenter } from '@drydock/vsphere';
import { rawVCenter } from './support/raw-vcenter.ts';
import { expectExit, folder, startTemplateCli, type TemplateCli } from './support/template-cli.ts';
import { neighbour } from './support/template-neighbour.ts';

// The first with nobody beside them, so that nothing but the kills may show; the others beside somebody who does what he likes.
const KILLS = repetitions(6, 10_000, 'kills');
const AMONG = repetitions(20, 10_000, 'kills beside a neighbour');
const FIRST = firstSeed();
const NAME = 'rhcos';
const SWAP = ['--name', NAME, '--swap', '--tag', 'golden', '-o', 'json'];

let cli: TemplateCli;
let vcenter: VCenter;
let parent: MoRef;

before(async () => {
  cli = await startTemplateCli();
  const { switchboard, env } = cli;
  await switchboard.createFolder('/DC0/vm/others');
  await switchboard.createVm({ folder: '/DC0/vm/others', name: NAME, template: true, disks: 1 });
  await switchboard.createVm({
    folder,
    name: 'worker',
    powerOn: true,
    disks: 1,
    extraConfig: { 'drydock.birth': '{"owner":"x"}' },
  });
  vcenter = connectVCenter({
    url: env['GOVC_URL'] ?? '',
    credentials: async () => ({ user: env['GOVC_USERNAME'] ?? '', password: env['GOVC_PASSWORD'] ?? '' }),
    tls: { ca: await readFile(env['GOVC_TLS_CA_CERTS'] ?? '', 'utf8') },
    env: {},
  });
  parent = (await vcenter.findByPath(folder)) ?? assert.fail(`there is no ${folder}`);
});
after(async () => {
  await vcenter?.[Symbol.asyncDispose]();
  await cli?.[Symbol.asyncDispose]();
});

/** Resolves the name over and over, as machine controllers do. What is wrong is kept; that the name is absent is judged apart. */
function reader(): { readonly seen: { resolved: number; absent: number; wrong: string[] }; stop(): Promise<void> } {
  const seen = { resolved: 0, absent: 0, wrong: [] as string[] };
  const end = new AbortController();
  const running = (async () => {
    while (!end.signal.aborted) {
      const ref = await vcenter.findChild(parent, NAME);
      const vm = ref === undefined ? undefined : await vcenter.vm(ref);
      // Renamed between the two reads: the name was somebody else's by then.
      if (vm === undefined || vm.name !== NAME) seen.absent += ref === undefined ? 1 : 0;
      else {
        seen.resolved += 1;
        if (!vm.isTemplate || vm.productVersion === undefined)
          seen.wrong.push(`${NAME} is ${vm.ref.value}, which is no finished template`);
      }
      // What a killed process leaves is there until the next one has started, which takes longer than this.
      await delay(20);
    }
  })();
  return {
    seen,
    stop: async () => {
      end.abort();
      await running;
    },
  };
}

/** How long (ms) a publication goes on after its first word, on this machine: the span in which runs are killed. */
async function spanOf(ova: string): Promise<number> {
  const { process: child, ended } = cli.start(['publish', ova, ...SWAP]);
  if (child.stdout !== null) await Promise.race([once(child.stdout, 'data'), ended]);
  const begun = performance.now();
  expectExit(await ended, 0);
  return performance.now() - begun;
}

async function foreign(): Promise<readonly VmView[]> {
  const all = await cli.switchboard.vms();
  return all.filter((vm) => vm.folder !== folder || vm.name === 'worker');
}

/** Starts a publication and kills it a random time after it has said its first word. Resolves to whether it was still running. */
async function killed(ova: string, afterMs: number): Promise<boolean> {
  const { process: child, ended } = cli.start(['publish', ova, ...SWAP]);
  if (child.stdout !== null) await Promise.race([once(child.stdout, 'data'), ended]);
  await Promise.race([delay(afterMs), ended]);
  const running = child.exitCode === null && child.signalCode === null;
  child.kill('SIGKILL');
  await ended;
  return running;
}

test(`VS-W93 BI-W1 a rename swap killed at ${KILLS} seeded instants: the next run converges, and readers never see anything but a finished template`, async () => {
  const withinMs = await spanOf(await cli.ova('9.6.0', { seed: 1 }));
  const strangers = JSON.stringify(await foreign());
  let interrupted = 0;
  for (let seed = FIRST; seed < FIRST + KILLS; seed += 1) {
    const random = generator(seed);
    const version = `9.6.${seed}`;
    const ova = await cli.ova(version, { seed: seed + 1 });
    await cli.switchboard.resetUploads();
    await cli.switchboard.resetNames();
    const watching = reader();
    if (await killed(ova, random() * withinMs)) interrupted += 1;
    // Some recoveries are killed as well.
    if (random() < 0.25) await killed(ova, random() * withinMs);
    expectExit(await cli.start(['publish', ova, ...SWAP]).ended, 0);
    await watching.stop();
    const where = `seed ${seed}`;
    assert.deepEqual(watching.seen.wrong, [], where);
    assert.ok(watching.seen.resolved > 0, where);
    const current = await cli.vm(NAME);
    assert.deepEqual([current.isTemplate, current.productVersion], [true, version], where);
    const listed = expectExit(await cli.start(['list', '-o', 'json']).ended, 0);
    assert.doesNotMatch(listed.stdout, /"(unfinished|staged|leftover)"/, `${where}: ${listed.stdout}`);
    const ours = (await cli.switchboard.vms({ folder })).filter(({ productVersion }) => productVersion === version);
    assert.equal(ours.length, 1, `${where}: ${ours.map(({ name }) => name).join()}`);
    const leases = new Set((await cli.switchboard.uploads()).uploads.map(({ lease }) => lease));
    assert.ok(leases.size <= 3, `${where}: ${leases.size} uploads`);
    // The name was absent between two renames only, and is there again.
    for (const gap of await cli.switchboard.nameGaps({ folder, name: NAME })) assert.notEqual(gap.to, undefined, where);
    assert.equal(JSON.stringify(await foreign()), strangers, where);
  }
  // A handful of kills says nothing of their mix.
  if (KILLS >= 20) assert.ok(interrupted > KILLS / 4, `only ${interrupted} runs were killed before their end`);
});

test(`OWN-20 a rename swap killed at ${AMONG} seeded instants beside somebody who converts and boots templates and forges marks: what is his is never touched, the next run converges or names what he did to the name`, async () => {
  const { switchboard, env } = cli;
  const login = { url: env['GOVC_URL'] ?? '', user: env['GOVC_USERNAME'] ?? '', password: env['GOVC_PASSWORD'] ?? '' };
  await using raw = await rawVCenter({ vcenter: { ...login, ca: env['GOVC_TLS_CA_CERTS'] ?? '' } });
  const { moref: pool } = await switchboard.find('/DC0/host/DC0_C0/Resources');
  const him = neighbour({ switchboard, vcenter, raw, folder, pool, random: generator(FIRST) });
  const withinMs = await spanOf(await cli.ova('9.5.0', { seed: 1 }));
  await him.settle(await cli.vm(NAME));

  const counts = { interrupted: 0, named: 0, booted: 0 };
  for (let seed = FIRST; seed < FIRST + AMONG; seed += 1) {
    const where = `seed ${seed}`;
    const random = generator(seed);
    let version = `9.7.${seed}`;
    let ova = await cli.ova(version, { seed: seed + 1 });
    await switchboard.resetUploads();
    const watching = reader();
    const roaming = him.roam();
    if (await killed(ova, random() * withinMs)) counts.interrupted += 1;
    if (random() < 0.25) await killed(ova, random() * withinMs);
    // Also while nobody of ours runs.
    if (random() < 0.5) await him.take();
    if (seed % 10 === 3) await him.take(NAME, 'converts');
    if (seed % 10 === 6) await him.take(NAME, 'boots and converts back');
    await roaming.stop();
    // The simulator, unlike a vCenter, has one directory for all machines of a name: what he took cannot be imported again.
    if ((await switchboard.vms()).some((vm) => vm.productVersion === version && him.taken.has(vm.moref))) {
      version = `${version}.1`;
      ova = await cli.ova(version, { seed: seed + 1 });
    }
    let ran = await cli.start(['publish', ova, ...SWAP]).ended;
    const bearer = (await switchboard.vms({ folder })).find(({ name }) => name === NAME);
    if (ran.code !== 0) {
      // He made a machine of what bears the name: that is for a person to say, and it is said by name.
      assert.ok(
        bearer !== undefined && !bearer.isTemplate && him.taken.has(bearer.moref),
        `${where}: ${ran.stdout}${ran.stderr}`,
      );
      assert.match(`${ran.stdout}${ran.stderr}`, new RegExp(`${NAME} \\(${bearer.moref}\\) is a machine`), where);
      counts.named += 1;
      await him.clear(bearer.moref);
      ran = expectExit(await cli.start(['publish', ova, ...SWAP]).ended, 0);
    }
    await watching.stop();
    const wrong = watching.seen.wrong.filter((line) => !him.taken.has(/vm-\d+/.exec(line)?.[0] ?? ''));
    assert.deepEqual(wrong, [], where);
    assert.deepEqual(await him.complaints(), [], where);
    const current = await cli.vm(NAME);
    assert.deepEqual([current.isTemplate, current.productVersion], [true, version], where);
    assert.ok(!him.booted.has(current.moref), `${where}: what ran bears the name`);
    const leases = new Set((await switchboard.uploads()).uploads.map(({ lease }) => lease));
    const spoilt = (await switchboard.vms()).filter(
      ({ moref, productVersion }) =>
        [`9.7.${seed}`, `9.7.${seed}.1`].includes(productVersion) &&
        moref !== current.moref &&
        (him.taken.has(moref) || him.forged.has(moref)),
    );
    assert.ok(leases.size <= 3 + spoilt.length, `${where}: ${leases.size} uploads, ${spoilt.length} spoilt by him`);
    counts.booted = him.booted.size;
    if (seed % 5 === 0) {
      expectExit(await cli.start(['gc', '--yes', '--keep', '0', '--grace', '0']).ended, 0);
      assert.deepEqual(await him.complaints(), [], `${where}, after a collection`);
      await him.tidy();
    }
  }
  if (AMONG >= 20) {
    assert.ok(counts.interrupted > AMONG / 4, `only ${counts.interrupted} runs were killed before their end`);
    assert.ok(counts.booted > 0 && counts.named > 0, JSON.stringify(counts));
  }
  // Negative control: somebody who believes what is forged, and tidies up, is noticed.
  await switchboard.renameVm(`${folder}/stranger-true`, 'taken for ours');
  await switchboard.destroyVm(`${folder}/clone-false`);
  assert.equal((await him.complaints()).length, 2);
});
