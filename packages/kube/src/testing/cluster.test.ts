import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { explore } from '@drydock/model';
import { createClient } from '../client/rest.ts';
import { ApiError } from '../errors.ts';
import { statusWriter } from '../writers/status.ts';
import { settle, virtualClock } from './clock.ts';
import { fastClock } from './cluster/fast-clock.ts';
import { KubeClientKilled } from './cluster/hooks.ts';
import { httpAnswer } from './cluster/http.ts';
import { memoryCluster } from './cluster.ts';
import { failureOf } from './failure.ts';
import { SCENARIO_CRDS, WIDGET, type Widget } from './scenarios-crds.ts';
import { CLUSTER_SCENARIOS } from './scenarios-table.ts';
import { CONFIG_MAP, misbehavingServer } from './server.ts';

const namespace = 'scenarios';
const OPTIONS = { crds: SCENARIO_CRDS, namespaces: [namespace] };

suite('cluster scenarios in memory', () => {
  for (const scenario of CLUSTER_SCENARIOS) {
    test(scenario.name, async () => {
      const cluster = memoryCluster({ ...OPTIONS, clock: fastClock(20) });
      await using client = cluster.client();
      await scenario.run({
        client,
        namespace,
        forget: async () => cluster.compact(),
        serve: async (crd) => cluster.serve(crd),
      });
    });
  }
});

suite('cluster scenarios in memory, over HTTP', () => {
  for (const scenario of CLUSTER_SCENARIOS) {
    test(scenario.name, async () => {
      const cluster = memoryCluster({ ...OPTIONS, clock: fastClock(20) });
      await using server = await misbehavingServer(httpAnswer(cluster.wire()));
      await using client = createClient(server.config);
      await scenario.run({
        client,
        namespace,
        forget: async () => cluster.compact(),
        serve: async (crd) => cluster.serve(crd),
      });
    });
  }
});

test('OWN-20 what the cluster in memory refuses over HTTP is said once, with what was done and what comes next', async () => {
  const cluster = memoryCluster(OPTIONS);
  await using server = await misbehavingServer(httpAnswer(cluster.wire()));
  await using client = createClient(server.config);
  const { message } = await failureOf(client.get(CONFIG_MAP, { namespace, name: 'nobody' }));
  assert.equal(
    message,
    `get ConfigMap ${namespace}/nobody: “configmaps "nobody" not found”. Check the name and the namespace, or create it first.`,
  );
  const { message: apis } = await failureOf(client.raw({ path: '/apis' }));
  assert.deepEqual([apis.split('GET /apis').length, apis.split('Check ').length], [2, 2], apis);
});

const key = { namespace, name: 'a' };

test('a hook that throws before a call loses the request, one that throws after it loses the answer', async () => {
  const cluster = memoryCluster(OPTIONS);
  await using client = cluster.client();
  for (const phase of ['before', 'after'] as const) {
    cluster.onCall = (call, at, { mutates }) => {
      assert.deepEqual([call.verb, call.resource, call.key, mutates], ['create', 'configmaps', key, true]);
      if (at === phase) throw new ApiError({ code: 'Connection', action: call.verb, said: 'lost' });
    };
    await assert.rejects(client.create(CONFIG_MAP, { metadata: key }), { code: 'Connection' });
    assert.equal(cluster.peek(CONFIG_MAP, key) !== undefined, phase === 'after');
  }
  assert.equal(cluster.calls, 2);
});

test('a watch whose answer was lost leaves nothing behind', async () => {
  const clock = virtualClock();
  const cluster = memoryCluster({ ...OPTIONS, clock });
  await using client = cluster.client();
  cluster.onCall = (call, phase) => {
    if (phase === 'after') throw new ApiError({ code: 'Connection', action: call.verb, said: 'lost' });
  };
  const watch = client.watch(CONFIG_MAP, { resourceVersion: '1', timeoutSeconds: 60 });
  await assert.rejects(Array.fromAsync(watch), { code: 'Connection' });
  await settle();
  assert.equal(clock.sleeping, 0);
});

test('a killed client makes no more calls and its watches end; others go on', async () => {
  const cluster = memoryCluster(OPTIONS);
  const client = cluster.client();
  await using other = cluster.client();
  const watch = Array.fromAsync(client.watch(CONFIG_MAP, { resourceVersion: '1', timeoutSeconds: 60 }));
  await settle();
  client.kill();
  await assert.rejects(watch, ({ cause }: Error) => cause instanceof KubeClientKilled);
  await assert.rejects(client.get(CONFIG_MAP, key), KubeClientKilled);
  await other.create(CONFIG_MAP, { metadata: key });
});

test('a snapshot is plain, changes are told as they happen, and put lays out a world', async () => {
  const cluster = memoryCluster(OPTIONS);
  const told: string[] = [];
  using _telling = cluster.subscribe(({ resource, old, now }) =>
    told.push(`${resource} ${old !== undefined} ${now !== undefined}`),
  );
  cluster.put(WIDGET, key, { spec: { size: 3 }, status: { phase: 'Ready' } });
  cluster.put(WIDGET, key, { spec: { size: 4 } });
  cluster.put(WIDGET, key, undefined);
  assert.deepEqual(told, [
    'widgets.scenarios.drydock.dev false true',
    'widgets.scenarios.drydock.dev true true',
    'widgets.scenarios.drydock.dev true false',
  ]);
  await using client = cluster.client();
  const made = await client.create(WIDGET, { metadata: key, spec: { size: 5 } });
  assert.deepEqual(cluster.snapshot()['widgets.scenarios.drydock.dev scenarios/a'], made);
  assert.deepEqual(cluster.peek(WIDGET, key), made);
});

test('time is the clock: watches end and objects are born when it says', async () => {
  const clock = virtualClock(Date.UTC(2030, 0, 1));
  const cluster = memoryCluster({ ...OPTIONS, clock });
  await using client = cluster.client();
  const made = await client.create(CONFIG_MAP, { metadata: key });
  assert.equal(made.metadata.creationTimestamp, '2030-01-01T00:00:00Z');
  const from = { resourceVersion: `${cluster.version}`, timeoutSeconds: 150 };
  const seen = Array.fromAsync(client.watch(CONFIG_MAP, from), ({ type }) => `${type} ${clock.now()}`);
  await settle();
  await clock.advance(70_000);
  await client.mergePatch(CONFIG_MAP, key, { data: { x: '1' } });
  await clock.advance(80_000);
  assert.deepEqual(await seen, ['MODIFIED 70000', 'BOOKMARK 120000', 'BOOKMARK 148000']);
  assert.equal(clock.sleeping, 0);
});

test('the crash explorer stops a process around every call, and the next one finishes its work', async () => {
  const faults = ['lost request', 'lost answer', 'kill before', 'kill after'] as const;
  const coverage = await explore({
    faults,
    depth: 2,
    setup: () => memoryCluster(OPTIONS),
    run: async (cluster, tripwire) => {
      await using client = cluster.client();
      cluster.onCall = (call, phase, context) => {
        if (!context.mutates) return;
        const fault = tripwire.hit(`${phase} ${call.verb}`);
        if (fault === undefined) return;
        if (fault.startsWith('kill')) context.client.kill();
        throw new ApiError({ code: 'Connection', action: call.verb, said: fault });
      };
      const want: Widget = { metadata: key, spec: { size: 2 } };
      const made = await client.apply(WIDGET, want, { manager: 'explored' });
      await statusWriter<Widget>({ client, resource: WIDGET }).write(key, () => ({ phase: 'Ready' }), {
        current: made,
      });
    },
    check: (cluster) => {
      const found = cluster.peek(WIDGET, key);
      assert.deepEqual([found?.spec?.size, found?.status?.phase, found?.metadata.generation], [2, 'Ready', 1]);
    },
  });
  assert.deepEqual(coverage.places, ['before apply', 'after apply', 'before replaceStatus', 'after replaceStatus']);
  assert.ok(!coverage.complete || coverage.scenarios > 50, String(coverage.scenarios));
});
