import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { equal, isList, isObject, type Json, type JsonObject } from '../schema/json.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { objects, schemas, valuesFor } from '../testing/arbitrary.ts';
import { crdOf } from '../testing/crd-of.ts';
import { memoryStore } from '../testing/memory-store.ts';
import { createLedger, type LedgerStore } from './ledger.ts';
import { readRecord } from './ledger-record.ts';
import { losses } from './losses.ts';
import { project } from './project.ts';
import { recall } from './recall.ts';

const origin = { schemaHash: 'h', firstSeen: '2026-01-01T00:00:00Z', release: '1' };
const subject = { uid: 'u', object: 'n/a', resourceVersion: '1' };
const inner = objects(schemas(2));
const strangers = inner
  .chain((schema) => fc.tuple(fc.constant(schema), fc.oneof(valuesFor(schema), inner.chain(valuesFor))))
  .filter(([, value]) => isObject(value) && isPlain(value)) as fc.Arbitrary<readonly [Schema, JsonObject]>;

/** Without equal items in one list, of which a ledger cannot tell whether both were meant. */
function isPlain(value: Json): boolean {
  if (isList(value))
    return value.every((item, at) => isPlain(item) && !value.some((other, i) => i < at && equal(other, item)));
  return !isObject(value) || Object.values(value).every(isPlain);
}

/** What is meant and absent from what is there. */
function missing(meant: Json, there: Json | undefined): boolean {
  if (isObject(meant))
    return (
      !isObject(there) || Object.entries(meant).some(([key, value]) => value !== null && missing(value, there[key]))
    );
  return !equal(meant, there);
}

test('nothing is lost: what the ledger keeps of any projection gives the whole status back, and does so twice without harm', () => {
  let cut = 0;
  fc.assert(
    fc.property(strangers, ([schema, intent]) => {
      const live = crdOf({ type: 'object', properties: { status: schema } }).versions[0] as CrdVersion;
      const { status } = project(intent, { metadata: {} }, { live });
      const lost = losses(intent, status);
      if (lost.length > 0) cut += 1;
      const back = recall(status, lost);
      assert.ok(!missing(intent, back), JSON.stringify({ intent, status, lost, back }));
      assert.deepEqual(recall(back, lost), back);
      if (lost.length === 0) assert.ok(!missing(intent, status));
    }),
    { numRuns: 3000, seed: 21 },
  );
  assert.ok(cut > 500, `only ${cut} statuses were cut: too few to prove anything`);
});

test('items return to their places, and no later change of others is undone', () => {
  const meant = { list: ['a', 'B', 'c', 'D'], deep: { x: 9, y: 1 }, name: 'Rebooting' };
  const written = { list: ['a', 'c'], deep: { y: 1 }, name: 'Unknown' };
  const lost = losses(meant, written);
  assert.deepEqual(recall(written, lost), meant);
  assert.deepEqual(recall({ list: ['new', 'a', 'c'], deep: { x: 3, y: 1 }, name: 'Ready' }, lost), {
    list: ['new', 'B', 'a', 'D', 'c'],
    deep: { x: 3, y: 1 },
    name: 'Ready',
  });
  assert.deepEqual(
    recall({ ...written, list: ['a', 'B', 'c'] }, lost)['list'],
    ['a', 'B', 'c', 'D'],
    'one is back already',
  );
  const keyed: Schema = {
    type: 'object',
    properties: {
      status: {
        type: 'object',
        properties: {
          list: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['type'],
            items: { type: 'object', properties: { type: { type: 'string' }, state: { type: 'string' } } },
          },
        },
      },
    },
  };
  const gone = losses({ list: [{ type: 'a', state: 'Old' }] }, { list: [] });
  const now = { list: [{ type: 'a', state: 'New' }] };
  assert.deepEqual(recall(now, gone, keyed), now, 'an item does not return beside another of its key');
});

const text: Schema = { type: 'string' };
const conditions: Schema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    properties: { type: text, state: text, note: text, hosts: { type: 'object', additionalProperties: text } },
  },
};
const keyedStatus: Schema = {
  type: 'object',
  properties: {
    status: {
      type: 'object',
      properties: {
        conditions,
        hosts: { type: 'object', additionalProperties: text },
        pinned: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: text },
        last: { type: 'object', properties: { reason: text, message: text, conditions } },
        words: { type: 'array', items: text },
      },
    },
  },
};

test('RB-R91 what was left out whole and written anew by somebody who had not seen it loses nothing that has a key of its own; what has none is theirs', () => {
  const meant = {
    conditions: [
      { type: 'Ready', state: 'yes', hosts: { a: '1' } },
      { type: 'Alive', state: 'yes', hosts: { a: '1' } },
    ],
    hosts: { a: '1', b: '1' },
    pinned: { a: '1', b: '1' },
    last: { reason: 'Full', message: 'no room', conditions: [{ type: 'Ready', state: 'no' }] },
    words: ['a', 'b'],
  };
  const lost = losses(meant, {});
  assert.equal(lost.length, 5);
  const anew = {
    conditions: [
      { type: 'New', state: 'yes' },
      { type: 'Alive', state: 'no', hosts: { b: '2' } },
    ],
    hosts: { b: '2' },
    pinned: { b: '2' },
    last: { reason: 'Fine', conditions: [{ type: 'Alive', state: 'yes' }] },
    words: ['b'],
  };
  const back = recall(anew, lost, keyedStatus);
  assert.deepEqual(back, {
    conditions: [
      { type: 'Ready', state: 'yes', hosts: { a: '1' } },
      { type: 'Alive', state: 'no', hosts: { a: '1', b: '2' } },
      { type: 'New', state: 'yes' },
    ],
    hosts: { a: '1', b: '2' },
    pinned: { b: '2' },
    last: {
      reason: 'Fine',
      conditions: [
        { type: 'Ready', state: 'no' },
        { type: 'Alive', state: 'yes' },
      ],
    },
    words: ['b'],
  });
  assert.deepEqual(recall(back, lost, keyedStatus), back, 'once is enough');
  assert.deepEqual(recall(anew, lost), anew, 'without a schema nobody knows what is the same item');
});

test('RB-R91 a field of a keyed item returns to what has become of the item; what was written in its place stands', () => {
  const meant = { conditions: [{ type: 'Ready', state: 'Draining', note: 'n' }, { type: 'Alive' }] };
  const written = { conditions: [{ type: 'Ready', state: 'Unknown' }, { type: 'Alive' }] };
  const lost = losses(meant, written);
  const now = (state: string): JsonObject => ({ conditions: [{ type: 'Alive' }, { type: 'Ready', state }] });
  const after = (state: string): object => recall(now(state), lost, keyedStatus);
  assert.deepEqual(after('Busy'), { conditions: [{ type: 'Alive' }, { type: 'Ready', state: 'Busy', note: 'n' }] });
  assert.deepEqual(after('Unknown'), {
    conditions: [{ type: 'Alive' }, { type: 'Ready', state: 'Draining', note: 'n' }],
  });
  assert.deepEqual(recall({ conditions: [{ type: 'Alive' }] }, lost, keyedStatus), { conditions: [{ type: 'Alive' }] });
});

test('a ledger only grows before a write; it shrinks after it where nobody has touched it since', async () => {
  const store = memoryStore();
  const [mine, theirs] = [createLedger({ store }), createLedger({ store })];
  const stored = { list: ['A'] };
  const view = await mine.grow(subject, losses({ list: ['A'] }, { list: [] }), origin, stored);
  assert.equal((await theirs.view('u')).entries.length, 1);
  // Somebody else is about to cut the same value: its record has another base, though the same entries.
  await theirs.grow({ ...subject, resourceVersion: '2' }, losses({ list: ['A'] }, { list: [] }), origin, stored);
  await mine.shrink(subject, view, []);
  assert.equal(readRecord(store.texts.get('u') ?? '').entries.length, 1, 'the other one still needs it');
  await mine.shrink(subject, await mine.view('u'), []);
  assert.equal(store.texts.size, 0);
});

test('what cannot be read is told once, kept for a person whatever is written beside it, and never swept', async () => {
  const store = memoryStore();
  store.texts.set('u', '{"entries":[{"at":[');
  store.texts.set('v', '{"object":"n/b","base":"1","entries":[{"at":[0,"x"],"value":1}]}');
  const problems: string[] = [];
  const ledger = createLedger({ store, onProblem: ({ key }) => problems.push(key) });
  assert.deepEqual((await ledger.view('u')).entries, []);
  const view = await ledger.grow(subject, losses({ a: 1 }, {}), origin, {});
  assert.deepEqual(readRecord(store.texts.get('u') ?? '').unreadable, '{"entries":[{"at":[');
  await ledger.shrink(subject, view, []);
  assert.deepEqual(readRecord(store.texts.get('u') ?? ''), {
    object: 'n/a',
    base: '1',
    entries: [],
    unreadable: '{"entries":[{"at":[',
  });
  assert.equal(await ledger.sweep(() => Promise.resolve(false)), 0);
  assert.deepEqual([problems.toSorted(), store.texts.size], [['u', 'v'], 2]);
});

test('objects that are gone are forgotten, unless somebody writes about them meanwhile', async () => {
  const store = memoryStore();
  const ledger = createLedger({ store });
  for (const uid of ['u', 'v', 'w'])
    await ledger.grow({ ...subject, uid, object: `n/${uid}` }, losses({ a: 1 }, {}), origin, {});
  const swept = await ledger.sweep(async ({ uid, object }) => {
    assert.equal(object, `n/${uid}`);
    if (uid === 'v') await ledger.grow({ ...subject, uid, resourceVersion: '9' }, losses({ b: 1 }, {}), origin, {});
    return uid === 'w';
  });
  assert.deepEqual([swept, [...store.texts.keys()].toSorted()], [1, ['v', 'w']]);
  assert.deepEqual((await ledger.view('u')).entries, []);
});

test('a record stays within its bound: what the stored status no longer needs goes, and what is larger is refused', async () => {
  const store = memoryStore();
  const ledger = createLedger({ store });
  const long = (letter: string): string => letter.repeat(100_000);
  // Attempts that never arrived, each with another value.
  for (const letter of ['a', 'b', 'c', 'd'])
    await ledger.grow(subject, losses({ text: long(letter) }, { text: '' }), origin, { text: 'stored' });
  const { entries } = await ledger.view('u');
  assert.equal(entries.at(-1)?.value, long('d'));
  assert.ok((store.texts.get('u')?.length ?? 0) < 256 * 1024);
  const huge = losses({ text: 'x'.repeat(300_000) }, {});
  await assert.rejects(ledger.grow(subject, huge, origin, {}), /the status of n\/a would lose is larger/);
});

test('a ledger that cannot be read is asked again after half a minute, and not before', async () => {
  let [clock, calls] = [0, 0];
  const store: LedgerStore = {
    ...memoryStore(),
    read: () => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('not now')) : Promise.resolve(new Map());
    },
  };
  const problems: string[] = [];
  const ledger = createLedger({ store, now: () => clock, onProblem: ({ what }) => problems.push(what) });
  for (const at of [0, 10_000, 29_000, 31_000, 90_000]) {
    clock = at;
    assert.deepEqual((await ledger.view('u')).entries, []);
  }
  assert.deepEqual([calls, problems], [2, ['the ledger cannot be read']]);
});

test('what another process may have written is read anew, once a second at most, and not forgotten until it was', async () => {
  let [clock, reads] = [0, 0];
  const inner = memoryStore();
  const store: LedgerStore = {
    ...inner,
    read: () => {
      reads += 1;
      return inner.read();
    },
  };
  const [mine, theirs] = [createLedger({ store, now: () => clock }), createLedger({ store: inner })];
  assert.equal((await mine.view('u')).entries.length, 0);
  await theirs.grow(subject, losses({ a: 1 }, {}), origin, {});
  assert.equal((await mine.view('u')).entries.length, 0, 'nobody said that somebody else writes');
  assert.equal((await mine.view('u', true)).entries.length, 0, 'too soon');
  clock = 1_000;
  assert.equal((await mine.view('u')).entries.length, 1, 'it is still owed');
  assert.equal((await mine.view('u')).entries.length, 1);
  assert.equal(reads, 2);
});
