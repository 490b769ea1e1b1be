import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle, virtualClock } from '@drydock/kube/testing';
import { loginBudget } from '@drydock/vsphere';
import { credentialsOf } from '../kubernetes/credentials.ts';
import { serviceRig } from '../testing/service-rig.ts';

const folder = { type: 'Folder', value: 'f1' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('VS-W51 a session that the server ended: one login more on the same connection, and signals go on', async () => {
  await using rig = await serviceRig();
  const vc1 = rig.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  await rig.vm('a', { uniqueID: 'vm-1' });
  rig.run();
  await rig.service.add('vc1', folder, 'ns/z');
  await rig.live();
  assert.equal(vc1.attempts.length, 1);
  vc1.feed.endSession();
  vc1.power('vm-1', 'poweredOn');
  assert.deepEqual(await rig.until('verified'), ['vc1 ns/a vm-1 changed verified']);
  assert.deepEqual([vc1.attempts.length, vc1.clients], [2, 1]);
});

test('VS-W52 SAFE-5 a wrong password is shown to vCenter twice in half an hour, whoever asks, and then once; the state says so, and the right one is taken at once', async () => {
  const clock = virtualClock();
  const logins = loginBudget({ date: () => clock.now() });
  await using rig = await serviceRig({ clock, logins });
  const vc1 = rig.estate.vcenter('vc1');
  vc1.password = 'right';
  vc1.create('f1', 'vm-1', 'ns/a');
  rig.run();
  const adding = rig.service.add('vc1', folder, 'ns/z');
  for (let minute = 0; minute < 45; minute += 1) {
    await clock.advance(60_000);
    // Somebody else needs the vCenter all the time.
    await assert.rejects(rig.links.of('vc1').findByPath('/dc/vm'), /VIM_LOGIN_(REFUSED|WITHHELD)|refused u/);
    if (minute === 28) assert.equal(vc1.attempts.length, 2);
  }
  assert.equal(await adding, 'pending');
  assert.equal(vc1.attempts.length, 3);
  const { name, reason, until = 0 } = rig.service.reports()[0]?.state ?? {};
  assert.equal(name, 'backoff');
  assert.match(reason ?? '', /vc1 refused u with this password 3 times, last at .*; the next attempt is due at /);
  assert.ok(until - clock.now() > 10 * 60_000, 'what the state says of the next attempt is true');
  const before = clock.now();
  rig.credentials = { user: 'u', password: 'right' };
  rig.links.refresh();
  for (let turn = 0; turn < 50 && rig.signals.length === 0; turn += 1) await settle();
  assert.deepEqual(rig.signals, ['vc1 ns/a vm-1 changed']);
  assert.equal(clock.now(), before, 'nobody waited');
});

test('VS-W53 a wrong port ends nothing, and the right one is taken up', async () => {
  await using rig = await serviceRig();
  const vc1 = rig.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.down = true;
  rig.endpoint = 'https://vc1:1';
  rig.run();
  void rig.service.add('vc1', folder, 'ns/z');
  while (rig.service.reports()[0]?.state.reason === undefined) await settle();
  assert.match(rig.service.reports()[0]?.state.reason ?? '', /vc1 is down/);
  vc1.down = false;
  rig.endpoint = 'https://vc1:443';
  rig.links.refresh();
  await rig.until('ns/a vm-1 changed');
  assert.equal(vc1.clients, 2);
});

test('VS-W66 VS-W23 equal credentials log nobody out; new ones end the old session, and what changed meanwhile is told, and nothing else', async () => {
  await using rig = await serviceRig();
  const vc1 = rig.estate.vcenter('vc1');
  for (const vm of ['1', '2', '3']) {
    vc1.create('f1', `vm-${vm}`, `ns/${vm}`);
    await rig.vm(vm, { uniqueID: `vm-${vm}` });
  }
  rig.run();
  await rig.service.add('vc1', folder, 'ns/z');
  await rig.live();
  rig.credentials = { user: 'u', password: 'p' };
  rig.links.refresh();
  assert.deepEqual([vc1.attempts.length, vc1.logouts.length], [1, 0]);
  rig.credentials = undefined;
  rig.links.refresh();
  assert.equal(vc1.logouts.length, 0, 'a Secret that is gone for a moment ends nothing');

  rig.credentials = { user: 'u', password: 'p2' };
  vc1.feed.onCall = (call, phase) => {
    // Nobody looks at this moment.
    if (call === 'watch' && phase === 'before' && vc1.logouts.length > 0) vc1.power('vm-2', 'poweredOn');
  };
  rig.links.refresh();
  assert.deepEqual(await rig.until('verified'), ['vc1 ns/2 vm-2 changed verified']);
  await rig.live();
  assert.deepEqual(rig.signals, ['vc1 ns/2 vm-2 changed verified']);
  assert.deepEqual(
    [vc1.attempts.map(({ password }) => password), vc1.logouts.map(({ password }) => password)],
    [['p', 'p2'], ['p']],
  );
});

test('credentials by the names of OpenShift or of vm-operator; what lacks is named, and no value', () => {
  const secret = (data: Readonly<Record<string, string>>): Parameters<typeof credentialsOf>[0] => ({
    metadata: { name: 's', uid: 'u', resourceVersion: '7', annotations: { 'drydock.dev/login-now': 'please' } },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)])),
  });
  const version = { origin: 'Secret ns/s', id: 'u/7', asked: 'please' };
  const both = { username: 'u', password: 'p', 'vc1.username': 'u1', 'vc1.password': 'p1' };
  assert.deepEqual(credentialsOf(secret(both), 'vc1', 'ns/s'), { user: 'u1', password: 'p1', version });
  assert.deepEqual(credentialsOf(secret(both), 'vc2', 'ns/s'), { user: 'u', password: 'p', version });
  assert.throws(
    () => credentialsOf(secret({ username: 'u', 'vc1.password': 'hidden' }), 'vc1', 'ns/s'),
    (error: Error) => {
      return /secret ns\/s has neither vc1\.username/.test(error.message) && !error.message.includes('hidden');
    },
  );
  assert.throws(() => credentialsOf(undefined, 'vc1', 'ns/s'), /there is no secret ns\/s\. Add the keys/);
});
