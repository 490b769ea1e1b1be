import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '@drydock/kube';
import { virtualClock } from '@drydock/kube/testing';
import { StaticPodError } from '../errors.ts';
import { validateInstall } from '../revision/install-spec.ts';
import type { Pod } from '../revision/pod.ts';
import { NAMESPACE, NODE_NAME, putInstaller, smallCluster, smallSpec } from '../testing/static-pod-world.ts';
import { byRevision, installerRevision, waitForInstallers } from './installers.ts';

const ENDED = { containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] };
const RUNNING = { containerStatuses: [{ state: {} }] };

test('DU-D42 DU-D43 DU-D44 the revision of an installer pod is the second part of its name', () => {
  const pods = [1, 3, 2].map((n): Pod => ({ metadata: { name: `installer-${n}-node-1` } }));
  assert.deepEqual(
    byRevision(pods).map(({ metadata }) => installerRevision(metadata.name)),
    [1, 2, 3],
  );
  assert.equal(installerRevision('installer-1-retry-2-node-1'), 1);
  for (const name of ['installer', 'installer-x-node', 'installer-99999999999-node'])
    assert.throws(() => installerRevision(name), { code: 'BAD_CONTENT' });
});

test('DU-D64 what is missing is named, in the order of the checks', () => {
  const spec = smallSpec(7);
  const empty = { ...spec, revision: '', nodeName: '', namespace: '', pod: '', sources: {}, timeoutMs: 0 };
  const fixes = [
    { revision: '7' },
    { nodeName: 'n' },
    { namespace: 'ns' },
    { pod: 'p' },
    { sources: spec.sources },
    { timeoutMs: 1 },
  ];
  const said: string[] = [];
  let now = empty;
  for (const fix of fixes) {
    assert.throws(
      () => validateInstall(now),
      (error: Error) => said.push(error.message) > 0,
    );
    now = { ...now, ...fix };
  }
  validateInstall(now);
  const words = ['--revision', 'NODE_NAME', '--namespace', '--pod', '--configmaps', '--timeout-duration'];
  assert.deepEqual(
    said.map((text, n) => text.includes(words[n] ?? '?')),
    words.map(() => true),
    said.join('\n'),
  );
});

function waiting(cluster = smallCluster(7), signal?: AbortSignal) {
  const clock = virtualClock();
  const spec = { client: cluster.client(), namespace: NAMESPACE, nodeName: NODE_NAME, revision: '7' };
  let state = 'waiting';
  const done = waitForInstallers(spec, { clock, ...(signal && { signal }) }).then(
    () => (state = 'clear'),
    (error: Error) => (state = error instanceof StaticPodError ? error.code : error.name),
  );
  return { cluster, clock, done, state: () => state };
}

test('DU-D66 it waits while another revision runs, and pauses before it goes on', async () => {
  const { cluster, clock, state } = waiting();
  putInstaller(cluster, 'installer-7-node', RUNNING);
  putInstaller(cluster, 'installer-6-node', RUNNING);
  putInstaller(cluster, 'installer-9-elsewhere', RUNNING, 'other');
  await clock.advance(20_000);
  assert.equal(state(), 'waiting');
  putInstaller(cluster, 'installer-6-node', ENDED);
  await clock.advance(10_000 + 29_000);
  assert.equal(state(), 'waiting', 'a container may outlive its pod');
  await clock.advance(2_000);
  assert.equal(state(), 'clear');
  assert.equal(clock.sleeping, 0);
});

test('others that do not end, a newer revision, no pod at all: each is an error of its own', async () => {
  const stuck = waiting();
  putInstaller(stuck.cluster, 'installer-6-node');
  await stuck.clock.advance(70_000);
  assert.equal(stuck.state(), 'OTHERS_RUNNING');
  const none = waiting();
  await none.clock.advance(1);
  assert.equal(none.state(), 'NOT_LISTED');
  const late = waiting();
  putInstaller(late.cluster, 'installer-7-node', RUNNING);
  await late.clock.advance(1_000);
  putInstaller(late.cluster, 'installer-8-node', RUNNING);
  await late.clock.advance(30_000);
  assert.equal(late.state(), 'SUPERSEDED');
});

test('a server that does not answer is asked for a minute, then it is an error; also after the pause', async () => {
  const broken = new ApiError({ code: 'Connection', status: 0, action: 'list', said: 'refused' });
  const down = waiting();
  putInstaller(down.cluster, 'installer-7-node', RUNNING);
  down.cluster.onCall = () => {
    throw broken;
  };
  await down.clock.advance(50_000);
  assert.equal(down.state(), 'waiting');
  await down.clock.advance(15_000);
  assert.equal(down.state(), 'ApiError');
  const later = waiting();
  putInstaller(later.cluster, 'installer-7-node', RUNNING);
  await later.clock.advance(10_000);
  later.cluster.onCall = () => {
    throw broken;
  };
  await later.clock.advance(20_000 + 50_000);
  assert.equal(later.state(), 'waiting');
  await later.clock.advance(15_000);
  assert.equal(later.state(), 'ApiError');
});

test('DU-W16 a signal ends the pause at once', async () => {
  const end = new AbortController();
  const { cluster, clock, done, state } = waiting(smallCluster(7), end.signal);
  putInstaller(cluster, 'installer-7-node', RUNNING);
  await clock.advance(5_000);
  end.abort();
  await done;
  assert.equal(state(), 'AbortError');
});
