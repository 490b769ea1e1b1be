import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deployment, Lease } from '@drydock/api';
import { ApiError, type Clock } from '@drydock/kube';
import { memoryCluster, until } from '@drydock/kube/testing';
import { CLUSTER_VERSION_LEASE, CLUSTER_VERSION_OPERATOR, upstreamManager, whileAlone } from './upstream-manager.ts';

const call = {};

function world(): {
  readonly cluster: ReturnType<typeof memoryCluster>;
  readonly managedBy: ReturnType<typeof upstreamManager>;
  readonly pass: (ms: number) => void;
} {
  let now = 0;
  const clock: Clock = { now: () => now, date: () => new Date(0), sleep: () => Promise.resolve() };
  const cluster = memoryCluster({ namespaces: [CLUSTER_VERSION_LEASE.namespace] });
  return {
    cluster,
    managedBy: upstreamManager(cluster.client(), clock),
    pass: (ms) => {
      now += ms;
    },
  };
}
/** As an operator renews it, by a clock that is a year behind ours. */
const renewed = (holderIdentity: string) => ({
  spec: { holderIdentity, leaseDurationSeconds: 137, renewTime: '2025-01-01T00:00:00.000000Z' },
});

test('whoever renews the Lease of cluster-version-operator manages ClusterVersion, whatever the clocks say, until it was still for as long as it lasts', async () => {
  const { cluster, managedBy, pass } = world();
  assert.equal(await managedBy(call), undefined);
  cluster.put(Lease, CLUSTER_VERSION_LEASE, renewed('node_1'));
  assert.match((await managedBy(call)) ?? '', /^node_1 holds Lease openshift-cluster-version\/version/);
  pass(136_000);
  assert.notEqual(await managedBy(call), undefined);
  cluster.put(Lease, CLUSTER_VERSION_LEASE, renewed('node_1'));
  assert.notEqual(await managedBy(call), undefined);
  pass(137_000);
  assert.notEqual(await managedBy(call), undefined);
  pass(1);
  assert.equal(await managedBy(call), undefined, 'its holder is gone');
  cluster.put(Lease, CLUSTER_VERSION_LEASE, renewed('node_2'));
  assert.notEqual(await managedBy(call), undefined);
  cluster.put(Lease, CLUSTER_VERSION_LEASE, renewed(''));
  assert.equal(await managedBy(call), undefined, 'it was given back');
});

test('its Deployment alone keeps everybody else away, and a cluster that does not say so is not touched', async () => {
  const { cluster, managedBy } = world();
  cluster.put(Deployment, CLUSTER_VERSION_OPERATOR, {});
  assert.match(
    (await managedBy(call)) ?? '',
    /^Deployment openshift-cluster-version\/cluster-version-operator manages it$/,
  );
  cluster.onCall = () => {
    throw new ApiError({ code: 'Forbidden', action: 'get Deployment', said: 'you may not' });
  };
  await assert.rejects(managedBy(call), ApiError);
});

test('work ends as soon as somebody else has come, and not because nobody could say', async () => {
  const answers: (() => string | undefined)[] = [
    () => undefined,
    () => {
      throw new ApiError({ code: 'Connection', action: 'get Lease', said: 'it was cut' });
    },
    () => 'node_1 holds Lease x',
  ];
  const clock: Clock = { now: () => 0, date: () => new Date(0), sleep: () => Promise.resolve() };
  const asked: number[] = [];
  const { signal } = new AbortController();
  using alone = whileAlone(
    async () => {
      asked.push(asked.length);
      return answers[asked.length - 1]?.();
    },
    { clock, signal },
  );
  await until('it ends', () => alone.signal.aborted);
  assert.deepEqual([asked.length, alone.instead], [3, 'node_1 holds Lease x']);
});
