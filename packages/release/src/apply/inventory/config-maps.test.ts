import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { ApiError } from '@drydock/kube';
import { KubeClientKilled, type MemoryCluster, memoryCluster } from '@drydock/kube/testing';
import { explore, soaking } from '@drydock/model';
import { idKey } from '../../payload/manifest.ts';
import { configMapInventory } from './config-maps.ts';
import type { InventoryEntry } from './entry.ts';

const signal = new AbortController().signal;
const mine = { name: 'Payload mine' };

const entryOf = (name: string, more: Partial<InventoryEntry> = {}): InventoryEntry => ({
  id: { group: '', kind: 'ConfigMap', namespace: 'n', name },
  ...{ version: 'v1', file: '0000_10_a_1.yaml', releases: ['1'], uid: `u-${name}`, made: true, written: {}, ...more },
});
const changes = (...entries: readonly InventoryEntry[]) => new Map(entries.map((one) => [idKey(one.id), one]));
const open = (cluster: MemoryCluster, owner: { readonly name: string } = mine) =>
  configMapInventory({ client: cluster.client(), namespace: 'default' }).open(owner, signal);
const namesIn = (entries: ReadonlyMap<string, InventoryEntry>) =>
  [...entries.values()].map(({ id }) => id.name).toSorted();
const puts = (cluster: MemoryCluster) => (cluster.counters.get('create') ?? 0) + (cluster.counters.get('replace') ?? 0);

test('an inventory is read back as it was written, in ConfigMaps of a hundred objects', async () => {
  const cluster = memoryCluster();
  const inventory = await open(cluster);
  const all = Array.from({ length: 250 }, (_, index) => entryOf(`a${index}`, { written: { data: { x: 'd' } } }));
  await inventory.write(changes(...all));
  const again = await open(cluster);
  assert.deepEqual(new Map(again.entries), changes(...all));
  assert.equal(puts(cluster), 3);
  await again.write(changes(entryOf('a5', { uid: 'other' })));
  assert.equal(puts(cluster), 4, 'one change is one write');
  await again.write(new Map([[idKey(entryOf('a6').id), undefined]]));
  assert.equal((await open(cluster)).entries.size, 249);
});

test('changes that come together are one write; what is noted goes with the next', async () => {
  const cluster = memoryCluster();
  const inventory = await open(cluster);
  await inventory.write(changes(entryOf('a')));
  const before = puts(cluster);
  inventory.note(changes(entryOf('noted')));
  assert.equal(puts(cluster), before);
  await Promise.all(['b', 'c', 'd', 'e'].map((name) => inventory.write(changes(entryOf(name)))));
  assert.ok(puts(cluster) <= before + 2, 'the first, and one for all that waited');
  assert.deepEqual(namesIn((await open(cluster)).entries), ['a', 'b', 'c', 'd', 'e', 'noted']);
});

test('an entry that grows beyond its ConfigMap moves to another one, and is there once', async () => {
  const cluster = memoryCluster();
  const inventory = await open(cluster);
  await inventory.write(changes(entryOf('a'), entryOf('b')));
  const keys = (size: number) =>
    Object.fromEntries(Array.from({ length: size }, (_, index) => [`key-${index}`.padEnd(100, 'x'), 'd'.repeat(16)]));
  await inventory.write(changes(entryOf('a', { written: { data: keys(2_000) } })));
  await inventory.write(changes(entryOf('b', { written: { data: keys(2_000) } })));
  const again = await open(cluster);
  assert.deepEqual(namesIn(again.entries), ['a', 'b']);
  const sizes = Object.values(cluster.snapshot()).map((one) => JSON.stringify(one).length);
  assert.ok(Math.max(...sizes) < 1_000_000);
});

test('ConfigMaps of one write are sent at the same time; where an entry moves, the one that it moves to is kept first', async () => {
  const cluster = memoryCluster();
  const inventory = await open(cluster);
  const big = Object.fromEntries(
    Array.from({ length: 1_999 }, (_, at) => [`k-${at}`.padEnd(150, 'x'), 'd'.repeat(16)]),
  );
  let [now, most] = [0, 0];
  const order: string[] = [];
  cluster.onCall = async ({ verb, key }, phase, { mutates }) => {
    if (!mutates) return;
    now += phase === 'before' ? 1 : -1;
    most = Math.max(most, now);
    if (phase === 'after') order.push(`${verb} ${key?.name.at(-1)}`);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await inventory.write(changes(...Array.from({ length: 250 }, (_, at) => entryOf(`a${at}`))));
  assert.equal(most, 3);
  [now, most] = [0, 0];
  order.length = 0;
  await inventory.write(changes(entryOf('a5', { written: { data: big } }), entryOf('a6', { written: { data: big } })));
  assert.equal(most, 1);
  assert.ok(order.length >= 2 && order.at(-1) === 'replace 0', order.join(', '));
  cluster.onCall = undefined;
  assert.equal((await open(cluster)).entries.size, 250);
});

test('what others claim is told with their names', async () => {
  const cluster = memoryCluster();
  const other = await open(cluster, { name: 'Payload other' });
  await other.write(changes(entryOf('theirs')));
  const inventory = await open(cluster);
  assert.deepEqual([inventory.entries.size, [...inventory.claimedByOthers.values()]], [0, ['Payload other']]);
  await other.write(changes(entryOf('more')));
  await inventory.refresh();
  assert.equal(inventory.claimedByOthers.size, 2);
});

test('two processes: the one whose inventory is out of date writes nothing more', async () => {
  const cluster = memoryCluster();
  const [one, two] = [await open(cluster), await open(cluster)];
  await one.write(changes(entryOf('a')));
  await assert.rejects(
    two.write(changes(entryOf('b'))),
    (error) => error instanceof ApiError && error.code === 'Conflict',
  );
  await assert.rejects(two.write(changes(entryOf('c'))), ApiError);
  assert.deepEqual(namesIn((await open(cluster)).entries), ['a']);
});

test('two processes that read the same: the second to write is told of a conflict, and the first is kept', async () => {
  const cluster = memoryCluster();
  await (await open(cluster)).write(changes(entryOf('before')));
  const [one, two] = [await open(cluster), await open(cluster)];
  await one.write(changes(entryOf('a')));
  await assert.rejects(
    two.write(changes(entryOf('b'))),
    (error) => error instanceof ApiError && error.code === 'Conflict',
  );
  assert.deepEqual(namesIn((await open(cluster)).entries), ['a', 'before']);
});

test('after a write that could not be kept nothing more is written: what is kept is not known any more', async () => {
  const cluster = memoryCluster();
  const inventory = await open(cluster);
  cluster.onCall = () => {
    throw new ApiError({ code: 'Forbidden', action: 'create ConfigMap', said: 'no' });
  };
  await assert.rejects(inventory.write(changes(entryOf('a'))), ApiError);
  cluster.onCall = undefined;
  await assert.rejects(inventory.write(changes(entryOf('b'))), ApiError);
  assert.equal((await open(cluster)).entries.size, 0);
});

test('an inventory that somebody edited is refused by name and line', async () => {
  const cluster = memoryCluster();
  const inventory = await open(cluster);
  await inventory.write(changes(entryOf('a'), entryOf('b')));
  const [name = ''] = Object.keys(cluster.snapshot()).filter((one) => one.includes('drydock-release'));
  const key = { namespace: 'default', name: name.replace(/^.*\//, '') };
  const now = cluster.peek(ConfigMap, key);
  const entries = (line: string) => ({ ...now, data: { ...now?.data, entries: `${now?.data?.['entries']}\n${line}` } });
  for (const line of [
    '{"id":',
    '{}',
    '[]',
    '{"id":{"kind":"X","name":"y"},"releases":[1],"written":{}}',
    '{"id":{"kind":"X","name":"y"},"releases":[],"written":{"data":7}}',
  ]) {
    cluster.put(ConfigMap, key, entries(line));
    await assert.rejects(
      open(cluster),
      /BAD_INVENTORY|ConfigMap default\/drydock-release-[0-9a-f]+-0, line 3 of its entries/,
    );
  }
});

test('after a lost request, a lost answer or the end of the process, what is kept is what was kept, or what was written', async () => {
  const faults = ['lost', 'unanswered', 'killed'] as const;
  interface World {
    readonly cluster: MemoryCluster;
    readonly done: string[];
  }
  const coverage = await explore<World, (typeof faults)[number]>({
    faults,
    depth: soaking ? 2 : 1,
    setup: () => ({ cluster: memoryCluster(), done: [] }),
    run: async ({ cluster, done }, tripwire) => {
      const failure = (call: { readonly verb: string }) =>
        new ApiError({ code: 'Connection', action: call.verb, said: 'the connection was cut' });
      cluster.onCall = (call, phase, { client }) => {
        const fault = tripwire.hit(`${phase} ${call.verb}`);
        if (fault === 'killed') {
          client.kill();
          throw new KubeClientKilled();
        }
        if (fault === 'lost' && phase === 'before') throw failure(call);
        if (fault === 'unanswered' && phase === 'after') throw failure(call);
      };
      const inventory = await open(cluster);
      for (const name of ['a', 'b']) {
        await inventory.write(changes(entryOf(name)));
        done.push(name);
      }
      inventory.note(new Map([[idKey(entryOf('a').id), undefined]]));
      await inventory.write(changes(entryOf('c')));
      done.push('c');
    },
    check: async ({ cluster, done }) => {
      cluster.onCall = undefined;
      assert.deepEqual(namesIn((await open(cluster)).entries), ['b', 'c']);
      assert.ok(done.includes('c'));
    },
  });
  assert.ok(coverage.scenarios > 20 && coverage.places.length >= 8);
});
