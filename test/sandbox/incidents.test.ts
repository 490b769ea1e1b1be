import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BootImage, bootImageName, Lease } from '@drydock/api';
import { type ApiGate, openApiGate } from './support/api-gate.ts';
import { operatorProgram } from './support/crash-rig.ts';
import { type Ended, flaws, runDrydock, runImage } from './support/image-cli.ts';
import { type Process, startProcess } from './support/operator-process.ts';
import { eventually, startVoyage, type Voyage } from './support/voyage.ts';
import { machineApi, oldRelease } from './support/voyage-cluster.ts';

const set = 'quay';
const adrift = 'adrift';
const key = { namespace: machineApi, name: bootImageName('ms', set) };
const leaseKey = { namespace: machineApi, name: 'drydock-boot-images' };
const [first, second, third] = ['9.8.20260802-0', '9.9.20260903-0', '9.10.20261004-0'] as const;

let voyage: Voyage;
let gate: ApiGate;
let operator: Process;
let start: () => Process;

before(async () => {
  voyage = await startVoyage({ operator: false });
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
  await voyage.release(await voyage.image(first));
  await voyage.current(set, first);
});

after(async () => {
  await operator?.[Symbol.asyncDispose]();
  await gate?.[Symbol.asyncDispose]();
  await voyage?.[Symbol.asyncDispose]();
});

const drydock = (...args: readonly string[]): Promise<Ended> => runDrydock(voyage.sandbox, ...args);
/** What it printed, of a verb that was to end so. */
async function said(code: number, ...args: readonly string[]): Promise<string> {
  const ended = await drydock(...args);
  assert.equal(ended.code, code, `${args.join(' ')}: ${ended.out}${ended.errors}`);
  return `${ended.out}${ended.errors}`;
}
const holder = async (): Promise<string | undefined> => (await voyage.client.get(Lease, leaseKey)).spec?.holderIdentity;
const paused = async () =>
  (await voyage.client.get(BootImage, key)).status?.conditions?.find(({ type }) => type === 'Paused');

test('a pause outlives whoever led: nothing is begun, all say so and lose nothing, a plan may be applied; resume goes on, and one with an end lapses', async () => {
  const { history, template, revertTo } = (await voyage.client.get(BootImage, key)).status ?? {};
  const pause = await drydock('pause', '--role', 'boot-images', '--reason', 'the storage is moved', '-o', 'json');
  assert.deepEqual([pause.code, flaws('pause', pause.out)], [0, []], pause.errors);
  await eventually('the lease was given back', async () => (await holder()) === '' || undefined);
  await eventually('the image says so', async () => ((await paused())?.status === 'True' ? true : undefined));
  assert.match((await paused())?.message ?? '', /^boot images are paused by .*: the storage is moved; drydock resume/);

  // Whoever comes after one that was killed is as paused.
  await operator.crash();
  const image = await voyage.image(second);
  await voyage.release(image);
  operator = start();
  const words =
    /Nobody leads boot images, which are paused since \d+[smh] by .*: the storage is moved\. To go on: drydock resume --role boot-images/;
  assert.match(await said(0, 'status'), words);
  assert.match(await said(0, 'status', '-o', 'wide'), /Pending +paused .*drydock resume --role boot-images/);
  assert.match(await said(0, 'tree'), words);
  const doctor = await drydock('doctor', '--roles', 'boot-images');
  assert.match(doctor.out, /warn +boot-images +nobody leads it, which is paused since .*: the storage is moved/);
  const is = (await voyage.client.get(BootImage, key)).status;
  assert.deepEqual([is?.history, is?.template, is?.revertTo], [history, template, revertTo]);

  const plan = join(voyage.sandbox.directory, 'paused.plan');
  assert.equal((await runImage(voyage.sandbox, 'plan', '--out', plan)).code, 6);
  const applied = await runImage(voyage.sandbox, 'apply', plan, '--yes', '--cache-dir', voyage.cacheDir);
  assert.equal(applied.code, 0, applied.errors);
  await voyage.current(set, second);
  await eventually('it is paused still', async () => ((await paused())?.status === 'True' ? true : undefined));

  await voyage.release(await voyage.image(third));
  assert.match(await said(0, 'resume'), /^boot-images may go on\n/);
  await voyage.current(set, third);
  assert.equal(await paused(), undefined);
  assert.match(await said(0, 'resume'), /^boot-images was not paused\n/);

  let until = '';
  for (let ms = 5_000, given = false; !given; ms *= 3) {
    until = `${new Date(Date.now() + ms).toISOString().slice(0, 19)}Z`;
    const annotations = { 'drydock.dev/pause': JSON.stringify({ until }) };
    await voyage.client.mergePatch(Lease, leaseKey, { metadata: { annotations } });
    // A slow machine may look after it has lapsed: then it is asked for longer.
    const over = Date.parse(until);
    given = await eventually('the lease was given back', async () => {
      if ((await holder()) === '') return true;
      return Date.now() > over ? false : undefined;
    });
  }
  await eventually('it is led again', async () => (await holder()) !== '' || undefined);
  assert.ok(Date.now() >= Date.parse(until), 'not before it lapsed');
});

test('one set is asked about, is waited for, and a pause names who asked for it', async () => {
  await voyage.createSet({ name: adrift, folder: '/DC0/vm/not-yet' });
  await voyage.status(adrift, 'stuck', ({ phase }) => phase === 'Blocked' || phase === 'Failed');
  // Of one set, as the page says.
  const ready = await eventually('somebody has looked at vCenter since the restart', async () => {
    const { code, out } = await drydock('status', set, '--check');
    return code === 0 ? out : undefined;
  });
  assert.match(ready, new RegExp(`\\nms/${set} .* Current `));
  assert.match(await said(3, 'status', adrift, '--check'), /One set is stuck/);
  for (const [schema, args] of [
    ['machines', ['machines']],
    ['history', ['history']],
    ['wait', ['wait', set, '--timeout', '1s']],
  ] as const) {
    const { code, out, errors } = await drydock(...args, '-o', 'json');
    assert.deepEqual([code, flaws(schema, out)], [0, []], errors);
  }
  assert.match(await said(3, 'wait', set, adrift), /drydock: ms\/adrift is /);
  assert.match(
    await said(5, 'wait', set, '--for', 'release=9.99.20300101-0', '--timeout', '1s'),
    /not within the time/,
  );

  // The server knows as whom.
  assert.match(
    await said(0, 'pause', '--role', 'boot-images', '--as', 'night-shift', '--as-group', 'system:masters'),
    /is paused since \d+s by night-shift\. /,
  );
});
