import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deployment, Infrastructure, MachineConfiguration } from '@drydock/api';
import { createOperatorHalf } from '../operator.ts';
import { fakeClient } from '../testing/fake-client.ts';
import {
  computed,
  fakeCluster,
  infrastructure,
  managed,
  newRelease,
  oldRelease,
  published,
} from '../testing/fake-cluster.ts';
import { upstreamController } from './coexistence.ts';

const deployment: Deployment = { metadata: { ...upstreamController }, spec: { replicas: 0 } };
const named = /Deployment openshift-machine-config-operator\/machine-config-controller manages boot images/;

test('SAFE-17 beside an upstream controller every BootImage says who acts, asks for nothing, and nothing else is written', async () => {
  const c = fakeCluster();
  c.client.put(Deployment, deployment);
  await c.pass();
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip' && outcome.nextStep === undefined);
  assert.equal(outcome.reason, 'LeftToUpstream');
  assert.match(outcome.message, named);
  assert.deepEqual([outcome.current, outcome.target, outcome.template?.name], [oldRelease, newRelease, computed]);
  assert.deepEqual([c.client.writes, c.conditionWrites, c.events], [[], [], []]);
  assert.ok(c.store.calls.length > 0 && c.store.calls.every((call) => call.startsWith('inspect')));
  assert.match(c.warnings.join(), named);
});

test('it is logged when that begins and when it ends, not at each pass; once it is gone the set is updated', async () => {
  const c = fakeCluster();
  c.client.put(Deployment, deployment);
  await c.pass();
  await c.pass();
  assert.equal(c.warnings.length, 1);
  c.client.objects.delete(`deployments ${upstreamController.namespace}/${upstreamController.name}`);
  await c.pass();
  assert.equal(c.warnings.length, 2);
  assert.equal(c.template('wk-a'), published);
});

test('what cannot be read beside it is no failure of ours', async () => {
  const c = fakeCluster({ stream: '{not json' });
  c.client.put(Deployment, deployment);
  c.store.failInspect = new Error('no route');
  await c.pass();
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip' && outcome.current === undefined);
  assert.deepEqual(c.conditionWrites, []);
});

test('one that comes during an upload stops the patch, and its conditions are left alone from then on', async () => {
  const c = fakeCluster();
  c.store.onStep = (step) => {
    if (step === 'Uploading') c.client.put(Deployment, deployment);
  };
  await c.pass();
  assert.equal(c.store.uploads, 1);
  assert.equal(c.template('wk-a'), computed);
  assert.deepEqual(c.client.writes, []);
  assert.deepEqual(
    c.conditionWrites.map((conditions) => conditions.length),
    [1],
  );
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip' && outcome.reason === 'LeftToUpstream');
});

test('the operator half writes nothing beside it, and the same cluster without it is opted in', async () => {
  const writes = async (upstream: Deployment | undefined): Promise<readonly string[]> => {
    const client = fakeClient();
    client.put(MachineConfiguration, {
      metadata: { name: 'cluster', generation: 2 },
      spec: { managedBootImages: { machineManagers: managed('All') } },
    });
    client.put(Infrastructure, infrastructure());
    const run = createOperatorHalf({
      client,
      world: {
        machineConfiguration: () => client.peek(MachineConfiguration, { name: 'cluster' }),
        infrastructure: () => client.peek(Infrastructure, { name: 'cluster' }),
        upstream: () => upstream,
        ...{ clusterVersion: () => undefined, golden: () => undefined },
      },
      verdict: { write: async () => {}, remove: async () => {} },
      now: () => new Date(0),
    });
    await run();
    return client.writes;
  };
  assert.deepEqual(await writes(deployment), []);
  assert.deepEqual(await writes(undefined), ['status machineconfigurations cluster']);
});
