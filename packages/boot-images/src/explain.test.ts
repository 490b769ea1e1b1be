import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, ConfigMap, Deployment, MachineSet } from '@drydock/api';
import { ApiError } from '@drydock/kube';
import { upstreamController } from './decide/coexistence.ts';
import { type Explanation, explainSet } from './explain.ts';
import {
  computed,
  type FakeCluster,
  fakeCluster,
  machineSet,
  managed,
  newRelease,
  oldRelease,
} from './testing/fake-cluster.ts';

async function explain(c: FakeCluster, name = 'wk-a'): Promise<Explanation> {
  const set = c.client.peek(MachineSet, { namespace: 'openshift-machine-api', name });
  assert.ok(set !== undefined);
  return explainSet(set, c.ports);
}

const noes = ({ answers }: Explanation): readonly string[] =>
  answers.filter(({ answer }) => answer !== 'yes').map(({ question, answer }) => `${question} ${answer}`);

test('an outdated set: every question is answered, the step is a publication, and nothing is written', async () => {
  const c = fakeCluster();
  const said = await explain(c);
  assert.deepEqual(
    said.answers.map(({ question, answer }) => `${question} ${answer}`),
    ['upstream', 'reflected', 'selected', 'stable', 'release', 'set', 'image', 'stub'].map((one) => `${one} yes`),
  );
  assert.equal(said.step, 'publish');
  assert.deepEqual([said.current, said.target, said.template?.name], [oldRelease, newRelease, computed]);
  assert.deepEqual([c.client.writes, c.store.uploads], [[], 0]);
});

test('the step is what the pass then does: a switch names its edits, and after it nothing is left', async () => {
  const templates = { [computed]: { version: newRelease } };
  const c = fakeCluster({ sets: [machineSet('wk-a', { template: 'gone' })], templates });
  const said = await explain(c);
  assert.deepEqual([said.step, said.edits], ['switch', [{ path: ['template'], from: 'gone', to: computed }]]);
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.equal((await explain(c)).step, 'none');
});

test('where upstream acts that is the reason, and what the set boots from is told all the same', async () => {
  const c = fakeCluster();
  c.client.put(Deployment, { metadata: upstreamController } as Deployment);
  const said = await explain(c);
  assert.deepEqual([said.step, noes(said), said.current], ['skip', ['upstream no'], oldRelease]);
  assert.match(said.why, /machine-config-controller manages boot images/);
  assert.equal(said.nextStep, undefined);
});

test('the first no decides; later ones are told too', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a', {}, { ownerReferences: [owner] })], managers: managed('None') });
  c.client.put(ClusterVersion, {
    metadata: { name: 'version' },
    status: { history: [{ state: 'Partial', version: '4.23.0' }] },
  } as ClusterVersion);
  const said = await explain(c);
  assert.deepEqual(noes(said), ['selected no', 'stable no', 'set no']);
  assert.deepEqual(
    [said.step, said.why],
    ['skip', 'machineset wk-a: boot image updates of machinesets are opted out (mode None)'],
  );
  assert.match(said.nextStep ?? '', /managedBootImages/);
});

test('a release without an image, and a bad stub are no; a right that is missing is unknown', async () => {
  const without = fakeCluster();
  without.client.put(ConfigMap, {
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream: '{' },
  } as ConfigMap);
  assert.deepEqual(noes(await explain(without)), ['release no', 'set no']);

  const stub = fakeCluster({ userData: 'no ignition' });
  assert.deepEqual(noes(await explain(stub)), ['stub no']);

  const forbidden = fakeCluster();
  const error = new ApiError({
    code: 'Forbidden',
    action: 'get Secret kube-system/vsphere-creds',
    said: 'no',
    next: '',
  });
  const secret = (): never => {
    throw error;
  };
  const set = machineSet('wk-a');
  const said = await explainSet(set, { ...forbidden.ports, world: { ...forbidden.ports.world, secret } });
  assert.deepEqual([said.step, noes(said)], ['unknown', ['image unknown']]);
});

const owner = { apiVersion: 'example.com/v1', kind: 'MachinePool', name: 'pool', uid: 'u1', controller: true };
