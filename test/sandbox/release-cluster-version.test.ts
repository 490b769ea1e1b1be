import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ClusterVersion, ConfigMap, Lease } from '@drydock/api';
import { isNotFound, type KubeClient } from '@drydock/kube';
import { type TestSigner, testSigner } from '@drydock/release/testing';
import { eventually } from './support/kube-kinds.ts';
import { superfluous, uncovered } from './support/rbac-coverage.ts';
import { accountNamespace, grantsTo } from './support/rbac-manifests.ts';
import { type ReleaseOperator, type ReleaseRig, startReleaseRig } from './support/release-rig.ts';

// ClusterVersion where nobody else manages it: with the rights of its component alone, under OpenShift's own definitions.

const shop = 'shop';
const upstream = 'openshift-cluster-version';
const account = { namespace: accountNamespace, name: 'drydock-cluster-version' };
const key = { name: 'version' };

let rig: ReleaseRig;
let client: KubeClient;

before(async () => {
  rig = await startReleaseRig({
    kustomizations: ['release', 'release/cluster-version'],
    namespaces: [shop, upstream, 'openshift-config', 'openshift-config-managed'],
    crds: ['openshift-4.14'],
  });
  client = rig.client;
  const verbs = ['get', 'list', 'watch', 'create', 'update', 'delete'];
  await rig.grant('shop', [{ apiGroups: [''], resources: ['configmaps'], verbs }], { namespace: shop, account });
});
after(async () => {
  await rig?.[Symbol.asyncDispose]();
});

function operator(): Promise<ReleaseOperator> {
  const ring = join(rig.sandbox.directory, 'ours.asc');
  writeFileSync(ring, rig.signer.publicKey);
  const of = ['--release-account', `${account.namespace}/${account.name}`];
  return rig.operator('one', [...of, '--release-keyring', ring, '--release-store', rig.registry.store]);
}

/** Manifests of OpenShift say for whom they are. */
const included = { annotations: { 'include.release.openshift.io/self-managed-high-availability': 'true' } };
const manifest = (name: string, data: object = {}, { annotations = {}, ...more }: { annotations?: object } = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: shop, ...more, annotations: { ...included.annotations, ...annotations } },
  data,
});
/** Who must sign the next release, as each brings it. */
const verifier = (signer: TestSigner = rig.signer): object =>
  manifest(
    'release-verification',
    { 'verifier-public-key-ours': signer.publicKey, 'store-ours': rig.registry.store },
    { annotations: { 'release.openshift.io/verification-config-map': '' } },
  );
const about = { url: 'https://example.com/errata', 'io.openshift.upgrades.graph.release.channels': 'stable,fast' };
const release = (version: string, data: object, more: Readonly<Record<string, object>> = {}): Promise<string> =>
  rig.registry.release(
    version,
    { '0000_10_a_1.yaml': manifest('a', data), '0000_90_v_1.yaml': verifier(), ...more },
    ...([rig.signer, about] as const),
  );
const statusOf = async (): Promise<NonNullable<ClusterVersion['status']>> =>
  (await client.get(ClusterVersion, key)).status ?? assert.fail('ClusterVersion has a status');
const historyOf = async (): Promise<readonly string[]> =>
  ((await client.get(ClusterVersion, key)).status?.history ?? []).map(({ version, state }) => `${version} ${state}`);
const conditionOf = async (type: string): Promise<string> => {
  const found = (await statusOf()).conditions?.find((one) => one.type === type);
  return found === undefined ? '' : `${found.status} ${found.reason}: ${found.message}`;
};
const dataOf = async (name: string): Promise<object | undefined> => {
  try {
    return (await client.get(ConfigMap, { namespace: shop, name })).data;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};
const want = (desiredUpdate: object): Promise<unknown> =>
  client.mergePatch(ClusterVersion, key, { spec: { desiredUpdate } } as object);
const headIs = (head: string): Promise<void> => eventually(head, async () => (await historyOf())[0] === head);

/** A Lease that somebody has just renewed, and will not renew again. */
async function held(holderIdentity: string, leaseDurationSeconds: number): Promise<void> {
  const metadata = { namespace: upstream, name: 'version' };
  const spec = { holderIdentity, leaseDurationSeconds, renewTime: '2026-01-01T00:00:00.000000Z' };
  try {
    await client.create(Lease, { metadata, spec });
  } catch {
    await client.mergePatch(Lease, metadata, { spec });
  }
}

test('beside a Lease that cluster-version-operator holds nothing is applied or written; when it is given back, the release is', async () => {
  await held('node_1', 3600);
  const image = await release('4.14.0', { version: '0' });
  await client.create(ClusterVersion, {
    metadata: key,
    spec: { clusterID: '6b0d6f0c-2f7b-4b0e-9d7e-0c5c2c9d3c11', desiredUpdate: { image } },
  } as ClusterVersion);
  {
    await using running = await operator();
    await eventually('it is looked at', async () => (await running.passes('cluster-versions')) > 0);
    assert.match(
      running.log(),
      /ClusterVersion version is only read: node_1 holds Lease openshift-cluster-version\/version/,
    );
    assert.deepEqual([(await client.get(ClusterVersion, key)).status, await dataOf('a')], [undefined, undefined]);
  }
  await held('', 1);
  await using _running = await operator();
  await headIs('4.14.0 Completed');
  assert.deepEqual(await dataOf('a'), { version: '0' });
});

test('an update is applied in the name of the account by the key rings of the running release, and recorded as OpenShift does; what the definition does not hold is kept elsewhere', async () => {
  await using _running = await operator();
  const image = await release('4.14.1', { version: '1' });
  await want({ image });
  await headIs('4.14.1 Completed');
  assert.deepEqual(await dataOf('a'), { version: '1' });
  const { desired, history, observedGeneration, capabilities, versionHash } = await statusOf();
  const { metadata } = await client.get(ClusterVersion, key);
  assert.deepEqual(desired, { version: '4.14.1', image, url: about.url, channels: ['fast', 'stable'] });
  assert.equal(observedGeneration, metadata.generation);
  assert.deepEqual(
    history?.map(({ version, verified, completionTime }) => [version, verified, typeof completionTime]),
    [
      ['4.14.1', true, 'string'],
      ['4.14.0', true, 'string'],
    ],
  );
  assert.match(versionHash ?? '', /^[\w-]{11}=$/);
  assert.match(await conditionOf('ReleaseAccepted'), /^True PayloadLoaded/);
  assert.match(await conditionOf('Available'), /^True/);
  // This definition ends its list of capabilities at MachineAPI: later ones would make every write invalid.
  const enabled = capabilities?.enabledCapabilities ?? [];
  assert.ok(enabled.includes('MachineAPI') && !enabled.includes('Build'), enabled.join());
  const ledger = { namespace: accountNamespace, name: 'drydock-rollback-ledger-clusterversions.config.openshift.io' };
  assert.match(JSON.stringify((await client.get(ConfigMap, ledger)).data), /Build/);
  const stranger = { namespace: shop, name: 'a' };
  const { metadata: made } = await client.get(ConfigMap, stranger);
  assert.equal(made.annotations?.['drydock.dev/made-by'], 'ClusterVersion version');
});

test('another ClusterVersion than version says nothing about what is wanted, and its status is left alone', async () => {
  const other = { ...(await client.get(ClusterVersion, key)).spec, desiredUpdate: { version: '9.9.9' } };
  await client.create(ClusterVersion, { metadata: { name: 'other' }, spec: other } as ClusterVersion);
  await using running = await operator();
  await eventually('version is looked at', async () => (await running.passes('cluster-versions')) > 0);
  // A second look at everything comes after whatever the first one has found.
  await client.mergePatch(ClusterVersion, key, { spec: { channel: 'candidate-4.14' } } as object);
  const { generation } = (await client.get(ClusterVersion, key)).metadata;
  await eventually('it is looked at again', async () => (await statusOf()).observedGeneration === generation);
  assert.equal((await client.get(ClusterVersion, { name: 'other' })).status, undefined);
  await client.delete(ClusterVersion, { name: 'other' });
});

test('an image that nobody signed is refused with the step, and what was running is held', async () => {
  await using _running = await operator();
  const image = await rig.registry.release('4.14.2', { '0000_10_a_1.yaml': manifest('a', { version: '2' }) });
  await want({ image });
  await eventually('it is refused', async () =>
    (await conditionOf('ReleaseAccepted')).startsWith('False RetrievePayload'),
  );
  assert.deepEqual([await dataOf('a'), (await historyOf())[0]], [{ version: '1' }, '4.14.1 Completed']);
  await client.delete(ConfigMap, { namespace: shop, name: 'a' });
  await want({ image: null, version: '4.14.1' });
  await eventually('what was deleted is back', async () => (await dataOf('a')) !== undefined);
});

test('cluster-version-operator comes while a release is applied: what is not applied yet stays so, and the status is its own from then on', async () => {
  await using running = await operator();
  // It has no right to Secrets, so that it tries for a while.
  const secret = { ...manifest('s'), kind: 'Secret' };
  const image = await release('4.14.3', { version: '3' }, { '0000_05_s_1.yaml': secret });
  await want({ image, version: null });
  await headIs('4.14.3 Partial');
  await held('node_2', 3600);
  await eventually('it steps back', async () =>
    /ClusterVersion version is only read( from now on)?: node_2 holds Lease/.test(running.log()),
  );
  const before = (await client.get(ClusterVersion, key)).metadata.resourceVersion;
  await client.mergePatch(ClusterVersion, key, { metadata: { annotations: { looked: 'again' } } });
  const after = (await client.get(ClusterVersion, key)).metadata.resourceVersion;
  assert.notEqual(before, after);
  assert.deepEqual([await dataOf('s'), await dataOf('a')], [undefined, { version: '1' }]);
  await held('', 1);
});

test('a release that brings another key ring is held by the one that it was accepted by; the next one is verified by that ring, also by a process that comes later', async () => {
  const theirs = await testSigner('theirs');
  {
    await using running = await operator();
    const image = await release('4.14.4', { version: '4' }, { '0000_90_v_1.yaml': verifier(theirs) });
    await want({ image });
    await headIs('4.14.4 Completed');
    await client.delete(ConfigMap, { namespace: shop, name: 'a' });
    await client.mergePatch(ClusterVersion, key, { spec: { channel: 'fast-4.14' } } as object);
    const { generation } = (await client.get(ClusterVersion, key)).metadata;
    await eventually('it is looked at again', async () => (await statusOf()).observedGeneration === generation);
    assert.match(await conditionOf('ReleaseAccepted'), /^True PayloadLoaded/);
    await eventually('what was deleted is back', async () => (await dataOf('a')) !== undefined);
    assert.doesNotMatch(running.log(), /"level":50/);
  }
  const files = { '0000_10_a_1.yaml': manifest('a', { version: '5' }), '0000_90_v_1.yaml': verifier(theirs) };
  await want({ image: await rig.registry.release('4.14.5', files, theirs) });
  {
    await using _running = await operator();
    await headIs('4.14.5 Completed');
  }
  // The first key rings know nothing of the release that runs now, only the one before it does.
  await client.delete(ConfigMap, { namespace: shop, name: 'a' });
  await using _running = await operator();
  await eventually('what was deleted is back', async () => (await dataOf('a')) !== undefined);
  assert.deepEqual([await dataOf('a'), (await historyOf())[0]], [{ version: '5' }, '4.14.5 Completed']);
});

test('each call of the role is permitted by its rules, and each rule is needed', () => {
  const calls = rig.callsOf('drydock-release').filter(({ resource }) => resource !== 'serviceaccounts');
  const grants = grantsTo('drydock-release', rig.manifests).filter(({ rule }) => !rule.verbs.includes('impersonate'));
  assert.deepEqual(
    uncovered(
      calls.filter(({ code }) => code !== 403),
      grants,
    ),
    [],
  );
  const unused = superfluous(calls, grants);
  // What Payloads alone need another test holds.
  assert.deepEqual(
    unused.filter((one) => one.includes('cluster-version')),
    [],
  );
});
