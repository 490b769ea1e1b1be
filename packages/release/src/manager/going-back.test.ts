import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ConfigMap, Event, Payload } from '@drydock/api';
import { memoryCluster, until } from '@drydock/kube/testing';
import { newEntry } from '../apply/write-object.ts';
import { idKey, type Manifest } from '../payload/manifest.ts';
import { manifestsOf, widgetDefinition } from '../testing/apply-cluster.ts';
import { imageOf, ReleaseWorld } from '../testing/manager-world.ts';
import { type TestSigner, testSigner } from '../testing/signatures.ts';
import { lostData } from './lost-data.ts';
import { judgeWayBack, wayBackState } from './way-back-judge.ts';

let signer: TestSigner;
before(async () => {
  signer = await testSigner('ours');
});

test('once a release is final its way back is closed, and Rollbackable says so; by name it is gone all the same', async () => {
  await using world = new ReleaseWorld(signer);
  for (const version of ['1.0.0', '1.1.0']) await world.release(version);
  await world.start();
  await world.create('tools', { image: imageOf('1.0.0'), soak: '100h' });
  await world.completed('tools', '1.0.0');
  await world.patch('tools', { image: imageOf('1.1.0') });
  await world.completed('tools', '1.1.0');
  await until('it says until when', () =>
    /^True AsExpected: What is stored fits the definitions of 1\.0\.0\. 1\.1\.0 is final from 20\d\d-.*Z on/.test(
      world.condition('tools', 'Rollbackable'),
    ),
  );
  await world.patch('tools', { soak: '0s' });
  await until('it is final', () => world.condition('tools', 'Rollbackable').startsWith('False Finalised'));
  const finalised = (): readonly (string | undefined)[] =>
    (world.cluster.peek(Payload, { name: 'tools' })?.status?.history ?? []).map(({ finalisedTime }) => finalisedTime);
  const [since, before] = finalised();
  assert.ok(since !== undefined && before === undefined);
  assert.match(world.condition('tools', 'Rollbackable'), /: 1\.1\.0 is final since 20\d\d-.*: what it wrote is not/);
  await world.patch('tools', { image: null, version: '1.0.0', soak: null });
  await until('refused', () => world.condition('tools', 'ReleaseAccepted').startsWith('False PreconditionChecks'));
  assert.match(world.condition('tools', 'ReleaseAccepted'), /1\.1\.0 is final since/);
  assert.equal(finalised()[0], since, 'it stays final without the window');
  await world.patch('tools', { acceptedRisks: ['Rollback'] });
  await world.completed('tools', '1.0.0');
  assert.match(world.cluster.peek(Payload, { name: 'tools' })?.status?.history?.[0]?.acceptedRisks ?? '', /is final/);
});

test('claims end with their Payload, also where it was deleted while nobody led; what it applied stays', async () => {
  await using world = new ReleaseWorld(signer, { really: true });
  const shared = (by: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'shared', namespace: 'default' },
      data: { by },
    });
  for (const [at, name] of ['first', 'second', 'third'].entries())
    await world.release(`${at + 1}.0.0`, { manifests: [shared(name)] });
  const inventories = (): readonly string[] =>
    Object.keys(world.cluster.snapshot()).filter(
      (key) => key.includes('drydock-release-') && !key.includes('signatures'),
    );
  const by = (): string | undefined =>
    world.cluster.peek(ConfigMap, { namespace: 'default', name: 'shared' })?.data?.['by'];
  await world.start();
  await world.create('first', { image: imageOf('1.0.0') });
  await world.completed('first', '1.0.0');
  await world.create('second', { image: imageOf('2.0.0') });
  await until('refused', () => world.condition('second', 'ReleaseAccepted').startsWith('False PreconditionChecks'));
  await world.client.delete(Payload, { name: 'first' });
  await until('the claims have ended', () => inventories().length === 0);
  assert.equal(by(), 'first', 'what it applied stays');
  await until('it is told', async () =>
    (await Array.fromAsync(world.client.list(Event, { namespace: 'default' }))).some(({ note }) =>
      /^Payload first is gone\. What it applied stays \(1 object\)/.test(note ?? ''),
    ),
  );
  await world.patch('second', { featureSet: 'Other' });
  await world.completed('second', '2.0.0');
  assert.equal(by(), 'second');
  // Nobody leads when the next one goes; the same name made again keeps what it had.
  await world.stop();
  await world.client.delete(Payload, { name: 'second' });
  assert.equal(inventories().length, 1);
  await world.start();
  await until('the claims have ended', () => inventories().length === 0);
  await world.create('third', { image: imageOf('3.0.0') });
  await world.completed('third', '3.0.0');
  assert.equal(by(), 'third');
});

const GROUP = 'lost.example.com';
const { crd, kind } = widgetDefinition(GROUP);
const deleting = (object: object): Manifest => {
  const [manifest] = manifestsOf({
    ...object,
    metadata: {
      name: '',
      ...(object as { metadata?: object }).metadata,
      annotations: { 'release.openshift.io/delete': 'true' },
    },
  } as never);
  return manifest ?? assert.fail();
};

test('RB-R72 a definition that the newer release deleted is told with each object that went with it; what is there again is not', async () => {
  const cluster = memoryCluster({ resources: [kind] });
  const client = cluster.client();
  const [target] = manifestsOf(crd);
  if (target === undefined) assert.fail();
  const held = { count: 3, names: ['default/a', 'default/b', 'default/c'] };
  const inventory = new Map([[idKey(target.id), { ...newEntry(target, '1.1.0'), held }]]);
  const signal = new AbortController().signal;
  const idsOf = async (manifests: readonly Manifest[]): Promise<readonly string[]> =>
    (await lostData(client, manifests, { inventory, manifests: [deleting(crd)] }, signal)).map(({ id }) => id);
  assert.deepEqual(
    await idsOf([target]),
    ['a', 'b', 'c'].map((name) => `DELETED_DATA:widgets.${GROUP}:default/${name}`),
  );
  assert.deepEqual(await idsOf([]), [], 'a release that does not have it does not miss it');
  // Somebody has restored two of them.
  await client.create(
    {
      ...kind,
      group: 'apiextensions.k8s.io',
      version: 'v1',
      kind: 'CustomResourceDefinition',
      plural: 'customresourcedefinitions',
      scope: 'Cluster',
    },
    crd as never,
  );
  for (const name of ['a', 'c']) await client.create(kind, { metadata: { namespace: 'default', name } });
  assert.deepEqual(await idsOf([target]), [`DELETED_DATA:widgets.${GROUP}:default/b`]);
  // The older release deletes it itself: then everything that is there now goes.
  assert.deepEqual(await idsOf([deleting(crd)]), [
    `DELETED_DATA:widgets.${GROUP}:default/a`,
    `DELETED_DATA:widgets.${GROUP}:default/c`,
  ]);
});

test('a Secret that the newer release deletes comes back empty', async () => {
  const client = memoryCluster().client();
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default' } };
  const manifests = manifestsOf(secret);
  const signal = new AbortController().signal;
  const [found, ...more] = await lostData(
    client,
    manifests,
    { inventory: new Map(), manifests: [deleting(secret)] },
    signal,
  );
  assert.deepEqual([found?.id, found?.blocking, more], ['DELETED_DATA:Secret default/s', true, []]);
  assert.deepEqual(await lostData(client, manifests, { inventory: new Map(), manifests }, signal), []);
});

test('an API server goes back a minor at a time, and what is stored is judged as the older one would', async () => {
  const client = memoryCluster().client();
  const raw: typeof client.raw = async ({ path }) => (path === '/version' ? { major: '1', minor: '34' } : '');
  const asked = { ...client, raw, list: client.list.bind(client) } as typeof client;
  const signal = new AbortController().signal;
  const judged = async (kubernetes?: string): Promise<string | undefined> =>
    (await judgeWayBack(asked, { manifests: manifestsOf(), kubernetes }, signal)).skew;
  assert.deepEqual([await judged(), await judged('1.34.1'), await judged('1.33.9')], [undefined, undefined, undefined]);
  const skew = await judged('1.32.0');
  assert.match(skew ?? '', /brings Kubernetes 1\.32, and 1\.34 runs/);
  const state = wayBackState('4.19.0', { findings: [], undecided: '', ...(skew === undefined ? {} : { skew }) });
  assert.deepEqual([state.status, state.reason], ['False', 'ServerSkew']);
});
