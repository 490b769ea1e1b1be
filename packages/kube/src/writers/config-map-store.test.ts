import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { memoryCluster } from '../testing/cluster.ts';
import { configMapStore, configMapStoreRules } from './config-map-store.ts';

const where = { namespace: 'default', name: 'texts', component: 'ledger' };
const LETTERS = 'abcdefgh'.split('');
const key = { namespace: 'default', name: 'texts' };
const add =
  (text: string) =>
  (now: string | undefined): string =>
    `${now ?? ''}${text}`;

test('texts of several writers at once are all kept; the ConfigMap comes with the first one and carries our labels', async () => {
  const cluster = memoryCluster();
  const [one, two] = [
    configMapStore({ client: cluster.client(), ...where }),
    configMapStore({ client: cluster.client(), ...where }),
  ];
  assert.equal((await one.read()).size, 0);
  assert.equal(await one.change('k', () => undefined), undefined);
  assert.equal(cluster.peek(ConfigMap, key), undefined, 'nothing is made for nothing');
  await Promise.all(LETTERS.flatMap((letter) => [one.change('k', add(letter)), two.change(letter, add(letter))]));
  const found = cluster.peek(ConfigMap, key);
  assert.deepEqual((found?.data?.['k'] ?? '').split('').toSorted(), LETTERS);
  assert.equal((await two.read()).size, 9);
  assert.deepEqual(found?.metadata.labels, {
    'app.kubernetes.io/managed-by': 'drydock',
    'app.kubernetes.io/component': 'ledger',
  });
  const writes = cluster.calls;
  await one.change('k', (now) => now);
  assert.equal(cluster.calls, writes + 1, 'no change is no write');
  await one.change('k', () => undefined);
  assert.equal(cluster.peek(ConfigMap, key)?.data?.['k'], undefined);
});

test('changes that come while a write is under way are one write', async () => {
  const cluster = memoryCluster();
  const store = configMapStore({ client: cluster.client(), ...where });
  await Promise.all(Array.from({ length: 500 }, (_, index) => store.change(`k${index}`, () => 'x')));
  assert.equal((await store.read()).size, 500);
  assert.ok(cluster.calls < 12, `${cluster.calls} calls`);
});

test('keys are spread over several ConfigMaps, always in the same way', async () => {
  const cluster = memoryCluster();
  const store = configMapStore({ client: cluster.client(), ...where, shards: 3 });
  for (let index = 0; index < 30; index += 1) await store.change(`k${index}`, () => 'x');
  const sizes = [0, 1, 2].map(
    (index) => Object.keys(cluster.peek(ConfigMap, { ...key, name: `texts-${index}` })?.data ?? {}).length,
  );
  assert.equal(
    sizes.reduce((sum, one) => sum + one),
    30,
  );
  assert.ok(
    sizes.every((size) => size > 3),
    sizes.join(),
  );
  assert.equal((await configMapStore({ client: cluster.client(), ...where, shards: 3 }).read()).size, 30);
});

test('a ConfigMap of somebody else is left alone and named', async () => {
  const cluster = memoryCluster();
  cluster.put(ConfigMap, key, { data: { k: 'theirs' } });
  const store = configMapStore({ client: cluster.client(), ...where });
  await assert.rejects(store.read(), /ConfigMap default\/texts: it lacks the labels of Drydock/);
  await assert.rejects(
    store.change('k', () => 'ours'),
    { code: 'AlreadyExists' },
  );
  assert.deepEqual(cluster.peek(ConfigMap, key)?.data, { k: 'theirs' });
});

test('what does not fit is refused alone, what becomes smaller is taken', async () => {
  const cluster = memoryCluster();
  const store = configMapStore({ client: cluster.client(), ...where });
  await store.change('a', () => 'x'.repeat(900_000));
  const [big, small, failing] = await Promise.allSettled([
    store.change('b', () => 'x'.repeat(200_000)),
    store.change('c', () => 'x'),
    store.change('d', () => {
      throw new RangeError('no');
    }),
  ]);
  assert.match(String(big.status === 'rejected' && big.reason), /holds almost as much as a ConfigMap can/);
  assert.equal(small.status, 'fulfilled');
  assert.match(String(failing.status === 'rejected' && failing.reason), /no/);
  await store.change('a', () => 'x'.repeat(100));
  assert.deepEqual([...(await store.read()).keys()].toSorted(), ['a', 'c']);
});

test('the rules name what is read and changed', () => {
  assert.deepEqual(configMapStoreRules([{ name: 'a' }, { name: 'b', shards: 2 }]), [
    { apiGroups: [''], resources: ['configmaps'], resourceNames: ['a', 'b-0', 'b-1'], verbs: ['get', 'update'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  ]);
});

test('a server that does not answer is a Timeout that names the ConfigMap', async (t) => {
  t.mock.method(AbortSignal, 'timeout', () => AbortSignal.abort(new DOMException('late', 'TimeoutError')));
  const store = configMapStore({ client: memoryCluster().client(), ...where });
  const late = { code: 'Timeout', message: /ConfigMap default\/texts: there was no answer within 10 s/ };
  await assert.rejects(store.read(), late);
  await assert.rejects(
    store.change('k', () => 'x'),
    late,
  );
});
