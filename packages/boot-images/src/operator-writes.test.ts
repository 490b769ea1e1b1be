import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ClusterOperator,
  type ClusterVersion,
  ConfigMap,
  Infrastructure,
  MachineConfig,
  MachineConfigPool,
  MachineConfiguration,
} from '@drydock/api';
import type { Client } from '@drydock/kube';
import { type Coverage, explore, type Tripwire } from '@drydock/model';
import { optedInAnnotation } from './decide/reflect.ts';
import { createOperatorHalf } from './operator.ts';
import { type FakeClient, fakeClient } from './testing/fake-client.ts';
import { infrastructure, managed } from './testing/fake-cluster.ts';
import { createVerdict } from './verdict/cluster-operator.ts';
import { goldenName, goldenNamespace } from './wakes/triggers.ts';

const golden = { namespace: goldenNamespace, name: goldenName };
const own = { release: '4.21.0', hash: 'abc' };
const theirs = { MCOVersionHash: 'old', MCOReleaseImageVersion: '4.20.0' };
const ours = { MCOVersionHash: own.hash, MCOReleaseImageVersion: own.release };
const payload = { stream: '{}', releaseVersion: '4.21.0' };
const clusterVersion: ClusterVersion = {
  metadata: { name: 'version' },
  status: { desired: { version: '4.21.0' }, history: [{ state: 'Completed', version: '4.21.0' }] },
};

interface World {
  readonly client: FakeClient;
  readonly wrong: string[];
}

/** A control plane of which a node runs a release; the stamps are those of the release before. */
function worldOf(rendered: string): World {
  const client = fakeClient();
  client.put(Infrastructure, infrastructure());
  client.put(ConfigMap, { metadata: golden, data: { ...payload, ...theirs } });
  const annotations = {
    'machineconfiguration.openshift.io/release-image-version': rendered,
    'machineconfiguration.openshift.io/generated-by-controller-version': own.hash,
  };
  client.put(MachineConfig, { metadata: { name: 'rendered-1', annotations } });
  const configuration = { name: 'rendered-1' };
  client.put(MachineConfigPool, {
    metadata: { name: 'master' },
    spec: { configuration },
    status: { configuration, conditions: [{ type: 'Updated', status: 'True' }] },
  });
  const world: World = { client, wrong: [] };
  const mine = JSON.stringify(Object.values(ours));
  client.cluster.subscribe(() => {
    const { stream, releaseVersion, ...stamps } = client.peek(ConfigMap, golden)?.data ?? {};
    const said = JSON.stringify(Object.keys(ours).map((key) => stamps[key]));
    if (said !== JSON.stringify(Object.values(theirs)) && (said !== mine || rendered !== own.release))
      world.wrong.push(`the stamps are ${said}`);
    if (stream !== payload.stream || releaseVersion !== payload.releaseVersion)
      world.wrong.push('the payload of the release changed');
  });
  return world;
}

/** One process: what it knows it reads, and it looks again after each of its writes. */
async function live(
  { client: { cluster, peek } }: World,
  tripwire: Tripwire<'dies'>,
  around: (client: Client) => Client,
): Promise<void> {
  let dead = false;
  cluster.onCall = ({ verb, resource }, phase, { mutates, client }) => {
    if (!mutates || tripwire.hit(`${phase} ${verb} ${resource}`) === undefined) return;
    dead = true;
    client.kill();
    throw new Error('the process is dead');
  };
  try {
    const client = around(cluster.client());
    const warn = (): void => undefined;
    const now = (): Date => new Date(0);
    const run = createOperatorHalf({
      client,
      world: {
        machineConfiguration: () => peek(MachineConfiguration, { name: 'cluster' }),
        infrastructure: () => peek(Infrastructure, { name: 'cluster' }),
        upstream: () => undefined,
        clusterVersion: () => clusterVersion,
        golden: () => peek(ConfigMap, golden),
      },
      verdict: createVerdict({ client, own: { name: 'drydock', version: '1' }, now, warn }),
      ...{ stamp: { own, warn }, now },
    });
    for (let look = 0; look < 3; look += 1) await run();
    if (dead) throw new Error('the process is dead');
  } finally {
    cluster.onCall = undefined;
  }
}

function explored(rendered: string, around: (client: Client) => Client = (client) => client): Promise<Coverage> {
  return explore<World, 'dies'>({
    ...{ faults: ['dies'], depth: 2, setup: () => worldOf(rendered) },
    run: (world, tripwire) => live(world, tripwire, around),
    check: ({ client, wrong }) => {
      assert.deepEqual(wrong, []);
      const stamps = rendered === own.release ? ours : theirs;
      assert.deepEqual(client.peek(ConfigMap, golden)?.data, { ...payload, ...stamps });
      const mc = client.peek(MachineConfiguration, { name: 'cluster' });
      assert.deepEqual(mc?.status?.managedBootImagesStatus?.machineManagers, managed('All'));
      assert.ok(mc.metadata.annotations?.[optedInAnnotation]);
      assert.equal(mc.status.bootImageSkewEnforcementStatus?.automatic?.ocpVersion, '4.21.0');
      const { conditions } = client.peek(ClusterOperator, { name: 'drydock' })?.status ?? {};
      assert.equal(conditions?.find(({ type }) => type === 'Upgradeable')?.status, 'True');
    },
  });
}

test('the operator half dies before and after each of its writes, alone and in pairs: reflection, stamp and verdict end as they should', async () => {
  const { places, scenarios } = await explored(own.release);
  for (const write of [
    'apply machineconfigurations',
    'mergePatch machineconfigurations',
    'replaceStatus machineconfigurations',
    'mergePatch configmaps',
    'create clusteroperators',
    'replaceStatus clusteroperators',
  ])
    for (const phase of ['before', 'after'])
      assert.ok(
        places.some((place) => place.startsWith(`${phase} ${write}`)),
        `${phase} ${write} in ${places.join()}`,
      );
  assert.ok(scenarios > places.length * places.length * 0.5, `${scenarios} histories`);
});

test('BI-V207 a control plane of another release is not stamped, whenever the process dies', async () => {
  const { places } = await explored('4.20.0');
  assert.ok(!places.some((place) => place.includes('configmaps')), places.join());
});

test('negative control: stamps that are written one after the other are found', async () => {
  const inTurn = (client: Client): Client => ({
    ...client,
    mergePatch: async (resource, key, patch, call) => {
      const { metadata: _, data, ...more } = patch as { readonly metadata?: unknown; readonly data?: typeof ours };
      if (data === undefined) return client.mergePatch(resource, key, patch, call);
      const { MCOVersionHash, MCOReleaseImageVersion } = data;
      await client.mergePatch(resource, key, { ...more, data: { MCOVersionHash } } as object, call);
      return client.mergePatch(resource, key, { ...more, data: { MCOReleaseImageVersion } } as object, call);
    },
  });
  await assert.rejects(explored(own.release, inTurn), /the stamps are \["abc","4\.20\.0"\]/);
});
