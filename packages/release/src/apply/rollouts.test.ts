import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock, KubeObject, Resource } from '@drydock/kube';
import { applyOn, configMapOf, type Loose, manifestsOf, wishOf } from '../testing/apply-cluster.ts';
import { instantClock, memoryApplyCluster } from '../testing/memory-apply.ts';
import { rolloutOf } from './health/rollout.ts';
import { applyMemory } from './memory.ts';

const DEPLOYMENT = { group: 'apps', kind: 'Deployment', plural: 'deployments' };
const DAEMON_SET = { group: 'apps', kind: 'DaemonSet', plural: 'daemonsets' };
const STATEFUL_SET = { group: 'apps', kind: 'StatefulSet', plural: 'statefulsets' };
const JOB = { group: 'batch', kind: 'Job', plural: 'jobs' };
type Kind = typeof JOB;
const resourceOf = (kind: Kind): Resource<KubeObject> => ({ ...kind, version: 'v1', scope: 'Namespaced' });
const objectOf = ({ group, kind }: Kind, name: string, spec: Loose = {}): Loose => {
  return { apiVersion: `${group}/v1`, kind, metadata: { namespace: 'default', name }, spec };
};
const condition = (type: string, reason = ''): Loose => ({ conditions: [{ type, status: 'True', reason }] });

const seen = { observedGeneration: 2 };
const CASES: readonly (readonly [title: string, kind: Kind, spec: Loose, status: Loose, expected: string])[] = [
  ['unseen', DEPLOYMENT, {}, { observedGeneration: 1 }, 'its controller has not seen it yet'],
  ['without a pod', DEPLOYMENT, {}, seen, '0 of 1 replicas are updated'],
  ['half updated', DEPLOYMENT, { replicas: 2 }, { ...seen, updatedReplicas: 1 }, '1 of 2 replicas are updated'],
  [
    'with an old pod left',
    DEPLOYMENT,
    {},
    { ...seen, updatedReplicas: 1, replicas: 2, availableReplicas: 2 },
    '1 old replicas are still there',
  ],
  ['not available', DEPLOYMENT, {}, { ...seen, updatedReplicas: 1, replicas: 1 }, '0 of 1 replicas are available'],
  ['rolled out', DEPLOYMENT, {}, { ...seen, updatedReplicas: 1, replicas: 1, availableReplicas: 1 }, 'well'],
  ['paused', DEPLOYMENT, { paused: true }, {}, 'well'],
  ['of nothing', DEPLOYMENT, { replicas: 0 }, {}, 'well'],
  ['stuck', DEPLOYMENT, {}, { ...seen, ...condition('Progressing', 'ProgressDeadlineExceeded') }, 'failed'],
  ['unseen', DAEMON_SET, {}, {}, 'its controller has not seen it yet'],
  ['that no node matches', DAEMON_SET, {}, { ...seen, desiredNumberScheduled: 0 }, 'well'],
  ['without a pod', DAEMON_SET, {}, { ...seen, desiredNumberScheduled: 3 }, '0 of 3 pods are updated'],
  [
    'not available',
    DAEMON_SET,
    {},
    { ...seen, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2 },
    '2 of 3 pods are available',
  ],
  [
    'updated by hand',
    DAEMON_SET,
    { updateStrategy: { type: 'OnDelete' } },
    { ...seen, desiredNumberScheduled: 3, numberAvailable: 3 },
    'well',
  ],
  ['half updated', STATEFUL_SET, { replicas: 2 }, { ...seen, updatedReplicas: 1 }, '1 of 2 replicas are updated'],
  [
    'updated down to its partition',
    STATEFUL_SET,
    { replicas: 2, updateStrategy: { rollingUpdate: { partition: 1 } } },
    { ...seen, updatedReplicas: 1, readyReplicas: 2 },
    'well',
  ],
  ['not ready', STATEFUL_SET, {}, { ...seen, updatedReplicas: 1 }, '0 of 1 replicas are ready'],
  ['without a status', JOB, {}, {}, 'it has not completed yet'],
  ['that runs', JOB, {}, { active: 1 }, 'it has not completed yet'],
  ['that is suspended', JOB, { suspend: true }, {}, 'well'],
  ['that is complete', JOB, {}, condition('Complete'), 'well'],
  ['that failed', JOB, {}, condition('Failed', 'BackoffLimitExceeded'), 'failed'],
];

for (const [title, kind, spec, status, expected] of CASES)
  test(`REL-6 rollout of a ${kind.kind} ${title}`, () => {
    const [manifest] = manifestsOf(objectOf(kind, 'a'));
    assert.ok(manifest !== undefined);
    const health = rolloutOf(manifest, { metadata: { generation: 2 }, spec, status } as never);
    assert.equal(health.state === 'waiting' ? health.why : health.state, expected);
  });

for (const mode of ['initializing', 'updating'] as const)
  test(`REL-6 while ${mode}, a Payload waits at its end for what it starts; what comes after is not held back`, async () => {
    const cluster = memoryApplyCluster([resourceOf(DEPLOYMENT)]);
    const key = { namespace: 'default', name: 'a' };
    const rolledOut = (): void => {
      const live = cluster.cluster.peek(resourceOf(DEPLOYMENT), key);
      const status = { observedGeneration: 9, updatedReplicas: 1, replicas: 1, availableReplicas: 1 };
      cluster.cluster.put(resourceOf(DEPLOYMENT), key, { ...live, status } as never);
    };
    const wish = wishOf(manifestsOf(objectOf(DEPLOYMENT, 'a'), configMapOf('default', 'after', {})), { mode });
    const progress: string[] = [];
    const outcome = await applyOn(
      cluster,
      { ...wish, owner: { name: 'Payload tools', waitsForRollouts: true } },
      {
        onProgress: ({ done, waiting }) => {
          progress.push(`${done} ${waiting.map(({ why }) => why).join()}`);
          if (done === 2) rolledOut();
        },
      },
    );
    assert.deepEqual([outcome.complete, outcome.errors], [true, []]);
    assert.ok(
      progress.some((one) => /^2 .*(replicas|seen)/.test(one)),
      progress.join(' | '),
    );
    // cluster-version-operator's rule: a Deployment without conditions is well.
    cluster.cluster.put(resourceOf(DEPLOYMENT), key, undefined);
    const again = await applyOn(cluster, { ...wish, owner: { name: 'ClusterVersion version' } });
    assert.equal(again.errors.filter(({ reason }) => reason !== 'ResourceClaimed').length, 0);
  });

test('REL-6 a workload that does not roll out within half an hour is a failure that names it', async () => {
  const cluster = memoryApplyCluster([resourceOf(DEPLOYMENT)]);
  let minutes = 0;
  const clock: Clock = {
    ...instantClock,
    now: () => minutes * 60_000,
    // Somebody sets the wall clock: nothing is late by it.
    date: () => new Date(Date.UTC(2026 + minutes, 0, 1)),
    sleep: async (ms, options) => {
      minutes += 1;
      await instantClock.sleep(ms, options);
    },
  };
  const wish = wishOf(manifestsOf(objectOf(DEPLOYMENT, 'a')));
  const owner = { name: 'Payload tools', waitsForRollouts: true };
  const memory = applyMemory();
  const outcome = await applyOn(cluster, { ...wish, owner }, { clock, memory });
  assert.equal(outcome.complete, false);
  assert.match(outcome.errors[0]?.message ?? '', /has not rolled out within 30 minutes: 0 of 1 replicas are updated/);
  assert.ok(minutes >= 30 && minutes < 60, `${minutes}`);
  // The next release has half an hour of its own.
  const next = wishOf(manifestsOf(objectOf(DEPLOYMENT, 'a')), { version: '2.0.0' });
  const before = minutes;
  await applyOn(cluster, { ...next, owner }, { clock, memory });
  assert.ok(minutes - before >= 30, `${minutes - before}`);
});

test('REL-3 a Job that its time to live has removed is not made again for the same release', async () => {
  const cluster = memoryApplyCluster([resourceOf(JOB)]);
  const key = { namespace: 'default', name: 'migrate' };
  let made = 0;
  cluster.hook = (call, phase) => {
    if (phase === 'after' && call.verb === 'create' && call.key?.name === key.name) made += 1;
  };
  const manifests = manifestsOf(objectOf(JOB, key.name));
  const apply = async (mode: 'updating' | 'reconciling', version = '1.0.0'): Promise<void> => {
    const outcome = await applyOn(cluster, wishOf(manifests, { mode, version }));
    assert.deepEqual([outcome.complete, outcome.errors], [true, []]);
  };
  const remove = (): void => cluster.cluster.put(resourceOf(JOB), key, undefined);
  await apply('updating');
  remove();
  await apply('updating');
  assert.equal(made, 2, 'one that somebody removed before it was done is made again');
  const live = cluster.cluster.peek(resourceOf(JOB), key);
  cluster.cluster.put(resourceOf(JOB), key, { ...live, status: condition('Complete') } as never);
  await apply('reconciling');
  remove();
  for (const mode of ['updating', 'reconciling'] as const) await apply(mode);
  assert.equal(made, 2);
  await apply('updating', '2.0.0');
  assert.equal(made, 3, 'another release runs it once more');
});

test('REL-6 what somebody deletes while it is waited for is no rollout; a Job with a time to live may be gone', async () => {
  const cluster = memoryApplyCluster([resourceOf(DEPLOYMENT), resourceOf(JOB)]);
  const owner = { name: 'Payload tools', waitsForRollouts: true };
  const gone = async (kind: Kind, spec: Loose): Promise<string> => {
    const key = { namespace: 'default', name: kind.plural };
    const outcome = await applyOn(
      cluster,
      { ...wishOf(manifestsOf(objectOf(kind, kind.plural, spec))), owner },
      {
        onProgress: ({ done }) => {
          if (done === 1) cluster.cluster.put(resourceOf(kind), key, undefined);
        },
      },
    );
    return `${outcome.complete} ${outcome.errors.map(({ reason }) => reason).join()}`;
  };
  assert.equal(await gone(DEPLOYMENT, {}), 'false UpdatePayloadResourceNotFound');
  assert.equal(await gone(JOB, {}), 'false UpdatePayloadResourceNotFound');
  assert.equal(await gone(JOB, { ttlSecondsAfterFinished: 0 }), 'true ');
});
