import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '../clock.ts';
import type { JsonObject } from './json.ts';
import { openKind } from './kinds.ts';
import { createServer } from './server.ts';
import { createStore, type Store, type StoredEvent, type StoreOptions } from './store.ts';

const KIND = openKind({ group: 'test.dev', version: 'v1', kind: 'Thing', plural: 'things', scope: 'Cluster' });
const PATH = '/apis/test.dev/v1/things';

const storedValue = (store: Store, id: string): unknown => store.get(KIND, id)?.['value'];

/** The first event of a watch that begins at a version. */
function firstEvent(store: Store, version: number): JsonObject {
  const events: JsonObject[] = [];
  const server = createServer(store, [KIND], virtualClock());
  const path = `${PATH}?watch=true&resourceVersion=${version}`;
  using _watch = server.watch(
    { method: 'GET', path, agent: 'test' },
    { event: (event) => events.push(event), end: () => undefined },
  );
  return events[0] ?? assert.fail('no event');
}

test('a change is committed before anything shows it', () => {
  const seen: string[] = [];
  let store: Store | undefined;
  const commit = ({ version, id }: StoredEvent): void => {
    assert.ok(store !== undefined);
    seen.push(`commit ${version} ${id}, readers see ${String(storedValue(store, id))} at ${store.version}`);
  };
  store = createStore({ commit });
  using _telling = store.subscribe(({ version, id }) => seen.push(`publish ${version} ${id}`));
  store.put(KIND, '/a', { value: 1 });
  store.put(KIND, '/a', { value: 2 });
  store.remove(KIND, '/a');
  store.remove(KIND, '/a');
  assert.deepEqual(seen, [
    ...['commit 2 /a, readers see undefined at 1', 'publish 2 /a'],
    ...['commit 3 /a, readers see 1 at 2', 'publish 3 /a'],
    ...['commit 4 /a, readers see 2 at 3', 'publish 4 /a'],
  ]);
});

test('a commit that throws leaves the store as it was', () => {
  let isFull = false;
  const options: StoreOptions = {
    commit: () => {
      if (isFull) throw new Error('the disk is full');
    },
  };
  const store = createStore(options);
  store.put(KIND, '/a', { value: 1 });
  const before = store.list(KIND);
  using _telling = store.subscribe(() => assert.fail('it was published'));
  isFull = true;
  assert.throws(() => store.put(KIND, '/a', { value: 2 }), /disk is full/);
  assert.throws(() => store.put(KIND, '/b', { value: 2 }), /disk is full/);
  assert.throws(() => store.remove(KIND, '/a'), /disk is full/);
  assert.deepEqual([store.version, store.list(KIND), store.since(KIND, 2)], [2, before, []]);
});

test('a history that is too heavy is cut, and older versions are 410', () => {
  const store = createStore({ changes: 1000, bytes: 10_000 });
  const fill = 'x'.repeat(1000);
  for (let value = 0; value < 100; value += 1) store.put(KIND, '/a', { value, fill });
  const { version } = store;
  assert.equal(store.since(KIND, version - 5).length, 5);
  assert.throws(() => store.since(KIND, version - 30), /too old resource version/);
  assert.throws(() => store.list(KIND, version - 30), /too old resource version/);
  assert.equal((firstEvent(store, version - 30)['object'] as { code: number }).code, 410);
  assert.equal(firstEvent(store, version - 1)['type'], 'MODIFIED');
});

test('many small changes are kept, however heavy the objects that are still there', () => {
  const store = createStore({ changes: 1000, bytes: 10_000 });
  for (let at = 0; at < 100; at += 1) store.put(KIND, `/heavy-${at}`, { fill: 'x'.repeat(1000) });
  assert.equal(store.since(KIND, 1).length, 100);
});

test('a history of too many changes is cut', () => {
  const store = createStore({ changes: 10, bytes: 1 << 20 });
  for (let value = 0; value < 100; value += 1) store.put(KIND, '/a', { value });
  assert.equal(store.since(KIND, store.version - 10).length, 10);
  assert.throws(() => store.since(KIND, store.version - 21), /too old resource version/);
});
