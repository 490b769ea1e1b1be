import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Payload } from '@drydock/api';
import { memoryCluster } from '@drydock/kube/testing';
import { applyMemory } from '../apply/memory.ts';
import { isStop } from '../rollback/accepted.ts';
import { FINAL } from '../state/way-back.ts';
import { configMapOf, manifestsOf } from '../testing/apply-cluster.ts';
import { instantClock } from '../testing/memory-apply.ts';
import { signedBy as signatureOf, testSigner } from '../testing/signatures.ts';
import { signedBy } from './loaded-release.ts';
import { payloadFace } from './payload-face.ts';
import { releaseWatches } from './release-watches.ts';

const { signal } = new AbortController();

function wishOf(spec: Partial<Payload['spec']>) {
  const serviceAccount = { namespace: 'n', name: 'deployer' };
  return payloadFace.wishOf({ metadata: { name: 'tools' }, spec: { serviceAccount, ...spec } });
}

test('SAFE-9 what is no namespace and no ServiceAccount makes no other user of it', () => {
  assert.equal(typeof wishOf({}), 'object', 'control');
  for (const [namespace, name] of [
    ['kube-system:clusterrole', 'a'],
    ['n', 'a:b'],
    ['n', 'A'],
    ['n', '../a'],
    ['n', ''],
    ['', 'a'],
  ] as const) {
    const why = wishOf({ serviceAccount: { namespace, name } });
    assert.match(typeof why === 'string' ? why : 'it is followed', /must name a ServiceAccount/, name);
  }
});

test('SAFE-9 a Payload with key rings is signed by them, whatever else it says, and whatever keys the release that runs brings', async () => {
  const [ours, theirs] = [await testSigner('ours'), await testSigner('theirs')];
  const digest = `sha256:${'a1'.repeat(32)}`;
  const wish = wishOf({ verify: { unsigned: true, keyRings: [{ name: 'ours', keys: ours.publicKey }] } });
  if (typeof wish === 'string') assert.fail(wish);
  assert.equal(wish.verify.unsigned, false);
  const running = manifestsOf(
    configMapOf(
      'n',
      'keys',
      { 'verifier-public-key-theirs': theirs.publicKey },
      { annotations: { 'release.openshift.io/verification-config-map': '' } },
    ),
  );
  const proof = await signatureOf(theirs, digest);
  const store = {
    name: 'kept',
    signatures: async function* () {
      yield proof;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const by = { running, ports: { kept: [store], storeAt: () => store }, signal };
  assert.equal((await signedBy(digest, wish, by)).verified, false);
  const follows = { ...wish, verify: { ...wish.verify, byRelease: true } };
  assert.equal((await signedBy(digest, follows, by)).verified, true, 'control');
});

test('SAFE-9 under another account nothing is seen of what the one before was shown', async () => {
  const cluster = memoryCluster();
  const [before, after] = [cluster.client(), cluster.client()];
  const asked = new Set<string>();
  cluster.onCall = (_call, _phase, { client }) => void asked.add(client.id);
  await using watches = releaseWatches({ clock: instantClock, onError: (error) => assert.fail(String(error)) });
  const manifests = manifestsOf(configMapOf('default', 'a', {}));
  const of = (client: typeof before) =>
    watches.of('uid', { client, manifests, mode: 'reconciling', memory: applyMemory(), signal });
  const first = await of(before);
  assert.equal(await of(before), first);
  assert.ok(!asked.has(after.id));
  assert.notEqual(await of(after), first);
  assert.ok(asked.has(after.id));
});

test('in a first installation the objects are listed and not watched: the changes are its own', async () => {
  const cluster = memoryCluster();
  const client = cluster.client();
  const asked: string[] = [];
  cluster.onCall = ({ verb, path }, phase) => {
    if (phase === 'before' && path.includes('configmaps')) asked.push(verb);
  };
  await using watches = releaseWatches({ clock: instantClock, onError: (error) => assert.fail(String(error)) });
  const manifests = manifestsOf(configMapOf('default', 'a', {}));
  const verbsIn = async (mode: 'initializing' | 'reconciling') => {
    await watches.of('uid', { client, manifests, mode, memory: applyMemory(), signal });
    return asked.splice(0);
  };
  assert.deepEqual(await verbsIn('initializing'), ['list']);
  assert.deepEqual(await verbsIn('reconciling'), ['watch']);
});

test('SAFE-9 what a server refuses, and what nobody can bridge, is accepted by nobody', () => {
  const accepted = ['*', 'Rollback', 'Rollback/CRD_REJECTED', 'Rollback/x:y'];
  assert.equal(isStop({ accepted }, { id: 'x:y', class: 'NARROWED' }), false, 'control');
  for (const kind of FINAL) assert.equal(isStop({ accepted }, { id: 'x:y', class: kind }), true, kind);
});
