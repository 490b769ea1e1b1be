import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/crd';
import { evaluateClusterOperator } from './cluster-operator.ts';

const operator = (status: JsonObject): JsonObject => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterOperator',
  metadata: { name: 'dns' },
  status,
});
const wanted = operator({ versions: [{ name: 'operator', version: '4.14.1' }] });
const reached = [{ name: 'operator', version: '4.14.1' }];
const condition = (type: string, status: string): JsonObject => ({ type, status });
const well = [condition('Available', 'True'), condition('Degraded', 'False')];

const cases: readonly (readonly [title: string, live: JsonObject | undefined, verdict: string])[] = [
  [
    'Available missing is not available',
    operator({ conditions: [condition('Degraded', 'False')], versions: reached }),
    'ClusterOperatorNotAvailable Fail',
  ],
  [
    'Degraded missing is degraded',
    operator({ conditions: [condition('Available', 'True')], versions: reached }),
    'ClusterOperatorDegraded FailAfterInterval',
  ],
  [
    'versions that differ are only progress',
    operator({ conditions: well, versions: [{ name: 'operator', version: '4.13.9' }] }),
    'ClusterOperatorUpdating None',
  ],
  [
    'of three that are wrong, not available is told',
    operator({ conditions: [condition('Available', 'False'), condition('Degraded', 'True')] }),
    'ClusterOperatorNotAvailable Fail',
  ],
  ['one that is not there is not found', undefined, 'UpdatePayloadResourceNotFound Fail'],
  ['one that is as it should be has no verdict', operator({ conditions: well, versions: reached }), 'well'],
  [
    'lists that are none are absent',
    operator({ conditions: 'True', versions: [null, 3] } as never),
    'ClusterOperatorNotAvailable Fail',
  ],
];

for (const [title, live, expected] of cases)
  test(`RB-R14 ${title}`, () => {
    const verdict = evaluateClusterOperator(wanted, live, 'updating');
    assert.equal(verdict === undefined ? 'well' : `${verdict.reason} ${verdict.effect}`, expected);
    if (verdict !== undefined) assert.match(verdict.message, /^Cluster operator dns /);
  });

test('RB-R14 while initializing, degraded is a report and versions do not count; a manifest without versions is a fault of the payload in any mode', () => {
  const degraded = operator({ conditions: [condition('Available', 'True'), condition('Degraded', 'True')] });
  assert.equal(evaluateClusterOperator(wanted, degraded, 'initializing')?.effect, 'Report');
  assert.equal(evaluateClusterOperator(wanted, operator({ conditions: well }), 'initializing'), undefined);
  assert.equal(evaluateClusterOperator(operator({}), undefined, 'initializing')?.reason, 'ClusterOperatorNoVersions');
});

test('the message of an operator that is updating says from what to what; since is the time of the condition', () => {
  const versions = [{ name: 'operator', version: '4.13.9' }];
  const updating = evaluateClusterOperator(wanted, operator({ conditions: well, versions }), 'updating');
  assert.equal(updating?.message, 'Cluster operator dns is updating versions: operator from 4.13.9 to 4.14.1');
  const since = '2026-01-02T03:04:05Z';
  const conditions = [
    condition('Available', 'True'),
    { type: 'Degraded', status: 'True', reason: 'Broken', message: 'no answer', lastTransitionTime: since },
  ];
  const degraded = evaluateClusterOperator(wanted, operator({ conditions }), 'updating');
  assert.deepEqual(
    [degraded?.message, degraded?.since?.toISOString()],
    ['Cluster operator dns is degraded: Broken: no answer', '2026-01-02T03:04:05.000Z'],
  );
});
