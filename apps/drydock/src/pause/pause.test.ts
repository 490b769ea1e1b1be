import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, type BootImageStatus, Lease } from '@drydock/api';
import { memoryCluster, until } from '@drydock/kube/testing';
import { leadershipOf } from '../leadership.ts';
import { leaderText } from '../status.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { runVerbs } from '../testing/run-verbs.ts';
import { smallCluster } from '../testing/small-cluster.ts';
import type { PauseOutput } from './command.ts';
import { PAUSE, pauseOf, pauseText } from './pause.ts';
import { pausedImages } from './paused-images.ts';

const namespace = 'leases';
const name = 'drydock-boot-images';
const now = Date.parse('2026-01-01T01:00:00Z');
const pause = {
  by: 'alice',
  since: '2026-01-01T00:57:00Z',
  reason: 'the storage is moved',
  until: '2026-01-01T02:00:00Z',
};
const leaseWith = (text: string, spec: Lease['spec'] = {}): Lease => ({
  metadata: { name, namespace, annotations: { [PAUSE]: text } },
  spec,
});

test('a pause is what its annotation says, until it lapses; what cannot be read is one all the same', () => {
  const of = (text: string, at = now) => pauseOf(leaseWith(text), at);
  assert.deepEqual(of(JSON.stringify(pause)), pause);
  assert.equal(pauseText(pause, now), 'paused since 3m by alice, until 2026-01-01T02:00:00Z: the storage is moved');
  assert.equal(of(JSON.stringify(pause), Date.parse(pause.until)), undefined);
  assert.deepEqual(of('maintenance'), { reason: 'maintenance' });
  assert.deepEqual(of(''), {});
  assert.deepEqual(of('[1]'), { reason: '[1]' });
  assert.deepEqual(of('{"until":"soon","by":7}', Number.MAX_SAFE_INTEGER), {});
  assert.equal(pauseText({}, now), 'paused');
  assert.equal(pauseOf({ metadata: { name } }, now), undefined);
});

test('status says who paused, why and what ends it, also while the holder ends what is under way', async () => {
  const cluster = memoryCluster({ namespaces: [namespace] });
  const words = async (spec: Lease['spec']): Promise<string> => {
    cluster.put(Lease, { namespace, name }, leaseWith(JSON.stringify(pause), spec));
    const leader = await leadershipOf(cluster.client(), { role: 'boot-images', namespace }, { now: () => now });
    return leaderText(leader, now);
  };
  const paused = 'which are paused since 3m by alice, until 2026-01-01T02:00:00Z: the storage is moved';
  assert.equal(await words({}), `Nobody leads boot images, ${paused}. To go on: drydock resume --role boot-images\n`);
  const held = { holderIdentity: 'pod-1', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:59:59Z' };
  assert.equal(await words(held), `pod-1 leads boot images, ${paused}. To go on: drydock resume --role boot-images\n`);
});

test('boot images say that they are paused and lose nothing; not while somebody leads, and not after the pause', async () => {
  const cluster = memoryCluster({ namespaces: [namespace], resources: [BootImage] });
  const status: BootImageStatus = {
    ...{ phase: 'Uploading', progress: '41%', message: 'it moves', revertTo: '9.6', current: '9.6' },
    conditions: [{ type: 'Progressing', status: 'True' }],
    history: [{ id: 'a', release: '9.6' }],
  };
  for (const [image, said] of [
    ['ms-a', status],
    ['ms-new', undefined],
  ] as const)
    cluster.put(
      BootImage,
      { namespace, name: image },
      { metadata: { name: image, namespace }, ...(said && { status: said }) },
    );
  const client = cluster.client();
  let looks = 0;
  const counted: typeof client = {
    ...client,
    get: (resource, key, call) => {
      looks += resource === (Lease as unknown) ? 1 : 0;
      return client.get(resource, key, call);
    },
  };
  const read = () => Array.fromAsync(client.list(BootImage, { namespace }));
  let live = true;
  const errors: unknown[] = [];
  const images = await read();
  const told = pausedImages({
    ...{ client: counted, lease: { namespace, name }, images: () => images, holderIsLive: () => live },
    ...{ now: () => new Date(now), log: { warn: (fields) => errors.push(fields) } },
  });
  const lease = leaseWith(JSON.stringify(pause), { holderIdentity: 'pod-1' });
  cluster.put(Lease, { namespace, name }, lease);
  told(lease, pause);
  assert.deepEqual(
    (await read()).map((one) => one.status),
    [status, undefined],
  );
  live = false;
  told(lease, pause);
  const message =
    'boot images are paused by alice, until 2026-01-01T02:00:00Z: the storage is moved; drydock resume ends it';
  const condition = { type: 'Paused', status: 'True', reason: 'Paused', message, lastTransitionTime: pause.since };
  const after = await until('it says so', async () => {
    const [first] = await read();
    return first?.status?.conditions?.some(({ type }) => type === 'Paused') ? await read() : undefined;
  });
  assert.deepEqual(
    after.map((one) => one.status),
    [{ ...status, conditions: [{ type: 'Progressing', status: 'True' }, condition] }, undefined],
  );
  // Resumed since this replica looked last: what it is about to write is looked at again.
  cluster.put(BootImage, { namespace, name: 'ms-a' }, { metadata: { name: 'ms-a', namespace }, status });
  cluster.put(Lease, { namespace, name }, { metadata: { name, namespace, annotations: {} } });
  const before = looks;
  // One telling at a time: the second look is one of a telling that began when the first was over.
  await until('the lease was looked at twice', () => {
    told(lease, pause);
    return looks > before + 1;
  });
  assert.deepEqual(
    (await read()).map((one) => one.status),
    [status, undefined],
  );
  assert.deepEqual(errors, []);
});

test('OWN-20 a pause is written as whom --as or --token says, and says so; whoever may not is told, and nothing is paused', async () => {
  await using served = await smallCluster(['a']);
  const of = (...args: readonly string[]) => ({ args: [...args, ...served.flags] });
  const [acted, token, refused, resumed] = await runVerbs([
    of('pause', '--role', 'boot-images', '--as', 'sre', '--as-group', 'ops', 'night', '-o', 'json'),
    of('pause', '--role', 'watch', '--token', 'robot', '-o', 'json'),
    of('pause', '--role', 'release', '--as', 'nobody'),
    of('resume', '--role', 'boot-images', '--as', 'sre'),
  ]);
  for (const [ran, by] of [
    [acted, 'sre'],
    [token, 'robot'],
  ] as const) {
    assert.equal(ran?.code, 0, ran?.errors ?? '');
    const [{ pause: written } = assert.fail('a role')] = (JSON.parse(ran?.out ?? '') as PauseOutput).roles;
    assert.equal(written?.by, by);
  }
  assert.deepEqual([refused?.code, refused?.out], [1, '']);
  assert.match(
    refused?.errors ?? '',
    /^drydock: create Lease \S+\/drydock-release: “leases is forbidden: User "nobody" cannot patch”\. Grant /,
  );
  assert.deepEqual([resumed?.code, resumed?.out], [0, 'boot-images may go on\n']);
  const leaseOf = (role: string) => served.cluster.peek(Lease, { namespace: LEASE_NAMESPACE, name: `drydock-${role}` });
  assert.deepEqual(
    ['boot-images', 'watch', 'release'].map((role) => leaseOf(role)?.metadata.annotations?.[PAUSE] !== undefined),
    [false, true, false],
  );
  // Each call of a line, and not only its writes.
  const writes = served.requests.filter(({ method }) => method !== 'GET').length;
  assert.ok(writes >= 5, `${writes} writes`);
  for (const { headers, path } of served.requests)
    assert.ok(headers['impersonate-user'] !== undefined || headers['authorization'] === 'Bearer robot', path);
  const groups = served.requests.map(({ headers }) => headers['impersonate-group']).find((one) => one !== undefined);
  assert.match(String(groups), /ops.*night/);
});

test('a pause where nobody leads is refused while somebody leads in another namespace: it would hold nobody', async () => {
  await using served = await smallCluster(['a']);
  const renewTime = new Date().toISOString();
  const spec = { holderIdentity: 'pod-1', leaseDurationSeconds: 3600, renewTime };
  served.cluster.put(
    Lease,
    { namespace: 'default', name: 'drydock-release' },
    { metadata: { name: 'drydock-release' }, spec },
  );
  const of = (...args: readonly string[]) => ({ args: ['pause', '--role', 'release', ...args, ...served.flags] });
  const [refused, right] = await runVerbs([of(), of('--lease-namespace', 'default')]);
  assert.equal(refused?.code, 2, refused?.errors ?? '');
  assert.match(refused?.errors ?? '', /nothing was changed: nobody leads release here.*--lease-namespace default/);
  assert.equal(served.cluster.peek(Lease, { namespace: LEASE_NAMESPACE, name: 'drydock-release' }), undefined);
  assert.equal(right?.code, 0, right?.errors ?? '');
});
