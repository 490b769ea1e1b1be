import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { CustomResourceDefinition, Event, Payload } from '@drydock/api';
import { until } from '@drydock/kube/testing';
import { account, imageOf, payloadDefinition, ReleaseWorld } from '../testing/manager-world.ts';
import { type TestSigner, testSigner } from '../testing/signatures.ts';
import { SIGNATURES } from './role.ts';

let signer: TestSigner;
before(async () => {
  signer = await testSigner('ours');
});

test('a release that is signed is applied in the name of the account, recorded, and held', async () => {
  await using world = new ReleaseWorld(signer);
  const image = await world.release('1.0.0');
  await world.start();
  await world.create('tools', { image });
  await world.completed('tools', '1.0.0');
  const status = world.cluster.peek(Payload, { name: 'tools' })?.status;
  assert.deepEqual(
    [status?.desired, status?.observedGeneration, world.history('tools')],
    [{ version: '1.0.0', image }, 1, ['1 1.0.0 Completed']],
  );
  assert.equal(status?.history?.[0]?.verified, true);
  assert.match(
    world.condition('tools', 'ReleaseAccepted'),
    /^True PayloadLoaded: registry\.test\/tools@sha256:\w+ was verified and loaded\.$/,
  );
  assert.match(world.condition('tools', 'Available'), /^True/);
  await until('the way back was looked at', () =>
    world.condition('tools', 'Rollbackable').startsWith('False NoReleaseBefore'),
  );
  assert.deepEqual(
    world.applied.map(({ wish, account: by }) => [wish.mode, wish.owner.name, by]),
    [['initializing', 'Payload tools', account]],
  );
  assert.equal(world.applied[0]?.wish.owner.reference, undefined, 'what it applied stays when it is deleted');
  await until('told', () => Object.keys(world.cluster.snapshot()).some((key) => key.includes('events')));
  const reasons = (await Array.fromAsync(world.client.list(Event, { namespace: 'default' }))).map(
    ({ reason }) => reason,
  );
  assert.ok(reasons.includes('ReleaseAccepted'), reasons.join());
});

test('without a signature not a byte of the image is read, and what was running goes on running', async () => {
  await using world = new ReleaseWorld(signer);
  await world.release('1.0.0');
  await world.release('1.1.0', { signed: false });
  await world.start();
  await world.create('tools', { image: imageOf('1.0.0') });
  await world.completed('tools', '1.0.0');
  const applied = world.applied.length;
  await world.patch('tools', { image: imageOf('1.1.0') });
  await until('refused', () => world.condition('tools', 'ReleaseAccepted').startsWith('False RetrievePayload'));
  assert.match(world.condition('tools', 'ReleaseAccepted'), /for the key ring ours no store has one/);
  await until('the other one is held', () => world.applied.length > applied);
  assert.deepEqual([...new Set(world.applied.map(({ wish }) => wish.payload.image))], [imageOf('1.0.0')]);
  assert.ok(!world.retrieved.includes(imageOf('1.1.0')));
  assert.deepEqual(world.history('tools'), ['1 1.0.0 Completed']);
  // RB-R27: by its name it is accepted, and that is recorded; another version than was asked for never is.
  await world.patch('tools', { acceptedRisks: ['Signature'], version: '9.9.9' });
  await until('another version', () =>
    world.condition('tools', 'ReleaseAccepted').startsWith('False VerifyPayloadVersion'),
  );
  await world.patch('tools', { version: null });
  await world.completed('tools', '1.1.0');
  const [head] = world.cluster.peek(Payload, { name: 'tools' })?.status?.history ?? [];
  assert.equal(head?.verified, false);
  assert.match(head?.acceptedRisks ?? '', /cannot be verified/);
});

test('RB-R26 RB-R28 back by the version alone, with no store of signatures in reach', async () => {
  await using world = new ReleaseWorld(signer);
  for (const version of ['1.0.0', '1.0.1']) await world.release(version);
  await world.start();
  await world.create('tools', { image: imageOf('1.0.0') });
  await world.completed('tools', '1.0.0');
  await world.patch('tools', { image: imageOf('1.0.1') });
  await world.completed('tools', '1.0.1');
  world.signatures.clear();
  await world.patch('tools', { image: null, version: '1.0.0' });
  await world.completed('tools', '1.0.0');
  assert.deepEqual(world.history('tools'), ['3 1.0.0 Completed', '2 1.0.1 Completed', '1 1.0.0 Completed']);
  assert.equal(world.cluster.peek(Payload, { name: 'tools' })?.status?.history?.[0]?.verified, true);
  // The control: without what was kept, the same way is refused.
  const { ConfigMap } = await import('@drydock/api');
  world.cluster.put(ConfigMap, { namespace: 'default', name: SIGNATURES }, undefined);
  await world.patch('tools', { version: '1.0.1' });
  await until('refused', () => world.condition('tools', 'ReleaseAccepted').startsWith('False RetrievePayload'));
});

test('of two Payloads with one object the later one is refused, and both are named', async () => {
  await using world = new ReleaseWorld(signer);
  await world.release('1.0.0', { objects: ['a', 'shared'] });
  await world.release('2.0.0', { objects: ['b', 'shared'] });
  await world.start();
  await world.create('first', { image: imageOf('1.0.0') });
  await world.completed('first', '1.0.0');
  await world.create('second', { image: imageOf('2.0.0'), acceptedRisks: ['Claimed', 'Rollback'] });
  await until('refused', () => world.condition('second', 'ReleaseAccepted').startsWith('False PreconditionChecks'));
  assert.match(
    world.condition('second', 'ReleaseAccepted'),
    /Payload second brings what is somebody else's: ConfigMap shared belongs to Payload first/,
  );
  assert.ok(world.applied.every(({ wish }) => wish.owner.name === 'Payload first'));
  await world.patch('second', {
    overrides: [{ kind: 'ConfigMap', group: '', namespace: '', name: 'shared', unmanaged: true }],
  });
  await world.completed('second', '2.0.0');
});

test('a history that was edited by hand leads to nothing that is not signed, and to no image without a digest', async () => {
  await using world = new ReleaseWorld(signer);
  await world.release('1.0.0');
  await world.release('6.6.6', { signed: false });
  await world.start();
  const entry = (image: string) => ({
    id: '1',
    state: 'Completed',
    version: '6.6.6',
    image,
    startedTime: '2026-01-01T00:00:00Z',
    verified: true,
  });
  for (const [name, image, reason] of [
    ['evil', imageOf('6.6.6'), /^False RetrievePayload/],
    ['tagged', 'registry.test/tools:latest', /^$/],
  ] as const) {
    await world.create(name, { version: '6.6.6' });
    await until('seen', () => world.cluster.peek(Payload, { name })?.status?.observedGeneration === 1);
    await until('edited', async () => {
      const status = { history: [entry(image)] };
      const edited = await world.client
        .replaceStatus(Payload, { ...(await world.client.get(Payload, { name })), status })
        .catch(() => undefined);
      return edited !== undefined;
    });
    // Its spec changes, so that it is looked at again.
    await world.patch(name, { featureSet: 'Other' });
    await until('looked at', () => world.cluster.peek(Payload, { name })?.status?.observedGeneration === 2);
    assert.match(world.condition(name, 'ReleaseAccepted'), reason);
  }
  assert.match(world.condition('tagged', 'Invalid'), /^True NoDigest/);
  assert.deepEqual([world.applied, world.retrieved], [[], []]);
});

test('RB-R86 a status that nothing can save holds nothing up: it is told elsewhere, and written when the definition is whole again', async () => {
  await using world = new ReleaseWorld(signer);
  await world.release('1.0.0');
  const seal = structuredClone(payloadDefinition) as {
    spec: {
      versions: {
        schema: {
          openAPIV3Schema: { properties: { status: { required?: string[]; properties: Record<string, object> } } };
        };
      }[];
    };
  };
  const status = seal.spec.versions[0]?.schema.openAPIV3Schema.properties.status ?? assert.fail();
  status.required = ['seal'];
  status.properties['seal'] = { type: 'string', pattern: '^[0-9a-f]{64}$' };
  world.cluster.serve(seal);
  const sealed = await world.client.create(CustomResourceDefinition, seal as never);
  await world.start();
  await world.create('tools', { image: imageOf('1.0.0') });
  await until('it is applied all the same', () => world.applied.length > 0);
  const scrape = () => world.metrics.registry.metrics();
  await until('the metric', async () =>
    /payload_status_write_blocked\{group="drydock.dev",resource="payloads",name="tools",field="status\.seal"\} 1/.test(
      await scrape(),
    ),
  );
  assert.deepEqual(world.history('tools'), []);
  world.cluster.serve(payloadDefinition);
  await world.client.replace(CustomResourceDefinition, {
    ...(payloadDefinition as typeof sealed),
    metadata: sealed.metadata,
  });
  await world.completed('tools', '1.0.0');
  await until('the metric is gone', async () => !/payload_status_write_blocked\{/.test(await scrape()));
  assert.deepEqual(world.history('tools'), ['1 1.0.0 Completed']);
});

test('another wish ends an attempt; progress and failures are told, and the stop of the process is recorded', async () => {
  await using world = new ReleaseWorld(signer);
  for (const version of ['1.0.0', '1.0.1']) await world.release(version);
  let ended = 0;
  world.outcome = (wish, ports) =>
    new Promise((resolve) => {
      const waiting = [
        {
          object: { group: 'apps', kind: 'Deployment', namespace: 'n', name: 'd' },
          why: '0 of 1 replicas are ready',
          since: new Date(0),
        },
      ];
      const end = (): void => {
        ended += 1;
        resolve({
          complete: false,
          errors: [],
          progress: { done: 0, total: wish.manifests.length, waiting },
          deletions: [],
        });
      };
      ports.signal.addEventListener('abort', end, { once: true });
      if (ports.signal.aborted) end();
    });
  await world.start();
  await world.create('tools', { image: imageOf('1.0.0') });
  await until('begun', () => world.applied.length === 1);
  assert.deepEqual(world.history('tools'), ['1 1.0.0 Partial']);
  await world.patch('tools', { image: imageOf('1.0.1') });
  await until('the other one', () => world.applied.at(-1)?.wish.payload.version === '1.0.1');
  assert.ok(ended > 0);
  await world.operator?.[Symbol.asyncDispose]();
  assert.deepEqual(world.history('tools'), ['2 1.0.1 Partial', '1 1.0.0 Partial']);
  assert.match(
    world.condition('tools', 'Progressing'),
    /^True Applying: Working towards 1\.0\.1: 0 of 1 done \(0% complete\), waiting for Deployment\.apps n\/d \(0 of 1 replicas are ready\)\.$/,
  );
  assert.equal(world.cluster.peek(Payload, { name: 'tools' })?.status?.progress, '0/1');
});

test('a Payload without an account, or with one that is none, applies nothing and says why', async () => {
  await using world = new ReleaseWorld(signer);
  await world.release('1.0.0');
  await world.start();
  world.cluster.put(
    Payload,
    { name: 'odd' },
    {
      metadata: { name: 'odd', uid: 'u', generation: 1, resourceVersion: '1' },
      spec: { image: imageOf('1.0.0'), serviceAccount: { namespace: 'kube-system:x', name: 'y' } },
    },
  );
  await until('invalid', () => world.condition('odd', 'Invalid').startsWith('True InvalidSpec'));
  assert.deepEqual(world.applied, []);
});
