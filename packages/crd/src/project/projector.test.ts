import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../schema/json.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { capabilitiesOf, clusterVersionCrd, clusterVersionObject } from '../testing/cluster-version.ts';
import { crdOf } from '../testing/crd-of.ts';
import { memoryStore } from '../testing/memory-store.ts';
import { createLedger } from './ledger.ts';
import { readRecord } from './ledger-record.ts';
import { projectionText } from './projection-text.ts';
import { createProjector, type ProjectionEvent, type Projector } from './projector.ts';

const [F13, F14] = ([13, 14] as const).map((release) => clusterVersionCrd(release).versions[0] as CrdVersion);
const UID = '00000000-0000-4000-8000-000000000001';

function statusOf(object: JsonObject): JsonObject {
  return object['status'] as JsonObject;
}

function enabledIn(status: JsonObject): readonly string[] {
  return (status['capabilities'] as JsonObject)['enabledCapabilities'] as readonly string[];
}

/** A writer that carries on from what is stored, on a server that takes everything. */
function rig(store = memoryStore()) {
  const told: ProjectionEvent[] = [];
  const problems: string[] = [];
  let live = F14;
  let stored = clusterVersionObject(14);
  let clock = 0;
  const start = (): Projector =>
    createProjector({
      live: () => live,
      ledger: createLedger({ store, onProblem: ({ what }) => problems.push(what), now: () => clock }),
      tell: (event) => told.push(event),
      now: () => new Date(clock),
    });
  const world = {
    store,
    told,
    problems,
    projector: start(),
    kinds: () => told.map(({ kind }) => kind),
    go: (to: CrdVersion | undefined) => {
      live = to;
    },
    pass: (ms: number) => {
      clock += ms;
    },
    restart: () => {
      world.projector = start();
    },
    stored: () => statusOf(stored),
    write: async (change: JsonObject): Promise<void> => {
      const { projector } = world;
      const meant = { ...statusOf(await projector.recall(stored)), ...change };
      const sent = await projector.project(meant, stored);
      if (sent === stored['status']) return projector.written(sent, stored);
      stored = { ...stored, status: sent };
      await projector.written(sent, stored);
    },
  };
  return world;
}

test('invariants (iii) and (iv): the ledger is saved before a value is left out, a restart starts from both, and each change is told once', async () => {
  const world = rig();
  await world.write({ observedGeneration: 2 });
  assert.equal(world.store.texts.size, 0);
  world.go(F13);
  for (let count = 3; count < 6; count += 1) await world.write({ observedGeneration: count });
  assert.deepEqual(enabledIn(world.stored()), capabilitiesOf(13));
  assert.equal(readRecord(world.store.texts.get(UID) ?? '').entries.length, 8);
  world.restart();
  await world.write({ observedGeneration: 7 });
  assert.equal(readRecord(world.store.texts.get(UID) ?? '').entries.length, 8);
  const [first, again, ...more] = world.told;
  assert.ok(first?.kind === 'quarantined' && again?.kind === 'quarantined');
  assert.deepEqual([first.again, again.again, more], [false, true, []], 'a restart tells who cannot know, once');
  world.told.splice(1);
  world.restart();
  world.go(F14);
  await world.write({ observedGeneration: 8 });
  assert.deepEqual(enabledIn(world.stored()), capabilitiesOf(14));
  assert.deepEqual([world.store.texts.size, world.kinds()], [0, ['quarantined', 'restored']]);
  assert.ok(world.told.every((event) => projectionText(event) !== ''));
});

test('negative control: without a ledger a restart under the older schema loses what was left out', async () => {
  const world = rig(memoryStore(() => Promise.reject(new Error('there is none'))));
  const projector = (): Projector => createProjector({ live: () => F13 });
  const first = projector();
  const object = clusterVersionObject(14);
  const sent = await first.project(statusOf(object), object);
  const again = projector();
  assert.notDeepEqual(enabledIn(statusOf(await again.recall({ ...object, status: sent }))), capabilitiesOf(14));
  assert.equal(world.problems.length, 0);
});

test('what cannot be saved is not left out: the stored status stays, that is told once, and a ledger that works again ends it', async () => {
  let broken = true;
  const store = memoryStore((place) =>
    broken && place.startsWith('before the ledger is saved') ? Promise.reject(new Error('no room')) : Promise.resolve(),
  );
  const world = rig(store);
  world.go(F13);
  await world.write({ observedGeneration: 2 });
  world.pass(60_000);
  await world.write({ observedGeneration: 3 });
  assert.deepEqual(enabledIn(world.stored()), capabilitiesOf(14));
  assert.deepEqual(world.kinds(), ['blocked']);
  assert.match(projectionText(world.told[0] as ProjectionEvent), /cannot be saved: no room/);
  assert.equal(world.projector.retryIn(UID), 10_000);
  assert.deepEqual(world.projector.concerned(), ['version']);
  broken = false;
  world.pass(10_000);
  await world.write({ observedGeneration: 4 });
  assert.deepEqual(enabledIn(world.stored()), capabilitiesOf(13));
  assert.deepEqual(world.kinds(), ['blocked', 'unblocked', 'quarantined']);
  assert.equal(world.projector.retryIn(), undefined);
});

test('invariant (iii): a decision reads the whole status without waiting, once the ledger was read', async () => {
  const world = rig();
  world.go(F13);
  await world.write({ observedGeneration: 2 });
  world.restart();
  const object = { metadata: { name: 'version', uid: UID }, status: world.stored() };
  assert.deepEqual(enabledIn(statusOf(world.projector.remembered(object))), capabilitiesOf(13));
  await world.projector.recall(object);
  assert.deepEqual(enabledIn(statusOf(world.projector.remembered(object))), capabilitiesOf(14));
});

const word: Schema = { type: 'string' };

function liveOf(status: Readonly<Record<string, Schema>>, more: Partial<Schema> = {}): CrdVersion {
  return crdOf({ type: 'object', properties: { status: { type: 'object', properties: status, ...more } } })
    .versions[0] as CrdVersion;
}

test('what the server names is left out in the next round; what may not be left out blocks, until the schema, the object or half a minute says otherwise', async () => {
  const told: ProjectionEvent[] = [];
  let live = liveOf({ a: word, b: word });
  let clock = 0;
  const projector = createProjector({
    live: () => live,
    tell: (event) => told.push(event),
    now: () => new Date(clock),
  });
  const object: JsonObject = {
    metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1' },
    status: { b: 'o' },
  };
  const intent = { a: 'x', b: 'y' };
  await projector.written(await projector.project({ b: 'o' }, object), object);
  const first = await projector.project(intent, object);
  assert.equal(
    projector.refused([{ field: 'status.a', reason: 'FieldValueNotSupported', message: 'no' }], object, first),
    true,
  );
  const second = await projector.project(intent, object);
  assert.deepEqual(second, { b: 'y' });
  const root = [{ field: '<nil>', reason: 'FieldValueInvalid', message: 'a rule at the root' }];
  assert.equal(projector.refused(root, object, second), 'told');
  assert.equal(await projector.project(intent, object), object['status'], 'nothing is sent meanwhile');
  await projector.written(object['status'], object);
  assert.equal(projector.retryIn('u'), 30_000);
  assert.deepEqual(projector.concerned(), ['n/a']);
  const changed = { ...object, metadata: { ...(object['metadata'] as JsonObject), resourceVersion: '2' } };
  assert.deepEqual(await projector.project(intent, changed), { b: 'y' });
  clock += 30_000;
  const third = await projector.project(intent, object);
  assert.deepEqual(third, { b: 'y' });
  assert.equal(projector.refused(root, object, third), 'told');
  live = liveOf({ a: word, b: word, c: word });
  const fourth = await projector.project(intent, object);
  assert.deepEqual(fourth, intent);
  await projector.written(fourth, object);
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['blocked', 'unblocked'],
  );
});

test('a minute without an answer is told, and the first answer ends it; what was told of a deleted object is taken back', async () => {
  const told: string[] = [];
  let why = '';
  let clock = 0;
  const projector = createProjector({
    live: () => liveOf({ a: word }),
    tell: (event) => {
      told.push(event.kind);
      if (event.kind === 'blocked') why = event.why;
    },
    now: () => new Date(clock),
  });
  const object: JsonObject = { metadata: { name: 'a', uid: 'u' }, status: {} };
  for (const at of [0, 30_000, 61_000]) {
    clock = at;
    projector.failed(object, await projector.project({ a: 'x' }, object), new Error('no answer within 30 s'));
  }
  assert.deepEqual([told, why], [['blocked'], 'it does not arrive: no answer within 30 s']);
  const sent = await projector.project({ a: 'x' }, object);
  assert.deepEqual(sent, { a: 'x' }, 'it is tried all the same');
  await projector.written(sent, object);
  assert.deepEqual(told, ['blocked', 'unblocked']);
  const next = await projector.project({ a: 'y' }, object);
  projector.failed(object, next);
  clock += 60_000;
  projector.failed(object, next);
  projector.forget('u');
  projector.forget('another');
  assert.deepEqual(told, ['blocked', 'unblocked', 'blocked', 'gone']);
});

test('a field that the server hides since the definition lost it is still known to whoever wrote it, and kept before it is gone', async () => {
  const store = memoryStore();
  let live = liveOf({ a: word, b: word });
  const projector = createProjector({ live: () => live, ledger: createLedger({ store }) });
  const object = (version: string, status: JsonObject): JsonObject => ({
    metadata: { name: 'a', uid: 'u', resourceVersion: version },
    status,
  });
  const write = async (current: JsonObject, version: string): Promise<JsonObject> => {
    const { status } = (await projector.recall(current)) as { readonly status: JsonObject };
    const sent = await projector.project({ ...status, b: version }, current);
    await projector.written(sent, object(version, sent));
    return sent;
  };
  assert.deepEqual(await write(object('1', { a: 'kept' }), '2'), { a: 'kept', b: '2' });
  live = liveOf({ b: word });
  // The same version, without the field.
  assert.deepEqual(await write(object('2', { b: '2' }), '3'), { b: '3' });
  assert.deepEqual(
    readRecord(store.texts.get('u') ?? '').entries.map(({ at, value }) => [at, value]),
    [[['a'], 'kept']],
  );
  live = liveOf({ a: word, b: word });
  assert.deepEqual(await write(object('3', { b: '3' }), '4'), { b: '4', a: 'kept' });
  // Another version is somebody else's, who may have taken the field away.
  assert.deepEqual(await write(object('9', { b: '9' }), '10'), { b: '10' });
});

test('what another process cut is restored by the one that goes on', async () => {
  const store = memoryStore();
  let clock = 0;
  const start = (live: CrdVersion | undefined): Projector =>
    createProjector({ live: () => live, ledger: createLedger({ store, now: () => clock }) });
  const [older, newer] = [start(F13), start(F14)];
  let version = 7;
  let stored = clusterVersionObject(14);
  const write = async (projector: Projector): Promise<readonly string[]> => {
    clock += 2_000;
    const { status } = (await projector.recall(stored)) as { readonly status: JsonObject };
    const sent = await projector.project({ ...status, observedGeneration: version }, stored);
    version += 1;
    const metadata = { ...(stored['metadata'] as JsonObject), resourceVersion: `${version}` };
    stored = { ...stored, metadata, status: sent };
    await projector.written(sent, stored);
    return enabledIn(sent);
  };
  assert.deepEqual(await write(newer), capabilitiesOf(14));
  assert.deepEqual(await write(older), capabilitiesOf(13));
  assert.deepEqual(await write(newer), capabilitiesOf(14));
  await write(newer);
  assert.equal(store.texts.size, 0);
});

test('RB-R91 what a server takes and cuts, because it does not serve the newer definition yet, stays kept until it is stored', async () => {
  const store = memoryStore();
  let clock = 0;
  let live = F13;
  const projector = createProjector({ live: () => live, ledger: createLedger({ store, now: () => clock }) });
  let stored = clusterVersionObject(14);
  let version = 7;
  const write = async (serves: (status: JsonObject) => JsonObject): Promise<void> => {
    clock += 2_000;
    const { status } = (await projector.recall(stored)) as { readonly status: JsonObject };
    const sent = await projector.project({ ...status, observedGeneration: version }, stored);
    version += 1;
    const metadata = { ...(stored['metadata'] as JsonObject), resourceVersion: `${version}` };
    stored = { ...stored, metadata, status: serves(sent) };
    await projector.written(sent, stored);
  };
  await write((status) => status);
  assert.equal(store.texts.size, 1);
  // The definition says the newer release; the server that answers still has the older one.
  live = F14;
  await write(({ capabilities: _cut, ...status }) => status);
  assert.equal(store.texts.size, 1, 'forgotten, and nowhere else');
  await write((status) => status);
  assert.ok(enabledIn(statusOf(stored)).includes('MachineAPI'));
});
