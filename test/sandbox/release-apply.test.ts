import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createClient, type KubeObject, loadKubeconfig, type Resource } from '@drydock/kube';
import { fastClock } from '@drydock/kube/testing';
import { firstSeed, generator, repetitions } from '@drydock/model';
import { readManifestFile, stepFor } from '@drydock/release';
import {
  APPLY_SCENARIOS,
  type ApplyCluster,
  applyOn,
  applyVoyage,
  applyWatched,
  wishOf,
} from '@drydock/release/testing';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { realDefinitions, releaseKinds } from './support/release-kinds.ts';

const NAMESPACE: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  scope: 'Cluster',
};

let sandbox: Sandbox;

before(async () => {
  sandbox = await startSandbox();
});

after(async () => {
  await sandbox?.[Symbol.asyncDispose]();
});

let namespaces = 0;

/** A namespace of its own, so that the inventories of one scenario are seen by no other. */
async function clusterOf(): Promise<ApplyCluster> {
  const config = await loadKubeconfig({ kubeconfig: sandbox.kubeconfig });
  const namespace = `release-apply-${namespaces++}`;
  await using client = createClient(config);
  await client.create(NAMESPACE, { metadata: { name: namespace } });
  let [writes, requests] = [0, 0];
  return {
    namespace,
    // What is waited ten seconds for in a cluster is over in a tenth of one.
    clock: fastClock(100),
    writes: () => writes,
    requests: () => requests,
    client: (actor) =>
      createClient(config, {
        onRequest: ({ method }) => {
          if (actor !== 'manager') return;
          requests += 1;
          if (method !== 'GET') writes += 1;
        },
      }),
  };
}

suite('a release is applied on a real API server as in memory', () => {
  for (const scenario of APPLY_SCENARIOS) test(scenario.name, async () => scenario.run(await clusterOf()));
});

test('an update that is killed at seeded instants, before or after the server acted, ends as if it had not been, forward and back', async () => {
  const { calls } = await applyVoyage(await clusterOf(), { back: false });
  assert.ok(calls > 20, `only ${calls} calls: the voyage no longer does what it is to try`);
  const seed = firstSeed();
  const random = generator(seed);
  for (let round = repetitions(4, 200, 'kills'); round > 0; round -= 1) {
    const at = Math.floor(random() * calls);
    const phase = random() < 0.5 ? 'before' : 'after';
    const back = random() < 0.5;
    await applyVoyage(await clusterOf(), { kill: { at, phase }, back }).catch((error: unknown) => {
      throw new Error(`seed ${seed}: killed ${phase} call ${at}, then ${back ? 'back' : 'on'}`, { cause: error });
    });
  }
});

test('what the server puts into objects of every kind is no difference, and a reconcile of them writes nothing', async () => {
  const cluster = await clusterOf();
  const { namespace } = cluster;
  const files = [...realDefinitions()];
  assert.ok(files.length >= 8);
  const manifests = [
    ...files.flatMap(([file, text]) => readManifestFile(file, text)),
    ...releaseKinds(namespace).flatMap((object, at) =>
      readManifestFile(`0000_50_k_${at + 10}.yaml`, JSON.stringify(object)),
    ),
  ];
  const wish = wishOf(manifests, { mode: 'initializing' });
  await using client = cluster.client('administrator');
  const different: string[] = [];
  for (const manifest of manifests) {
    const { id, version, object } = manifest;
    const kinds = (await client.raw({ path: id.group === '' ? '/api/v1' : `/apis/${id.group}/${version}` })) as {
      readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
    };
    const { name: plural = '', namespaced } =
      kinds.resources.find(({ kind, name }) => kind === id.kind && !name.includes('/')) ?? {};
    const resource: Resource<KubeObject> = {
      group: id.group,
      version,
      kind: id.kind,
      plural,
      scope: namespaced === true ? 'Namespaced' : 'Cluster',
    };
    const made = await client.create(resource, object as unknown as KubeObject);
    const step = stepFor(manifest, made, undefined, 'reconciling');
    if (step.action === 'update')
      different.push(...step.differences.map(({ path, was, is }) => `${id.kind} ${id.name}: ${path}: ${was} → ${is}`));
  }
  assert.deepEqual(different, []);
  const first = await applyOn(cluster, wish);
  assert.deepEqual(first.errors, []);
  await applyWatched(cluster, wish, async (apply) => {
    await apply('reconciling');
    const [writes, requests] = [cluster.writes(), cluster.requests()];
    await apply('reconciling');
    assert.equal(cluster.writes(), writes);
    const asked = cluster.requests() - requests;
    assert.ok(asked <= manifests.length / 10, `${asked} requests for ${manifests.length} manifests`);
  });
});
