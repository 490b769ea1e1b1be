import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { createClient, type KubeObject, loadKubeconfig, type Resource } from '@drydock/kube';
import { fastClock } from '@drydock/kube/testing';
import { firstSeed, generator, repetitions } from '@drydock/model';
import { APPLY_SCENARIOS, type ApplyCluster, applyVoyage } from '@drydock/release/testing';
import { type Sandbox, startSandbox } from '@drydock/sandbox';

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
  let writes = 0;
  return {
    namespace,
    // What is waited ten seconds for in a cluster is over in a tenth of one.
    clock: fastClock(100),
    writes: () => writes,
    client: (actor) =>
      createClient(config, {
        onRequest: ({ method }) => {
          if (actor === 'manager' && method !== 'GET') writes += 1;
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
