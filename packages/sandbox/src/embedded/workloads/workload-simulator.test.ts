import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type JsonObject, listOf, metadataOf, objectOf } from '@drydock/kube/testing/api-server';
import { generator } from '@drydock/model';
import type { Spoken } from '../../testing/conversations/conversation-player.ts';
import { embeddedSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import { createObjectServer } from '../apiserver/objects.ts';
import { countOf, hasEnded, isOwnedBy, isReady } from './simulated-cluster.ts';
import { startWorkloadSimulator } from './workload-simulator.ts';

const APPS = '/apis/apps/v1/namespaces/default';
const JOBS = '/apis/batch/v1/namespaces/default/jobs';
const PODS = '/api/v1/namespaces/default/pods';
const MERGE = 'application/merge-patch+json';

const podTemplate = (app: string, image: string, pod = ''): JsonObject => ({
  metadata: { labels: { app }, ...(pod === '' ? {} : { annotations: { 'sandbox.drydock.dev/pod': pod } }) },
  spec: { containers: [{ name: 'main', image }] },
});
const deploymentOf = (name: string, replicas: number, image: string, more: JsonObject = {}, pod = ''): JsonObject => ({
  metadata: { name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: podTemplate(name, image, pod), ...more },
});

interface Rig extends AsyncDisposable {
  call(method: string, path: string, body?: unknown, type?: string): Promise<Spoken>;
  list(group: string, plural: string): readonly JsonObject[];
  settled(): Promise<void>;
  /** Is called with all pods after each change of one. */
  onPods(look: (pods: readonly JsonObject[]) => void): void;
}

async function rig(nodes = 2): Promise<Rig> {
  const objects = createObjectServer({ workloads: true, controllers: { rootCa: 'a certificate' } });
  const simulator = startWorkloadSimulator(objects, { nodes });
  const speak = embeddedSpeaker(objects);
  const settled = async (): Promise<void> => {
    // The garbage collector works between the simulator's rounds: they are done when both have had their turn in vain.
    for (let version = -1; version !== objects.version; ) {
      version = objects.version;
      await simulator.settled();
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await settled();
  return {
    call: (method, path, body, type) =>
      speak({ method, path, ...(body === undefined ? {} : { body }), ...(type === undefined ? {} : { type }) }),
    list: (group, plural) => objects.list(group, plural) as readonly JsonObject[],
    settled,
    onPods: (look) =>
      void objects.subscribe(({ group, plural }) => {
        if (group === '' && plural === 'pods') look(objects.list('', 'pods') as readonly JsonObject[]);
      }),
    [Symbol.asyncDispose]: async () => {
      simulator[Symbol.dispose]();
      await objects[Symbol.asyncDispose]();
    },
  };
}

async function made(rig: Rig, path: string, body: JsonObject): Promise<void> {
  const { code, body: answer } = await rig.call('POST', path, body);
  assert.equal(code, 201, JSON.stringify(answer));
}

/** Each controller's promise, once nothing moves any more. */
function check(rig: Rig): void {
  const pods = rig.list('', 'pods');
  const uids = new Set(
    [...rig.list('apps', 'replicasets'), ...rig.list('apps', 'daemonsets'), ...rig.list('batch', 'jobs')].map(
      (one) => metadataOf(one)['uid'],
    ),
  );
  for (const pod of pods)
    for (const owner of listOf(metadataOf(pod)['ownerReferences']))
      assert.ok(uids.has(objectOf(owner)['uid']), `${String(metadataOf(pod)['name'])} has lost its owner`);
  for (const deployment of rig.list('apps', 'deployments')) {
    const { name, generation } = metadataOf(deployment);
    const { replicas = 0, template, paused } = objectOf(deployment['spec']);
    const status = objectOf(deployment['status']);
    assert.equal(status['observedGeneration'], generation, String(name));
    const sets = rig.list('apps', 'replicasets').filter((one) => isOwnedBy(one, deployment));
    const own = pods.filter((pod) => sets.some((one) => isOwnedBy(pod, one)) && !hasEnded(pod));
    assert.equal(status['replicas'] ?? 0, own.length, `${String(name)}: replicas`);
    assert.equal(status['availableReplicas'] ?? 0, own.filter(isReady).length, `${String(name)}: available`);
    if (paused === true) continue;
    const image = (of: unknown): unknown => objectOf(listOf(objectOf(objectOf(of)['spec'])['containers'])[0])['image'];
    assert.equal(own.length, replicas, `${String(name)}: as many pods as wanted`);
    for (const pod of own) assert.equal(image(pod), image(template), `${String(name)}: pods of the newest template`);
  }
  for (const set of rig.list('apps', 'daemonsets')) {
    const own = pods.filter((pod) => isOwnedBy(pod, set));
    const nodes = own.map((pod) => objectOf(pod['spec'])['nodeName']);
    assert.equal(new Set(nodes).size, nodes.length, 'one pod on a node');
    const { desiredNumberScheduled, numberReady } = objectOf(set['status']);
    assert.deepEqual([desiredNumberScheduled, numberReady], [2, 2]);
    assert.equal(own.length, 2);
  }
  for (const job of rig.list('batch', 'jobs'))
    assert.ok(listOf(objectOf(job['status'])['conditions']).some((one) => objectOf(one)['status'] === 'True'));
  const addresses = pods.map((pod) => objectOf(pod['status'])['podIP']).filter((ip) => ip !== undefined);
  assert.equal(new Set(addresses).size, addresses.length, 'each pod has an address of its own');
}

/** One history: what clients do, and what all objects are in the end, without identities and times. */
async function history(seed: number): Promise<string> {
  const random = generator(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  await using cluster = await rig();
  const names = ['a', 'b'];
  for (let step = 0; step < 14; step += 1) {
    const name = pick(names);
    const path = `${APPS}/deployments/${name}`;
    const [pod] = cluster.list('', 'pods').filter(() => random() < 0.3);
    switch (Math.floor(random() * 9)) {
      case 0:
      case 1:
        await cluster.call('POST', `${APPS}/deployments`, deploymentOf(name, Math.floor(random() * 5), 'one'));
        break;
      case 2:
        await cluster.call(
          'PATCH',
          path,
          { spec: { template: podTemplate(name, pick(['one', 'two', 'three'])) } },
          MERGE,
        );
        break;
      case 3:
        await cluster.call('PATCH', `${path}/scale`, { spec: { replicas: Math.floor(random() * 6) } }, MERGE);
        break;
      case 4:
        await cluster.call('DELETE', path, { propagationPolicy: pick(['Background', 'Foreground']) });
        break;
      case 5:
        if (pod !== undefined) await cluster.call('DELETE', `${PODS}/${String(metadataOf(pod)['name'])}`);
        break;
      case 6:
        await cluster.call('POST', `${APPS}/daemonsets`, daemonSet('one'));
        await cluster.call(
          'PATCH',
          `${APPS}/daemonsets/each`,
          { spec: { template: podTemplate('each', pick(['one', 'two'])) } },
          MERGE,
        );
        break;
      case 7:
        await cluster.call('POST', JOBS, jobOf(`job-${step}`, pick(['', 'fail']), 1 + Math.floor(random() * 3)));
        break;
      default:
        await cluster.call('PATCH', path, { spec: { paused: pick([true, false]) } }, MERGE);
    }
    // Sometimes the next step comes while the last one is still under way.
    if (random() < 0.5) await cluster.settled();
  }
  await cluster.settled();
  check(cluster);
  return cluster
    .list('', 'pods')
    .map((pod) => `${JSON.stringify(metadataOf(pod)['labels'])} ${String(objectOf(pod['spec'])['nodeName'])}`)
    .toSorted()
    .join('\n');
}

const daemonSet = (image: string): JsonObject => ({
  metadata: { name: 'each' },
  spec: { selector: { matchLabels: { app: 'each' } }, template: podTemplate('each', image) },
});

const jobOf = (name: string, pod: string, completions: number): JsonObject => {
  const template = podTemplate(name, 'job', pod);
  return {
    metadata: { name },
    spec: {
      ...{ completions, parallelism: 2, backoffLimit: 1 },
      template: { ...template, spec: { ...objectOf(template['spec']), restartPolicy: 'Never' } },
    },
  };
};

const SEEDS = Number(process.env['DRYDOCK_SEEDS'] ?? (process.env['DRYDOCK_SOAK'] === undefined ? 6 : 1000));
const FIRST = Number(process.env['DRYDOCK_SEED'] ?? process.env['DRYDOCK_SEED_FROM'] ?? 1);

suite('the simulator of workloads', () => {
  test('whatever clients do, each controller keeps its promise once nothing moves', async () => {
    const seeds = process.env['DRYDOCK_SEED'] === undefined ? SEEDS : 1;
    for (let seed = FIRST; seed < FIRST + seeds; seed += 1) {
      try {
        await history(seed);
      } catch (error) {
        throw new Error(`DRYDOCK_SEED=${seed} npm test -- ${import.meta.filename}`, { cause: error });
      }
    }
  });

  test('the same history gives the same pods on the same nodes', async () => {
    assert.equal(await history(3), await history(3));
  });

  test('a roll-out stays between what may be missing and what may be too many', async () => {
    await using cluster = await rig();
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' } };
    await made(cluster, `${APPS}/deployments`, deploymentOf('web', 4, 'one', { strategy }));
    await cluster.settled();
    const seen: [number, number][] = [];
    cluster.onPods((pods) => {
      const living = pods.filter((pod) => metadataOf(pod)['deletionTimestamp'] === undefined && !hasEnded(pod));
      seen.push([living.length, living.filter(isReady).length]);
    });
    await cluster.call('PATCH', `${APPS}/deployments/web`, { spec: { template: podTemplate('web', 'two') } }, MERGE);
    await cluster.settled();
    check(cluster);
    assert.ok(seen.length > 8);
    for (const [living, ready] of seen)
      assert.ok(living <= 5 && ready >= 4 - countOf('25%', 4, Math.floor), `${living} ${ready}`);
  });

  test('pods that never get ready hold a roll-out, and the old ones stay', async () => {
    await using cluster = await rig();
    await made(cluster, `${APPS}/deployments`, deploymentOf('web', 4, 'one'));
    await cluster.settled();
    const template = podTemplate('web', 'two', 'never-ready');
    await cluster.call('PATCH', `${APPS}/deployments/web`, { spec: { template } }, MERGE);
    await cluster.settled();
    const { body } = await cluster.call('GET', `${APPS}/deployments/web`);
    const { availableReplicas, updatedReplicas, unavailableReplicas } = objectOf((body as JsonObject)['status']);
    assert.deepEqual([availableReplicas, updatedReplicas, unavailableReplicas], [3, 2, 2]);
  });

  test('what is not simulated is refused by name', async () => {
    await using cluster = await rig();
    const refused = async (path: string, body: JsonObject, feature: RegExp): Promise<void> => {
      const answer = await cluster.call('POST', path, body);
      assert.equal(answer.code, 501, JSON.stringify(answer.body));
      assert.match(String((answer.body as JsonObject)['message']), feature);
    };
    const { spec } = deploymentOf('x', 1, 'one');
    await refused(
      `${APPS}/statefulsets`,
      { metadata: { name: 'x' }, spec: { ...objectOf(spec), serviceName: 'x' } },
      /StatefulSets/,
    );
    await refused(`${APPS}/deployments`, deploymentOf('x', 1, 'one', { minReadySeconds: 3 }), /minReadySeconds/);
    const job = jobOf('x', '', 1);
    await refused(JOBS, { ...job, spec: { ...objectOf(job['spec']), completionMode: 'Indexed' } }, /Indexed Jobs/);
    const pod = {
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
    };
    await refused(PODS, { metadata: { name: 'x' }, spec: pod }, /PersistentVolumeClaims/);
  });
});
