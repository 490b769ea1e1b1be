import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { ApiError, type Key, type KubeObject, type Resource } from '@drydock/kube';
import { ReleaseError } from '../errors.ts';
import { applyOn, configMapOf, type Loose, manifestsOf, wishOf } from '../testing/apply-cluster.ts';
import { APPLY_SCENARIOS } from '../testing/apply-scenarios.ts';
import { discovered, memoryApplyCluster } from '../testing/memory-apply.ts';

for (const scenario of APPLY_SCENARIOS) test(`in memory: ${scenario.name}`, () => scenario.run(memoryApplyCluster()));

const kindOf = (
  group: string,
  kind: string,
  plural: string,
  scope: 'Cluster' | 'Namespaced',
): Resource<KubeObject> => ({
  ...{ group, version: 'v1', kind, plural, scope },
});
const OPERATOR = kindOf('config.openshift.io', 'ClusterOperator', 'clusteroperators', 'Cluster');
const HOOKS = kindOf(
  'admissionregistration.k8s.io',
  'ValidatingWebhookConfiguration',
  'validatingwebhookconfigurations',
  'Cluster',
);
const SLICE = kindOf('discovery.k8s.io', 'EndpointSlice', 'endpointslices', 'Namespaced');

test('a payload with an annotation that says nothing is refused by file and line, and nothing of it is applied', async () => {
  const cluster = memoryApplyCluster();
  const bad = configMapOf('default', 'b', {}, { annotations: { 'release.openshift.io/delete': 'yes' } });
  const work = applyOn(cluster, wishOf(manifestsOf(configMapOf('default', 'a', {}), bad)));
  await assert.rejects(work, (error) => error instanceof ReleaseError && /0000_10_a_01\.yaml:1/.test(error.message));
  assert.equal(cluster.writes(), 0);
});

test('what is edited after a node has begun, and before its turn, is put right in the same attempt', async () => {
  const cluster = memoryApplyCluster();
  const wish = wishOf(manifestsOf(...['a', 'b'].map((name) => configMapOf('default', name, { x: '1' }))));
  assert.equal((await applyOn(cluster, wish)).complete, true);
  let looks = 0;
  const look = (resource: Resource<KubeObject>, key: Key) => {
    if (key.name === 'b' && looks++ === 1) cluster.cluster.put(ConfigMap, key as never, { data: { x: 'edited' } });
    return { known: true, object: cluster.cluster.peek(resource, key) } as const;
  };
  const outcome = await applyOn(cluster, wish, { memory: await discovered(cluster.cluster), live: { look } });
  assert.equal(outcome.complete, true);
  assert.ok(looks > 1, 'it was looked at when the node began, and in its turn');
  assert.deepEqual(cluster.cluster.peek(ConfigMap, { namespace: 'default', name: 'b' })?.data, { x: '1' });
});

test('what fails for a while is tried again within the attempt, and said to be waited for', async () => {
  const cluster = memoryApplyCluster();
  let failures = 2;
  cluster.hook = (call, phase) => {
    if (phase === 'before' && call.verb === 'create' && call.key?.name === 'a' && failures > 0) {
      failures -= 1;
      throw new ApiError({ code: 'Connection', action: 'create ConfigMap default/a', said: 'the connection was cut' });
    }
  };
  const said: string[] = [];
  const outcome = await applyOn(cluster, wishOf(manifestsOf(configMapOf('default', 'a', { a: '1' }))), {
    onProgress: ({ waiting }) => said.push(...waiting.map(({ object, why }) => `${object.name}: ${why}`)),
  });
  assert.deepEqual([outcome.complete, outcome.errors, outcome.progress.waiting], [true, [], []]);
  assert.match(said[0] ?? '', /^a: create ConfigMap default\/a: the connection was cut/);
});

test('a ClusterOperator is made before what comes with it, with what it relates to; the release waits until its operator has the version', async () => {
  const cluster = memoryApplyCluster([OPERATOR]);
  const status = {
    versions: [{ name: 'operator', version: '2' }],
    relatedObjects: [{ resource: 'namespaces', name: 'n' }],
  };
  const operator: Loose = {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterOperator',
    metadata: { name: 'dns' },
    status,
  };
  const order: string[] = [];
  const report = (version: string) => {
    const conditions = [
      ['Available', 'True'],
      ['Degraded', 'False'],
    ].map(([type, is]) => ({ type, status: is }));
    const live = cluster.cluster.peek(OPERATOR, { name: 'dns' });
    cluster.cluster.put(OPERATOR, { name: 'dns' }, {
      ...live,
      status: { conditions, versions: [{ name: 'operator', version }] },
    } as never);
  };
  cluster.hook = (call, phase) => {
    if (phase === 'after' && call.verb.startsWith('replaceStatus')) {
      const { status: first } = cluster.cluster.peek(OPERATOR, { name: 'dns' }) as never as { readonly status: Loose };
      assert.deepEqual(first, { relatedObjects: status.relatedObjects });
      report('1');
    }
    if (phase === 'after' && call.verb === 'create' && !call.key?.name.startsWith('drydock'))
      order.push(call.key?.name ?? '');
  };
  let asked = 0;
  const outcome = await applyOn(cluster, wishOf(manifestsOf(configMapOf('default', 'a', {}), operator)), {
    onProgress: ({ waiting }) => {
      if (waiting.length === 0) return;
      assert.match(waiting[0]?.why ?? '', /Cluster operator dns is updating versions: operator from 1 to 2/);
      asked += 1;
      report('2');
    },
  });
  assert.deepEqual([outcome.complete, outcome.errors, order, asked], [true, [], ['dns', 'a'], 1]);
});

test('a release waits at its end for the backends of its webhooks; in a reconcile one that does not answer is reported', async () => {
  const cluster = memoryApplyCluster([HOOKS, SLICE]);
  const webhooks = [{ name: 'h.example.com', clientConfig: { service: { namespace: 'default', name: 'hooks' } } }];
  const hooks: Loose = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: HOOKS.kind,
    metadata: { name: 'h' },
    webhooks,
  };
  const manifests = manifestsOf(hooks, configMapOf('default', 'after', {}));
  const ready = (is: boolean) =>
    cluster.cluster.put(SLICE, { namespace: 'default', name: 's' }, {
      metadata: { name: 's', namespace: 'default', labels: { 'kubernetes.io/service-name': 'hooks' } },
      endpoints: [{ conditions: { ready: is } }],
    } as never);
  ready(false);
  const seen: string[] = [];
  const outcome = await applyOn(cluster, wishOf(manifests), {
    onProgress: ({ done, waiting }) => {
      seen.push(`${done} ${waiting.map(({ why }) => why).join()}`);
      if (done === 2) ready(true);
    },
  });
  assert.deepEqual([outcome.complete, outcome.errors], [true, []]);
  assert.ok(
    seen.includes('2 nothing behind Service default/hooks is ready'),
    `what comes after is not held back: ${seen.join(' | ')}`,
  );
  ready(false);
  const held = await applyOn(cluster, wishOf(manifests, { mode: 'reconciling' }));
  assert.deepEqual([held.complete, held.errors.map(({ effect }) => effect)], [true, ['Report']]);
});

test('an object that is being deleted is made again when it is gone', async () => {
  const cluster = memoryApplyCluster();
  const key = { namespace: 'default', name: 'a' };
  await using client = cluster.client('administrator');
  await client.create(ConfigMap, { metadata: { ...key, finalizers: ['example.com/held'] } });
  await client.delete(ConfigMap, key);
  let gone = false;
  const outcome = await applyOn(cluster, wishOf(manifestsOf(configMapOf('default', 'a', { a: '1' }))), {
    onProgress: ({ waiting }) => {
      if (waiting.length > 0 && !gone) cluster.cluster.put(ConfigMap, key, undefined);
      gone ||= waiting.length > 0;
    },
  });
  assert.deepEqual([outcome.complete, gone], [true, true]);
  assert.deepEqual((await client.get(ConfigMap, key)).data, { a: '1' });
});

test('a write that lost is decided anew at once, not after a pause as for a server that is down', async () => {
  const cluster = memoryApplyCluster();
  const wish = (value: string) => wishOf(manifestsOf(configMapOf('default', 'a', { a: value })));
  await applyOn(cluster, wish('1'));
  let edits = 2;
  cluster.hook = (call, phase) => {
    if (phase !== 'before' || call.verb !== 'replace' || call.key?.name !== 'a' || edits === 0) return;
    edits -= 1;
    const live = cluster.cluster.peek(ConfigMap, { namespace: 'default', name: 'a' });
    cluster.cluster.put(
      ConfigMap,
      { namespace: 'default', name: 'a' },
      { ...live, data: { ...live?.data, edit: `${edits}` } },
    );
  };
  const sleeps: number[] = [];
  const clock = { ...cluster.clock, sleep: async (ms: number) => void sleeps.push(ms) };
  const outcome = await applyOn(cluster, wish('2'), { clock });
  assert.deepEqual([outcome.complete, edits, sleeps.filter((ms) => ms >= 1_000)], [true, 0, []]);
});
