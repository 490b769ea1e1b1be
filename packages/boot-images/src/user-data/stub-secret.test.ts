import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ControlPlaneMachineSet, MachineSet, Secret } from '@drydock/api';
import { explainSet } from '../explain.ts';
import { platformWith } from '../gcp/platform.ts';
import { runPass } from '../pass/pass.ts';
import {
  bothManaged,
  computed,
  controlPlane,
  type FakeCluster,
  fakeCluster,
  gcpInfrastructure,
  gcpSet,
  gcpStream,
  planeSpec,
  published,
  stub22,
} from '../testing/index.ts';
import { replacesStub } from './ignition.ts';

const own = { namespace: 'openshift-machine-api', name: 'worker-user-data' };
const managed = { ...own, name: 'worker-user-data-managed' };
const source = 'https://api-int.c1:22623/config/worker';
const stub = (version: string, more: object = {}, from: string = source): string =>
  JSON.stringify({ ignition: { version, config: { merge: [{ source: from, verification: {} }] } }, ...more });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A set whose stub is so, beside a managed stub, or none. */
function cluster(userData: string, beside: string | undefined): FakeCluster {
  const c = fakeCluster({ userData });
  Object.assign(c.ports, { stubSecret: 'Managed' });
  if (beside !== undefined) c.client.put(Secret, { metadata: managed, data: { userData: base64(beside) } });
  return c;
}

const secretOf = (c: FakeCluster): unknown =>
  c.client.peek(MachineSet, { ...own, name: 'wk-a' })?.spec?.template?.spec?.providerSpec?.value?.['userDataSecret'];

test('Managed: a set with a stub of Ignition 2 is switched to the managed Secret in the same patch, and no Secret is written', async () => {
  const c = cluster(stub22, stub('3.2.0'));
  await c.pass();
  assert.deepEqual(c.client.writes, ['patch machinesets openshift-machine-api/wk-a']);
  assert.deepEqual([c.template('wk-a'), secretOf(c)], [published, { name: managed.name }]);
});

test('explain says what becomes of the stub, by the way that the operator is told', async () => {
  const c = cluster(stub22, stub('3.2.0'));
  const set = c.client.peek(MachineSet, { ...own, name: 'wk-a' });
  assert.ok(set !== undefined);
  const stubText = async (ports: FakeCluster['ports']): Promise<string | undefined> =>
    (await explainSet(set, ports)).answers.find(({ question }) => question === 'stub')?.text;
  const managedText = 'the set is switched to Secret worker-user-data-managed, which does the same';
  assert.equal(await stubText(c.ports), `user-data Secret worker-user-data has a stub of Ignition 2: ${managedText}`);
  const inPlace = await stubText({ ...c.ports, stubSecret: 'InPlace' });
  assert.match(inPlace ?? '', /: it is converted, and Secret worker-user-data-ignition-2 keeps what it says now$/);
  assert.deepEqual(c.client.writes, []);
});

test('Managed: the switch is guarded by the name that was decided by: whoever changed it meanwhile keeps his', async () => {
  const c = cluster(stub22, stub('3.2.0'));
  const other = { name: 'by-hand' };
  const { client } = c.ports;
  const changing = {
    ...client,
    patch: (...[resource, key, patch, call]: Parameters<typeof client.patch>) => {
      c.edit.set('wk-a', (set) => {
        const value = { ...set.spec?.template?.spec?.providerSpec?.value, userDataSecret: other };
        return { ...set, spec: { template: { spec: { providerSpec: { value } } } } };
      });
      return client.patch(resource, key, patch, call);
    },
  };
  await runPass({ ...c.ports, client: changing as typeof client }, c.state, { reason: 'Test', touched: 'all' });
  assert.deepEqual([c.template('wk-a'), secretOf(c)], [computed, other]);
});

for (const [what, userData, beside] of [
  ['there is no managed Secret', stub22, undefined],
  ['the managed Secret has a stub of Ignition 2 as well', stub22, stub22],
  ['the managed Secret holds no stub', stub22, 'nothing of the kind'],
  ['the managed Secret gets another configuration', stub22, stub('3.2.0', {}, 'https://api-int.c1:22623/config/infra')],
  [
    'somebody added to the stub',
    JSON.stringify({
      ...(JSON.parse(stub22) as object),
      systemd: { units: [{ name: 'own.service', enabled: true, contents: '[Unit]' }] },
    }),
    stub('3.2.0'),
  ],
] as const) {
  test(`Managed: where ${what} the stub is converted in its own Secret`, async () => {
    const c = cluster(userData, beside);
    await c.pass();
    assert.deepEqual(c.client.writes, [
      'replace secrets openshift-machine-api/worker-user-data-ignition-2',
      'replace secrets openshift-machine-api/worker-user-data',
      'replace secrets openshift-machine-api/worker-user-data-ignition-2',
      'patch machinesets openshift-machine-api/wk-a',
    ]);
    assert.deepEqual([c.template('wk-a'), secretOf(c)], [published, { name: own.name }]);
  });
}

test('a customised stub of Ignition 3 is never touched, in either way', async () => {
  const custom = stub('3.1.0', { systemd: { units: [{ name: 'own.service' }] } });
  for (const stubSecret of ['InPlace', 'Managed']) {
    const c = cluster(custom, stub('3.2.0'));
    Object.assign(c.ports, { stubSecret });
    await c.pass();
    assert.deepEqual(c.client.writes, ['patch machinesets openshift-machine-api/wk-a']);
    assert.deepEqual(secretOf(c), { name: own.name });
    assert.equal(c.client.peek(Secret, own)?.data?.['userData'], base64(custom));
  }
});

test('a control plane keeps the name of its Secret, because another one would replace every master', async () => {
  const look = { look: async () => ({ kind: 'available' }) as const };
  const c = fakeCluster({
    ...{ platform: platformWith(look), infrastructure: gcpInfrastructure, stream: gcpStream, userData: stub22 },
    ...{ sets: [], managers: bothManaged('All') },
  });
  Object.assign(c.ports, { stubSecret: 'Managed' });
  c.client.put(Secret, { metadata: managed, data: { userData: base64(stub('3.2.0')) } });
  c.client.put(ControlPlaneMachineSet, controlPlane(gcpSet('like')));
  await c.pass();
  assert.deepEqual(planeSpec(c.client)['userDataSecret'], { name: own.name });
  assert.ok(c.client.writes.includes('replace secrets openshift-machine-api/worker-user-data'));
  assert.equal(c.last('cluster')?.kind, 'current');
});

test('a stub replaces another one only where both say nothing but the same sources', () => {
  const plain = stub('3.5.0');
  assert.equal(replacesStub(stub('3.2.0', { passwd: {}, storage: { files: [] } }), plain), true);
  for (const other of [
    '',
    '[]',
    '{}',
    stub('2.2.0'),
    stub('3.2'),
    stub('3.2.0', { storage: { files: [{ path: '/x' }] } }),
  ])
    assert.equal(replacesStub(other, plain), false, other);
  assert.equal(
    replacesStub(
      JSON.stringify({ ignition: { version: '3.2.0' } }),
      JSON.stringify({ ignition: { version: '3.5.0' } }),
    ),
    false,
  );
  const kernel = { kernelArguments: { shouldExist: ['x'] } };
  assert.equal(replacesStub(stub('3.2.0'), stub('3.5.0', kernel)), false);
});
