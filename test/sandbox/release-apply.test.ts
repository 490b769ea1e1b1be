import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { ConfigMap, CustomResourceDefinition, Lease } from '@drydock/api';
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
  widgetDefinition,
  wishOf,
} from '@drydock/release/testing';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { fromJSONSchema } from 'zod';
import { payloadFolder, type Ran, runRelease } from './support/release-cli.ts';
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

test('what a plan says is done, and nothing else: not where the world moved, beside whoever leads, or without a yes; interrupted, the same command goes on', async () => {
  const world = await clusterOf();
  const { namespace } = world;
  await using client = world.client('administrator');
  const { crd, kind } = widgetDefinition(`${namespace}.example.com`);
  const configMap = (name: string) => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { from: 'release' } },
  });
  const widget = { apiVersion: `${kind.group}/v1`, kind: 'Widget', metadata: { name: 'w', namespace }, spec: {} };
  const folder = payloadFolder(join(sandbox.directory, namespace), '1.1.0', {
    '0000_10_a_1.yaml': configMap('a'),
    '0000_10_a_2.yaml': configMap('b'),
    '0000_20_a_1.yaml': widget,
    '0000_30_a_1.yaml': configMap('c'),
  });
  const file = join(folder, 'plan.json');
  const cluster = ['--kubeconfig', sandbox.kubeconfig];
  const owner = ['--owner', `Payload ${namespace}`, '--lease-namespace', namespace, '--plain'];
  const plan = (): Promise<Ran> => runRelease(['plan', folder, '--out', file, ...owner, ...cluster]);
  const apply = (flags: readonly string[], heard?: Parameters<typeof runRelease>[1]): Promise<Ran> =>
    runRelease(['apply', file, ...flags, ...cluster], heard);
  const dataOf = async (name: string): Promise<object | undefined> =>
    (await Array.fromAsync(client.list(ConfigMap, { namespace }))).find(({ metadata }) => metadata.name === name)?.data;

  const first = await plan();
  assert.deepEqual(
    [first.code, /4 to create/.test(first.out), first.out.includes('drydock release apply')],
    [6, true, true],
  );

  await client.create(ConfigMap, { metadata: { namespace, name: 'b' }, data: { from: 'somebody' } });
  const other = await apply(['--yes']);
  assert.equal(other.code, 4, other.err);
  assert.match(
    other.err,
    new RegExp(`nothing was changed: ConfigMap ${namespace}/b is to be made by the plan, and now it is to be updated`),
  );
  assert.equal(await dataOf('a'), undefined, 'nothing is done of a plan that is none any more');

  assert.equal((await plan()).code, 6);
  const lease = { namespace, name: 'drydock-release' };
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  const held = { holderIdentity: 'operator-7', leaseDurationSeconds: 3600, acquireTime: renewTime, renewTime };
  await client.create(Lease, { metadata: lease, spec: held });
  const beside = await apply(['--yes']);
  assert.equal(beside.code, 3, beside.err);
  assert.match(beside.err, /operator-7 leads releases.* Next: drydock pause --role release --lease-namespace /);
  await client.delete(Lease, lease);
  // Whoever leads in another namespace acts on this cluster, too.
  const inDefault = { ...lease, namespace: 'default' };
  await client.create(Lease, { metadata: inDefault, spec: held });
  const apart = await apply(['--yes']);
  assert.equal(apart.code, 3, apart.err);
  assert.match(
    apart.err,
    /nobody leads releases here: their Lease is in namespace default .*nothing was changed\. Next: drydock release plan .* --lease-namespace default /,
  );
  await client.delete(Lease, inDefault);
  const nowhere = ['--owner', `Payload ${namespace}`, '--lease-namespace', 'not-there', '--plain'];
  await runRelease(['plan', folder, '--out', file, ...nowhere, ...cluster]);
  const unled = await apply(['--yes']);
  assert.deepEqual([unled.code, /there is no namespace not-there for the Lease/.test(unled.err)], [2, true], unled.err);
  assert.equal((await plan()).code, 6);
  assert.equal((await apply([])).code, 5);
  assert.equal(await dataOf('a'), undefined);

  // Its kind is not served yet: what comes after waits for it.
  const cut = await apply(['--yes'], (said, interrupt) => {
    if (/waits for Widget/.test(said)) interrupt();
  });
  assert.equal(cut.code, 130, cut.err);
  assert.match(cut.err, /waits for Widget\.\S+ \S+\/w since \d+s \(the server does not serve Widget/);
  assert.match(
    cut.err,
    /interrupted; 2 of 4 objects are as release 1\.1\.0 says, and the others as they were; drydock release apply \S+ goes on/,
  );
  assert.deepEqual([await dataOf('b'), await dataOf('c')], [{ from: 'release' }, undefined]);
  const holder = async (): Promise<string> => (await client.get(Lease, lease)).spec?.holderIdentity ?? '';
  assert.equal(await holder(), '', 'the Lease was given back');

  await client.create(CustomResourceDefinition, crd as never);
  const rest = await apply(['--yes', '-o', 'json']);
  assert.equal(rest.code, 0, rest.err);
  assert.match(rest.err, /4 of 4$/m);
  const schema = readFileSync(join(import.meta.dirname, '../../docs/schemas/release-apply.json'), 'utf8');
  const printed = fromJSONSchema(JSON.parse(schema) as never).parse(JSON.parse(rest.out)) as {
    readonly result: string;
  };
  assert.equal(printed.result, 'done');
  assert.deepEqual([await dataOf('c'), (await plan()).code], [{ from: 'release' }, 0]);
  assert.equal(await holder(), '', 'the Lease was given back');

  payloadFolder(folder, '1.1.0', { '0000_30_a_1.yaml': { ...configMap('c'), data: { from: 'elsewhere' } } });
  const swapped = await apply(['--yes']);
  assert.equal(swapped.code, 4);
  assert.match(swapped.err, /the payload at \S+ has changed since the plan was made/);
});
