import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { ApiError, configMapStoreRules, isAlreadyExists, isForbidden, type PolicyRule } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import { parseAllDocuments } from 'yaml';
import { clusterLedger, OWNERSHIP, readClusterLedger } from './ownership-ledger.ts';

const namespace = 'default';
const keys = Array.from({ length: 40 }, (_, index) => `template-${index}`);
const add =
  (text: string) =>
  (now: string | undefined): string =>
    `${now ?? ''}${text}`;
const forbidden = new ApiError({ code: 'Forbidden', action: 'get configmaps', said: 'you may not' });
const unauthorized = new ApiError({ code: 'Unauthorized', action: 'get configmaps', said: 'the token expired' });
const unreachable = new ApiError({ code: 'Connection', action: 'get configmaps', said: 'connection refused' });

/** A ledger of one process, whose clock the test sets. */
function rig() {
  const cluster = memoryCluster();
  const client = cluster.client();
  const time = { now: 0 };
  const gets = (): number => cluster.counters.get('get') ?? 0;
  return { cluster, client, time, gets, ledger: clusterLedger(client, namespace, () => time.now) };
}

test('records of two processes that write at once are all kept, in four ConfigMaps with the labels of Drydock', async () => {
  const cluster = memoryCluster();
  const [one, two] = [clusterLedger(cluster.client(), namespace), clusterLedger(cluster.client(), namespace)];
  assert.equal((await one.read()).size, 0);
  await Promise.all(keys.flatMap((key) => [one.change(key, add('a')), two.change(key, add('b'))]));
  const records = await clusterLedger(cluster.client(), namespace).read();
  assert.deepEqual(
    keys.map((key) => records.get(key)?.split('').toSorted().join('')),
    keys.map(() => 'ab'),
  );
  const maps = cluster.list(ConfigMap);
  assert.deepEqual(
    maps.map(({ metadata: { name } }) => name),
    [0, 1, 2, 3].map((index) => `drydock-ownership-${index}`),
  );
  for (const { metadata } of maps)
    assert.deepEqual(metadata.labels, {
      'app.kubernetes.io/managed-by': 'drydock',
      'app.kubernetes.io/component': 'ownership',
    });
});

test('reads within two seconds share one request, and show the changes of their own process at once', async () => {
  const { cluster, client, time, gets, ledger } = rig();
  await Promise.all(keys.map(() => ledger.read()));
  assert.equal(gets(), OWNERSHIP.shards);
  await ledger.change('a', () => 'mine');
  await ledger.change('b', () => 'mine');
  await ledger.change('b', () => undefined);
  const before = gets();
  assert.deepEqual([...(await ledger.read())], [['a', 'mine']]);
  assert.equal(gets(), before);

  await clusterLedger(cluster.client(), namespace).change('a', () => 'of another process');
  assert.equal((await ledger.read()).get('a'), 'mine');
  time.now += 2_000;
  assert.equal((await ledger.read()).get('a'), 'of another process');
  assert.equal(await ledger.change('a', add(', changed')), 'of another process, changed');
  assert.equal((await clusterLedger(client, namespace).read()).get('a'), 'of another process, changed');
});

test('a read that began before a change of its own process shows the change', async () => {
  const { cluster, ledger } = rig();
  const held = Promise.withResolvers<void>();
  let holding = 0;
  cluster.onCall = async ({ verb }, phase) => {
    // The answers of the read are on their way while the change is made.
    if (verb === 'get' && phase === 'after' && holding < OWNERSHIP.shards) {
      holding += 1;
      await held.promise;
    }
  };
  const reading = ledger.read();
  await ledger.change('a', () => 'mine');
  const shared = ledger.read();
  held.resolve();
  await reading;
  assert.equal((await shared).get('a'), 'mine');
});

test('reads and changes reject where the API server cannot be asked; the next read asks again', async () => {
  const { cluster, time, ledger } = rig();
  await ledger.change('a', () => 'mine');
  cluster.onCall = ({ verb }, phase) => {
    if (verb === 'get' && phase === 'before') throw unreachable;
  };
  await assert.rejects(ledger.read(), unreachable);
  await assert.rejects(readClusterLedger(cluster.client(), namespace, assert.fail).read(), unreachable);
  cluster.onCall = undefined;
  assert.equal((await ledger.read()).get('a'), 'mine');
  cluster.onCall = () => {
    // Unlike a refused connection it is not tried again.
    throw unauthorized;
  };
  await assert.rejects(ledger.change('a', add('!')), unauthorized);
  cluster.onCall = undefined;
  assert.equal((await ledger.read()).get('a'), 'mine');
  // What was read before does not outlive a failure.
  cluster.onCall = ({ verb }) => {
    if (verb === 'get') throw unreachable;
  };
  time.now += 2_000;
  await assert.rejects(ledger.read(), unreachable);
});

test('a change whose answer is lost is read again before it counts', async () => {
  const { cluster, ledger } = rig();
  await ledger.read();
  cluster.onCall = ({ verb }, phase) => {
    if (verb !== 'create' || phase === 'before') return;
    cluster.onCall = undefined;
    throw forbidden;
  };
  await assert.rejects(
    ledger.change('a', () => 'mine'),
    isForbidden,
  );
  assert.equal((await ledger.read()).get('a'), 'mine');
});

test('a ConfigMap without the labels of Drydock is neither read as an empty ledger nor written', async () => {
  const { cluster, ledger } = rig();
  for (let index = 0; index < OWNERSHIP.shards; index += 1)
    cluster.put(ConfigMap, { namespace, name: `${OWNERSHIP.name}-${index}` }, { data: { a: 'theirs' } });
  await assert.rejects(ledger.read(), isAlreadyExists);
  await assert.rejects(
    ledger.change('a', () => 'mine'),
    isAlreadyExists,
  );
  for (const { data } of cluster.list(ConfigMap)) assert.deepEqual(data, { a: 'theirs' });
});

test('a ledger of a command that only looks never writes', async () => {
  const { cluster, client, ledger } = rig();
  await ledger.change('a', () => 'recorded');
  const { version } = cluster;
  const looking = readClusterLedger(client, namespace, assert.fail);
  assert.equal(await looking.change('a', assert.fail), 'recorded');
  assert.equal(await looking.change('b', assert.fail), undefined);
  assert.deepEqual([...(await looking.read())], [['a', 'recorded']]);
  assert.deepEqual([looking.kind, cluster.version], ['cluster', version]);
});

test('a user who may not read the ledger is warned once, and sees a ledger that vouches for nothing', async () => {
  const { cluster, client, ledger } = rig();
  await ledger.change('a', () => 'recorded');
  cluster.onCall = () => {
    throw forbidden;
  };
  const warnings: string[] = [];
  const looking = readClusterLedger(client, namespace, (message) => warnings.push(message));
  const all = await Promise.all([looking.read(), looking.read(), looking.change('a', assert.fail)]);
  assert.deepEqual(all, [new Map(), new Map(), undefined]);
  assert.equal((await looking.read()).size, 0);
  assert.equal(looking.kind, 'file');
  assert.deepEqual(warnings, [
    'You may not read which templates Drydock owns (ConfigMaps drydock-ownership-0 to -3 in default): templates may be shown as not owned',
  ]);
});

test('the roles of boot images may read and write the ledger', () => {
  for (const file of ['boot-images/openshift-machine-config-operator.yaml', 'cluster-api/drydock.yaml']) {
    const text = readFileSync(join(import.meta.dirname, '../../../deploy/rbac', file), 'utf8');
    const rules = parseAllDocuments(text).flatMap(
      (document) => (document.toJS() as { readonly rules?: readonly PolicyRule[] }).rules ?? [],
    );
    for (const needed of configMapStoreRules([OWNERSHIP]))
      assert.ok(
        rules.some((rule) => JSON.stringify(rule) === JSON.stringify(needed)),
        `${file}: ${JSON.stringify(needed)}`,
      );
  }
});
