import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { backendLine, backendOf, recordProcess, scratchFolder } from '@drydock/sandbox';

const program = join(import.meta.dirname, '../../apps/drydock/bin/drydock.js');

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

async function demo(scratch: string, ...args: readonly string[]): Promise<Ended> {
  const temp = join(scratch, 'temp');
  await mkdir(temp);
  const child = spawn(process.execPath, [program, 'demo', '--no-stay', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temp },
  });
  recordProcess(scratch, 'demo', child.pid ?? 0);
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  assert.deepEqual(await readdir(temp), [], 'a file was left behind');
  // Lines that only say how long a step takes already depend on the machine.
  return { code, out: out.replaceAll(/^ {3}… \d+ s\n/gm, ''), errors };
}

test('the demo: a boot image over a SIGKILL, a bad image that reaches no set and a set that goes back, one release on several clouds, a watch over killed sessions, the way back and forth over a trap, and its rehearsal; no file is left', async () => {
  using scratch = scratchFolder();
  const { code, errors, out } = await demo(scratch.path, '--size', '8', '--rate', '16', '--fleet', '200');
  assert.equal(code, 0, `${out}\n${errors}`);
  const [voyage = '', onClouds = ''] = out.split('\nCLOUDS: ');
  const [head = '', back = ''] = voyage.split('\nWAY BACK: ');
  const [clouds = '', rest = ''] = onClouds.split('\nWATCH: ');
  const [watch = '', backAndForth = ''] = rest.split('\nROLLBACK: ');
  const [rollback = '', rehearsal = ''] = backAndForth.split('\nREHEARSAL: ');

  assert.ok(out.startsWith(`${backendLine(backendOf())}\n`), head);
  assert.match(head, /SIGKILL to process \d+/);
  assert.match(head, /ms\/worker-owned\s+Skipped/);
  const newest = head.slice(head.lastIndexOf("vCenter's own inventory"));
  for (const domain of ['fd1', 'fd2']) {
    const found = newest.match(new RegExp(`harbour-7k2xp-rhcos-${domain}-9\\.8\\.20261019-0-[0-9a-f]{8} `, 'g'));
    assert.equal(found?.length, 1, `one template of the newest release in ${domain}:\n${newest}`);
  }

  for (const set of ['a', 'b', 'c'])
    assert.match(
      back,
      new RegExp(`worker-${set} +Blocked +CanaryFailed +\\S+-9\\.8\\.20261019-0-\\S+ \\(unchanged\\)\n`),
    );
  assert.match(back, /canary.*InvalidConfiguration/);
  assert.match(back, /\n +machines left: 0\n/);
  assert.match(back, /\$ drydock image revert worker-a .*--yes\n +ms\/worker-a: 9\.8\.20261019-0 → 9\.8\.20260802-0\n/);
  assert.match(back, /new machines start from the pinned image, after \d\S* s\..*\n +uploads: 0\n/);
  assert.match(
    back,
    /worker-b and worker-c have it\. new machines of ms\/worker-a start from 9\.8\.20260802-0: it is pinned to/,
  );
  assert.match(back, /worker-a follows the release again: \S+-9\.8\.20261116-0-\S+\n/);

  for (const cloud of ['aws', 'gcp', 'azure']) {
    assert.match(clouds, new RegExp(`\\n +${cloud}-worker +Current +\\S+ +one patch, after a look\\n`));
    assert.match(clouds, new RegExp(`\\n +${cloud}-hardened +Skipped +\\S+ +\\(unchanged\\)\\n`));
  }
  assert.match(clouds, /aws-west +Blocked +ami-0123456789abcdef0 +\(unchanged\)/);
  assert.match(clouds, /there is no image ami-0fedcba9876543210 in us-west-2/);
  assert.match(clouds, /gcp-confidential +Blocked +rhcos-9-6-\S+ +\(unchanged\)/);
  assert.match(clouds, /is not SEV_CAPABLE, which confidentialCompute: Enabled of the set asks for\n +next: take/);
  assert.match(clouds, /azure-licensed +Blocked +redhat:rh-ocp-worker:\S+ +\(unchanged\)/);
  assert.match(clouds, /next: read and accept them: az vm image terms accept --publisher redhat /);

  assert.match(watch, /160 changes in .* After half of them all [1-9]\d* sessions are ended/);
  assert.match(watch, /the watch: live, (?:\w+, )*rebuilding, (?:\w+, )*syncing, live\n/);
  assert.match(watch, /machines changed: 40; with a request after their last change: 40;/);
  assert.match(watch, / {3}lost changes: 0\n/);
  const [, destroyed = ''] = /Somebody destroys (\S+) in vCenter by hand/.exec(watch) ?? [];
  assert.match(watch, new RegExp(`noticed after \\d\\S* m?s: template ${destroyed} was destroyed on vcenter`));
  assert.match(watch, /repaired after \d\S* m?s: worker-a points at harbour-7k2xp-rhcos-fd1-\S+, and vCenter has it/);
  assert.match(watch, /WATCH +VCENTER +STATE.*\n +templates +vcenter\.harbour\.example +live +\d+ +1\/1/);
  assert.match(watch, /200 changes at 200\/s, synthetic: from change to request p50 .* p99 .*; lost changes: 0\n/);

  assert.match(rollback, /\$ drydock crd preflight --to crds-4\.17\n +You cannot go to crds-4\.17 yet/);
  assert.match(rollback, /status: 422 status\.capabilities\.enabledCapabilities.*"OperatorLifecycleManagerV1"/);
  assert.match(rollback, /3 writes, 3 refused/);
  assert.match(rollback, /3 writes, none refused; left out of the status/);
  assert.match(rollback, /17 capabilities enabled, OperatorLifecycleManagerV1 among them, .*; lost: 0\n$/);

  if (backendOf() === 'embedded') {
    assert.match(
      rehearsal,
      /needs the real servers\..*\n\n? +\$ make servers && SERVERS=real \.\/drydock demo --chapters rehearsal\n$/,
    );
    return;
  }
  assert.match(rehearsal, /nothing that the manager wrote was refused: [1-9]\d* writes\n/);
  assert.match(rehearsal, /forward again everything is there: 3 objects, lost: 0\n/);
  assert.match(
    rehearsal,
    /OBJECT +WRITE +UNPREPARED +WITH DRYDOCK\n(?: +rehearsal-\S+ +.+ 422 +[1-9]\d* status writes taken\n){3}/,
  );
});

test('one chapter by itself has what it needs; one that does not exist is named', async () => {
  using scratch = scratchFolder();
  const { code, errors, out } = await demo(scratch.path, '--chapters', 'watch', '--size', '1', '--fleet', '50');
  assert.equal(code, 0, `${out}\n${errors}`);
  assert.match(out, /one release of 1 MiB\n/);
  assert.match(out, /Somebody destroys harbour-7k2xp-rhcos-fd1 in vCenter by hand/);
  assert.match(out, /worker-a points at harbour-7k2xp-rhcos-fd1-9\.8\.20260802-0-[0-9a-f]{8},/);
  assert.doesNotMatch(out, /SIGKILL|CLOUDS|ROLLBACK/);

  using other = scratchFolder();
  const wrong = await demo(other.path, '--chapters', 'watch,nothing');
  assert.equal(wrong.code, 2);
  assert.match(wrong.errors, /the chapters are boot-images, way-back, clouds, watch, rollback, rehearsal\./);
});
