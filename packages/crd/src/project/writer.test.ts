import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equal, isObject, type Json, type JsonObject } from '../schema/json.ts';
import { pathText } from '../schema/path.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { capabilitiesOf, clusterVersionCrd, clusterVersionObject, type Release } from '../testing/cluster-version.ts';
import { crdOf } from '../testing/crd-of.ts';
import { ERAS, type Era, judge } from '../validate/eras.ts';
import { entriesFor, type LedgerEntry, lossPlace, union } from './ledger-record.ts';
import { project } from './project.ts';
import { recall } from './recall.ts';
import { readRefusal, type ServerCause } from './server-cause.ts';
import { nextWrite, START, type StatusStep, type StatusWorld, type WriteAnswer } from './status-machine.ts';

const origin = { schemaHash: '', firstSeen: '2026-01-01T00:00:00Z', release: '' };

/** A server of an era with one object, in memory: it answers as {@link judge} says. */
function server(era: Era, stored: JsonObject) {
  const world = { stored, refusals: 0, writes: 0, ledger: [] as readonly LedgerEntry[], steps: [] as string[] };
  function put(status: JsonObject, live: CrdVersion): WriteAnswer {
    const next = { ...world.stored, status };
    const { causes } = judge(
      { endpoint: 'status', next, stored: world.stored, schema: live.schema ?? {}, hasStatus: true },
      ERAS[era],
    );
    if (causes.length > 0) {
      world.refusals += 1;
      return {
        kind: 'invalid',
        causes: causes.map(({ path, reason, message }): ServerCause => ({ field: pathText(path), reason, message })),
      };
    }
    world.writes += 1;
    world.stored = next;
    return { kind: 'ok' };
  }
  /** Plays a write to its end; `local` is the schema that the writer believes in. */
  function write(intent: JsonObject, live: CrdVersion, local = live): StatusStep {
    let state = START;
    let answer: WriteAnswer | undefined;
    for (let count = 0; count < 40; count += 1) {
      const now: StatusWorld = {
        intent,
        object: world.stored,
        live: local,
        ledger: world.ledger,
      };
      const next = nextWrite(state, now, answer);
      state = next.state;
      world.steps.push(next.step.kind);
      if (next.step.kind === 'record')
        world.ledger = union(world.ledger, entriesFor(next.step.lost, world.ledger, origin));
      if (next.step.kind === 'done') world.ledger = entriesFor(next.step.lost, world.ledger, origin);
      if (next.step.kind === 'put') answer = put(next.step.status, live);
      else if (next.step.kind === 'record') answer = { kind: 'recorded' };
      else return next.step;
    }
    throw new Error('the writer does not come to an end');
  }
  return { world, write };
}

function version(release: Release): CrdVersion {
  return clusterVersionCrd(release).versions[0] as CrdVersion;
}

function statusOf(object: JsonObject): JsonObject {
  return object['status'] as JsonObject;
}

const capabilities = (status: JsonObject): { readonly [key: string]: Json } => status['capabilities'] as JsonObject;

for (const era of ['E0', 'E1', 'E2'] as const)
  test(`RB-R78, RB-R79 on ${era}: the swap under a running writer is no refusal, four values of two lists are in the ledger, and the way forward restores them`, () => {
    const { world, write } = server(era, clusterVersionObject(14));
    const intent = { ...statusOf(world.stored), observedGeneration: 2 };
    assert.equal(write(intent, version(13)).kind, 'done');
    assert.equal(world.refusals, 0);
    assert.deepEqual(capabilities(statusOf(world.stored))['enabledCapabilities'], capabilitiesOf(13));
    assert.equal(world.ledger.length, 8);
    assert.equal(new Set(world.ledger.map(lossPlace)).size, 2);
    assert.ok(
      world.steps.indexOf('record') < world.steps.indexOf('put'),
      'the ledger is saved before anything is left out',
    );
    assert.equal(write(intent, version(13)).kind, 'skip', 'nothing is written when nothing changed');
    assert.equal(write(intent, version(14)).kind, 'done');
    assert.deepEqual(capabilities(statusOf(world.stored))['enabledCapabilities'], capabilitiesOf(14));
    assert.deepEqual([world.ledger, world.refusals, world.writes], [[], 0, 2]);
  });

test('RB-R78 with a stale schema: one refusal, then it is written', () => {
  const { world, write } = server('E1', clusterVersionObject(14));
  assert.equal(write({ ...statusOf(world.stored), observedGeneration: 2 }, version(13), version(14)).kind, 'done');
  assert.deepEqual([world.refusals, world.writes], [1, 1]);
  assert.deepEqual(capabilities(statusOf(world.stored))['enabledCapabilities'], capabilitiesOf(13));
});

test('RB-R79: a writer that starts from the filtered status recalls what it lost', () => {
  const { world, write } = server('E1', clusterVersionObject(14));
  write({ ...statusOf(world.stored), observedGeneration: 2 }, version(13));
  const lists = capabilities(recall(statusOf(world.stored), world.ledger));
  assert.deepEqual(lists['enabledCapabilities'], capabilitiesOf(14), 'in their order');
  assert.deepEqual(recall(statusOf(world.stored), []), statusOf(world.stored));
});

test('RB-R88: a writer that sends what it has, unprojected, goes red where the eras say so', () => {
  const refused = (era: Era, edit: (status: JsonObject) => JsonObject): boolean => {
    const stored = clusterVersionObject(14);
    const next = { ...stored, status: edit(statusOf(stored)) };
    return (
      judge({ endpoint: 'status', next, stored, schema: version(13).schema ?? {}, hasStatus: true }, ERAS[era]).causes
        .length > 0
    );
  };
  const untouched = (status: JsonObject): JsonObject => ({ ...status, observedGeneration: 2 });
  const toggled = (status: JsonObject): JsonObject => ({
    ...status,
    capabilities: {
      ...capabilities(status),
      enabledCapabilities: capabilitiesOf(14).filter((name) => name !== 'Console'),
    },
  });
  assert.deepEqual(
    (['E0', 'E1', 'E2'] as const).map((era) => refused(era, untouched)),
    [true, true, false],
  );
  assert.deepEqual(
    (['E0', 'E1', 'E2'] as const).map((era) => refused(era, toggled)),
    [true, true, true],
  );
});

const word: Schema = { type: 'string' };

function live(status: Readonly<Record<string, Schema>>, more: Partial<Schema> = {}): CrdVersion {
  return crdOf({ type: 'object', properties: { status: { type: 'object', properties: status, ...more } } })
    .versions[0] as CrdVersion;
}

function projected(status: JsonObject, onto: CrdVersion): JsonObject {
  return project(status, { metadata: { name: 'a' } }, { live: onto }).status;
}

test('RB-R82: rules that were not looked at are told in the next round, and cured at their owner', () => {
  const status: JsonObject = { a: 'bad', b: 'worse', c: 'fine' };
  const { world, write } = server('E1', { metadata: { name: 'a', uid: 'u' }, status: {} });
  const strict = live({
    a: { type: 'string', enum: ['ok'] },
    b: { type: 'string', 'x-kubernetes-validations': [{ rule: "self != 'worse'" }] },
    c: word,
  });
  const open = live({ a: word, b: word, c: word });
  assert.equal(write(status, strict, open).kind, 'done');
  assert.equal(world.refusals, 2);
  assert.deepEqual(world.stored['status'], { c: 'fine' });
});

test('RB-R83: a key with a dot is found by walking the object, and what could be two places is none', () => {
  const sent: JsonObject = { status: { zones: { 'a.b': { state: 'bad' }, c: { state: 'bad' } } } };
  const at = (field: string, object = sent): readonly string[] =>
    readRefusal([{ reason: 'FieldValueNotSupported', field }], object).causes.map(({ path }) => JSON.stringify(path));
  assert.deepEqual(at('status.zones.a.b.state'), ['["status","zones","a.b","state"]']);
  assert.deepEqual(at('zones.c.state'), ['["status","zones","c","state"]'], 'the oldest servers leave the prefix out');
  const two: JsonObject = { status: { zones: { 'a.b': { state: 1 }, a: { b: { state: 2 } } } } };
  assert.deepEqual(at('status.zones.a.b.state', two), []);
  assert.deepEqual(at('status.nowhere.b'), []);
});

test('RB-R84: a history that is too long keeps its head, the newest completed entry, the first one and the newest others', () => {
  const history = Array.from(
    { length: 100 },
    (_, index): JsonObject => ({ startedTime: `t${index}`, state: index === 70 ? 'Completed' : 'Partial', id: index }),
  );
  const item: Schema = { type: 'object', properties: { startedTime: word, state: word, id: { type: 'integer' } } };
  const { history: written } = projected({ history }, live({ history: { type: 'array', maxItems: 50, items: item } }));
  const ids = (written as readonly JsonObject[]).map(({ id }) => id);
  assert.deepEqual(ids, [...Array(48).keys(), 70, 99]);
});

test('the ladder: item, optional field, neutral value, smallest optional ancestor', () => {
  const strict = live({
    list: { type: 'array', items: { type: 'string', enum: ['a'] } },
    leaf: { type: 'integer', maximum: 3 },
    phase: { type: 'object', required: ['name'], properties: { name: { type: 'string', enum: ['Ready', 'Unknown'] } } },
    deep: {
      type: 'object',
      properties: { inner: { type: 'object', required: ['x'], properties: { x: { type: 'integer', maximum: 3 } } } },
    },
    long: { type: 'string', maxLength: 12 },
    few: { type: 'array', minItems: 2, items: { type: 'string', enum: ['a', 'b'] } },
  });
  const status: JsonObject = {
    list: ['b', 'a', 'c'],
    leaf: 9,
    phase: { name: 'Rebooting' },
    deep: { inner: { x: 9 } },
    long: 'one two three four',
    few: ['a', 'c'],
    gone: 1,
  };
  const { status: written, quarantined, stuck } = project(status, { metadata: {} }, { live: strict });
  assert.deepEqual(written, { list: ['a'], phase: { name: 'Unknown' }, deep: {}, long: 'one two…' });
  assert.deepEqual(stuck, []);
  assert.deepEqual(
    new Set(quarantined.map(({ path }) => path)),
    new Set([
      'status.list[]',
      'status.leaf',
      'status.phase.name',
      'status.deep.inner',
      'status.long',
      'status.few',
      'status.few[]',
      'status.gone',
    ]),
  );
});

test('R52 in memory: a field that the root of the status requires gets a neutral value, or the writer is blocked and says so', () => {
  const { world, write } = server('E2', { metadata: { name: 'a', uid: 'u' }, status: { a: 'x' } });
  assert.equal(
    write({ a: 'y' }, live({ a: word, mode: { type: 'string', enum: ['On', 'Unknown'] } }, { required: ['mode'] }))
      .kind,
    'done',
  );
  assert.deepEqual(world.stored['status'], { a: 'y', mode: 'Unknown' });
  const fresh = server('E2', { metadata: { name: 'a', uid: 'u' }, status: { a: 'x' } });
  const blocked = fresh.write(
    { a: 'z' },
    live({ a: word, mode: { type: 'string', pattern: '^[0-9a-f]{64}$' } }, { required: ['mode'] }),
  );
  assert.deepEqual([blocked.kind, fresh.world.refusals], ['blocked', 1]);
});

test('a conflict reads again, a missing subresource writes through the object, silence is told after a minute', () => {
  const world: StatusWorld = {
    intent: { a: 'y' },
    object: { status: { a: 'x' } },
    live: live({ a: word }),
    ledger: [],
  };
  const first = nextWrite(START, world);
  assert.equal(first.step.kind, 'put');
  assert.equal(nextWrite(first.state, world, { kind: 'conflict' }).step.kind, 'refetch');
  const main = nextWrite(first.state, world, { kind: 'noSubresource' });
  assert.deepEqual(main.step.kind === 'put' ? main.step.endpoint : '', 'main');
  assert.equal(nextWrite(first.state, world, { kind: 'failed', sinceMs: 1000 }).step.kind, 'wait');
  const silent = nextWrite(first.state, world, { kind: 'failed', sinceMs: 60_000 }).step;
  assert.deepEqual([silent.kind, silent.kind === 'blocked' ? silent.retryMs : 0], ['blocked', 30_000]);
  let { state } = first;
  for (let count = 0; count < 5; count += 1) state = nextWrite(state, world, { kind: 'conflict' }).state;
  assert.equal(nextWrite(state, world, { kind: 'conflict' }).step.kind, 'wait');
});

test('a transition rule in the way is avoided by leaving the field out', () => {
  const onto = live({ a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] }, b: word });
  const { status } = project({ a: 'new', b: 'x' }, { metadata: {}, status: { a: 'old' } }, { live: onto });
  assert.deepEqual(status, { b: 'x' });
  assert.ok(isObject(status) && equal(status, { b: 'x' }));
});
