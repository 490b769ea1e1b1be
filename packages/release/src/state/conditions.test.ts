import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConditionsInput, conditionsOf, withConditions } from './conditions.ts';
import { type Failure, failingOf, type Since, sinceAfter } from './failing.ts';
import { notUpgradeableOperators, type UpgradeWorld, upgradeRisks } from './upgradeable.ts';

const minute = 60_000;
const operator = (name: string, reason: Failure['reason'], effect: Failure['effect']): Failure => ({
  object: { group: 'config.openshift.io', kind: 'ClusterOperator', namespace: '', name },
  ...{ reason, effect },
  message: `${name}: ${reason}.`,
});
const after = (
  minutes: number,
  failures: readonly Failure[],
  mode: Parameters<typeof failingOf>[1]['mode'] = 'updating',
) => {
  const since: Since = sinceAfter(failures, new Map(), 0);
  return failingOf(failures, { since: sinceAfter(failures, since, minutes * minute), now: minutes * minute, mode });
};

test('RB-R16 an operator that is degraded fails the release after 40 minutes, not before', () => {
  const degraded = [operator('etcd', 'ClusterOperatorDegraded', 'FailAfterInterval')];
  assert.equal(after(39, degraded).status, 'False');
  assert.deepEqual([after(41, degraded).status, after(41, degraded).reason], ['True', 'ClusterOperatorDegraded']);
  assert.equal(after(41, degraded, 'initializing').status, 'False');
  // What is over begins anew.
  const over = sinceAfter([], sinceAfter(degraded, new Map(), 0), minute);
  assert.equal(
    failingOf(degraded, { since: sinceAfter(degraded, over, 2 * minute), now: 41 * minute, mode: 'updating' }).status,
    'False',
  );
});

test('what is only waited for is slow after half an hour, machines after one and a half; operators that fail alike are one reason', () => {
  const waiting = [operator('etcd', 'ClusterOperatorUpdating', 'None')];
  assert.equal(after(29, waiting).status, 'False');
  assert.deepEqual([after(31, waiting).status, after(31, waiting).reason], ['Unknown', 'SlowClusterOperator']);
  assert.equal(after(89, [operator('machine-config', 'ClusterOperatorUpdating', 'None')]).status, 'False');
  assert.equal(after(91, [operator('machine-config', 'ClusterOperatorUpdating', 'None')]).status, 'Unknown');
  const two = [
    operator('a', 'ClusterOperatorNotAvailable', 'Fail'),
    operator('b', 'ClusterOperatorNotAvailable', 'Fail'),
  ];
  assert.deepEqual(
    [after(0, two).reason, after(0, two).message],
    ['ClusterOperatorsNotAvailable', 'Cluster operators a, b: NotAvailable.'],
  );
  const forbidden: Failure = {
    ...operator('x', 'UpdatePayloadResourceForbidden', 'Fail'),
    object: { group: '', kind: 'ConfigMap', namespace: 'n', name: 'x' },
  };
  assert.equal(after(0, [...two, forbidden]).reason, 'MultipleErrors');
  assert.equal(after(0, [forbidden, forbidden, ...waiting]).reason, 'UpdatePayloadResourceForbidden');
});

const quiet: ConditionsInput = {
  history: [{ state: 'Completed', version: '4.14.1', image: 'i', startedTime: 't', verified: true }],
  work: { version: '4.14.1', mode: 'reconciling', complete: true, done: 3, total: 3, waiting: [] },
  failing: { status: 'False', reason: 'AsExpected', message: '' },
  acceptance: { accepted: true, verified: true, acceptedRisks: '', warnings: [] },
  asked: 'registry.test/r@sha256:1',
  ...{ upgradeRisks: [], implicit: [], wayBack: undefined },
};
const told = (more: Partial<ConditionsInput>) =>
  Object.fromEntries(
    conditionsOf({ ...quiet, ...more }).map(({ type, status, reason, message }) => [
      type,
      `${status} ${reason}: ${message}`,
    ]),
  );

test('progress names what is done, what is waited for and why; what is refused is told with its step', () => {
  const waiting = [{ object: 'Deployment.apps shop/db', why: '1 of 2 replicas' }];
  const { Progressing, Available } = told({
    history: [],
    work: { version: '4.14.1', mode: 'initializing', complete: false, done: 1, total: 3, waiting },
  });
  assert.equal(
    Progressing,
    'True Applying: Working towards 4.14.1: 1 of 3 done (33% complete), waiting for Deployment.apps shop/db (1 of 2 replicas).',
  );
  assert.match(Available ?? '', /^False NothingCompleted/);
  const refused = told({ acceptance: { accepted: false, step: 'LoadPayload', message: 'x.yaml:3 is no object.' } });
  assert.match(refused['ReleaseAccepted'] ?? '', /^False LoadPayload: registry.*x\.yaml:3/);
  assert.match(refused['Available'] ?? '', /^True/, 'what was running goes on');
  assert.equal(told({})['Invalid'], undefined);
  assert.match(
    told({ invalid: { reason: 'AmbiguousVersion', message: 'two' } })['Invalid'] ?? '',
    /^True AmbiguousVersion: two/,
  );
  assert.match(
    told({ implicit: ['MachineAPI'] })['ImplicitlyEnabledCapabilities'] ?? '',
    /^True CapabilitiesImplicitlyEnabled.*MachineAPI/,
  );
});

test('each risk of an upgrade has a condition of its own, which goes with it; times move with the status alone', () => {
  const risks = [
    { reason: 'AdminAckRequired', message: 'a' },
    { reason: 'ClusterOperatorUpgradeable-etcd', message: 'b' },
  ];
  const first = withConditions([], conditionsOf({ ...quiet, upgradeRisks: risks }), 't1');
  assert.deepEqual(
    first.filter(({ type }) => type.startsWith('Upgradeable')).map(({ type, reason }) => `${type} ${reason}`),
    [
      'Upgradeable MultipleReasons',
      'UpgradeableAdminAckRequired AdminAckRequired',
      'UpgradeableClusterOperatorUpgradeableetcd ClusterOperatorUpgradeable_etcd',
    ],
  );
  const foreign = {
    type: 'RetrievedUpdates',
    status: 'False',
    reason: 'NoChannel',
    message: 'm',
    lastTransitionTime: 't0',
  };
  const second = withConditions([...first, foreign], conditionsOf(quiet), 't2');
  assert.deepEqual(
    second
      .filter(({ type }) => type.startsWith('Upgradeable'))
      .map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`),
    ['Upgradeable t2'],
  );
  assert.equal(second.find(({ type }) => type === 'Available')?.lastTransitionTime, 't1');
  assert.deepEqual(second.at(-1), foreign);
});

test('what stands against another minor: work, overrides, deletions, gates that nobody opened, operators', () => {
  const calm: UpgradeWorld = {
    version: '4.14.1',
    updating: false,
    ...{ overridden: [], deleting: [], gates: {}, acks: {}, operators: [] },
  };
  assert.deepEqual(upgradeRisks(calm), []);
  const gates = { 'ack-4.14-kube-1.28': 'Some APIs go.', 'ack-4.15-later': 'Later.', 'no-gate': 'x' };
  assert.match(
    upgradeRisks({ ...calm, gates })[0]?.message ?? '',
    /^Some APIs go\. Say so with ack-4\.14-kube-1\.28=true/,
  );
  assert.deepEqual(upgradeRisks({ ...calm, gates, acks: { 'ack-4.14-kube-1.28': 'true' } }), []);
  assert.equal(upgradeRisks({ ...calm, gates, acks: { 'ack-4.14-kube-1.28': 'yes' } }).length, 1);
  const said = [
    {
      metadata: { name: 'etcd' },
      status: { conditions: [{ type: 'Upgradeable', status: 'False', reason: 'R', message: 'm' }] },
    },
    { metadata: { name: 'dns' } },
  ];
  const operators = notUpgradeableOperators(said);
  const reasons = upgradeRisks({
    ...calm,
    updating: true,
    overridden: ['Deployment.apps a/b'],
    deleting: ['Secret x'],
    operators,
  }).map(({ reason }) => reason);
  assert.deepEqual(reasons, [
    'ClusterVersionUpdating',
    'ClusterVersionOverrides',
    'ResourceDeletionInProgress',
    'ClusterOperatorUpgradeable-etcd',
  ]);
});
