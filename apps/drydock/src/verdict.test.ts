import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterOperator } from '@drydock/api';
import { ApiError } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import { verdictLines } from './doctor/operator.ts';
import { upgradeVerdicts, verdictText } from './verdict.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
const { signal } = new AbortController();
const message = 'Upgrades have been disabled because the cluster is using OCP boot image version 4.10.0';

function clusterWith(...operators: readonly ClusterOperator[]) {
  const cluster = memoryCluster({ resources: [ClusterOperator] });
  for (const operator of operators) cluster.put(ClusterOperator, { name: operator.metadata.name }, operator);
  return cluster.client();
}

function operator(name: string, upgradeable: string, reason: string, labels: Record<string, string> = {}) {
  const lastTransitionTime = '2026-01-01T00:55:00Z';
  const conditions = [{ type: 'Upgradeable', status: upgradeable, reason, message, lastTransitionTime }];
  return { metadata: { name, labels }, status: { conditions } } as ClusterOperator;
}

const ours = { 'app.kubernetes.io/managed-by': 'drydock' };
const skew = 'ClusterBootImageSkewError';

test('who holds minor upgrades up because of boot images is said, since when, and what to do', async () => {
  const held = clusterWith(
    operator('drydock', 'False', skew, ours),
    operator('machine-config', 'False', skew),
    operator('etcd', 'False', 'RaftBehind'),
  );
  const found = await upgradeVerdicts(held, signal);
  const next = 'Next: drydock status -o wide, for the sets whose images are too old or fail';
  assert.equal(
    verdictText(found, true, now),
    `ClusterOperator drydock (Drydock) holds minor upgrades up since 5m: ${message}\n  ${next}\n` +
      `ClusterOperator machine-config (machine-config-operator) holds minor upgrades up since 5m: ${message}\n  ${next}\n`,
  );
  assert.match(
    verdictText(found, false, now),
    /^ClusterOperator drydock \(Drydock, which nobody renews\) .*\n {2}Next: drydock operator, or kubectl delete clusteroperator drydock\n/,
  );
  const [line] = await verdictLines(held, { namespace: 'default' }, signal);
  assert.deepEqual([line?.state, line?.next], ['warn', 'drydock operator, or kubectl delete clusteroperator drydock']);
});

test('where nothing is held up status says nothing and doctor that it is so; another reason of upstream is not ours to tell', async () => {
  const free = clusterWith(
    operator('drydock', 'True', 'AsExpected', ours),
    operator('machine-config', 'False', 'Other'),
  );
  assert.equal(verdictText(await upgradeVerdicts(free, signal), true, now), '');
  const lines = await verdictLines(free, { namespace: 'default' }, signal);
  assert.deepEqual(lines, [{ name: 'upgrades', state: 'ok', detail: `ClusterOperator drydock: ${message}` }]);
  const [none] = await verdictLines(clusterWith(), { namespace: 'default' }, signal);
  assert.equal(none?.detail, 'no ClusterOperator holds minor upgrades up because of boot images');
});

test('without the right to read ClusterOperators that is said', async () => {
  const list = (): never => {
    throw new ApiError({ code: 'Forbidden', action: 'list clusteroperators', said: 'no', next: '' });
  };
  const found = await upgradeVerdicts({ list }, signal);
  assert.match(
    verdictText(found, true, now),
    /^Whether boot images hold minor upgrades up could not be read: list clusteroperators: no/,
  );
});
