import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { equal, isObject, type Json, type JsonObject } from '../schema/json.ts';
import { pathText } from '../schema/path.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { objects, schemas, valuesFor } from '../testing/arbitrary.ts';
import { clusterVersionCrd, clusterVersionObject, RELEASES } from '../testing/cluster-version.ts';
import { crdOf } from '../testing/crd-of.ts';
import { memoryStore } from '../testing/memory-store.ts';
import { narrowed } from '../testing/narrowed.ts';
import { ERAS, judge } from '../validate/eras.ts';
import { prune } from '../validate/prune.ts';
import { createLedger } from './ledger.ts';
import { losses } from './losses.ts';
import { type Projection, project } from './project.ts';
import { createProjector, type ProjectionEvent, type Projector } from './projector.ts';

// Five invariants of a status writer, each with a writer that breaks it and must be caught.

/** Cuts a status. */
type Cut = (intent: JsonObject, live: CrdVersion) => Projection;
const ours: Cut = (intent, live) => project(intent, { metadata: { name: 'a' } }, { live });

const inner = objects(schemas(2));
/** A status and a schema that did not grow up together. */
const strangers = inner
  .chain((schema) => fc.tuple(fc.constant(schema), fc.oneof(valuesFor(schema), inner.chain(valuesFor))))
  .filter(([, value]) => isObject(value)) as fc.Arbitrary<readonly [Schema, JsonObject]>;

function liveOf(status: Schema): CrdVersion {
  return crdOf({ type: 'object', properties: { spec: { type: 'object' }, status } }).versions[0] as CrdVersion;
}

function faultsOf(status: JsonObject, live: CrdVersion): readonly string[] {
  const next = { metadata: { name: 'a' }, status };
  const { causes } = judge(
    { endpoint: 'status', next, stored: next, schema: live.schema ?? {}, hasStatus: true },
    ERAS.E0,
  );
  return causes.map(({ path }) => pathText(path));
}

function holds(property: (schema: Schema, intent: JsonObject) => void, seed: number, numRuns = 1000): void {
  fc.assert(
    fc.property(strangers, ([schema, intent]) => property(schema, intent)),
    { numRuns, seed },
  );
}

function legal(cut: Cut): void {
  let cuts = 0;
  holds(
    (schema, intent) => {
      const live = liveOf(schema);
      const { status, quarantined, stuck } = cut(intent, live);
      if (quarantined.length > 0) cuts += 1;
      if (stuck.length === 0) assert.deepEqual(faultsOf(status, live), [], JSON.stringify({ schema, intent, status }));
      assert.deepEqual(prune({ status }, live.schema ?? {}).pruned, [], 'what is pruned would be written for ever');
    },
    11,
    2000,
  );
  assert.ok(cuts > 300, `only ${cuts} statuses were cut: too few to prove anything`);
}

test('invariant (i): what is written is in the live vocabulary, or said to be stuck', () => legal(ours));

test('negative control of (i): a writer that sends what it means is caught', () => {
  assert.throws(() => legal((intent) => ({ status: intent, quarantined: [], stuck: [], heeded: [] })));
});

function whole(cut: Cut): void {
  holds((schema, intent) => {
    const before = structuredClone(intent);
    const { status, quarantined, stuck } = cut(intent, liveOf(schema));
    assert.deepEqual(intent, before, 'the intent was changed');
    if (quarantined.length === 0 && stuck.length === 0) assert.deepEqual(losses(intent, status), []);
  }, 12);
}

test('invariant (ii): the intent is never reduced, and what is missing is said to be', () => whole(ours));

test('negative controls of (ii): a writer that cuts the intent itself, and one that cuts in silence, are caught', () => {
  assert.throws(() =>
    whole((intent, live) => {
      const projection = ours(intent, live);
      for (const { at } of losses(intent, projection.status))
        if (at.length === 1) delete (intent as { [key: string]: Json })[String(at[0])];
      return projection;
    }),
  );
  assert.throws(() => whole((intent, live) => ({ ...ours(intent, live), quarantined: [] })));
});

const histories = fc.tuple(
  fc.constantFrom(...RELEASES.filter((release) => release > 13)),
  fc.array(
    fc.record({
      dice: fc.option(fc.array(fc.nat(), { minLength: 40, maxLength: 40 })),
      writes: fc.integer({ min: 0, max: 3 }),
      restart: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  ),
);

/** A writer that carries on from what is stored, through schemas that narrow and widen again, and through restarts; at the end the first schema is back. */
async function live(
  numRuns: number,
  make: (options: Parameters<typeof createProjector>[0]) => Projector,
  judged: (of: {
    readonly meant: JsonObject;
    readonly stored: JsonObject;
    readonly told: readonly ProjectionEvent[];
    readonly idle: number;
  }) => void,
): Promise<number> {
  let cuts = 0;
  await fc.assert(
    fc.asyncProperty(histories, async ([release, steps]) => {
      const version = clusterVersionCrd(release).versions[0] as CrdVersion;
      const store = memoryStore();
      const told: ProjectionEvent[] = [];
      let now = version;
      let stored = clusterVersionObject(release);
      const meant = stored['status'] as JsonObject;
      let idle = 0;
      const start = (): Projector =>
        make({ live: () => now, ledger: createLedger({ store }), tell: (event) => told.push(event) });
      let projector = start();
      const write = async (change: JsonObject): Promise<boolean> => {
        const { status } = (await projector.recall(stored)) as { readonly status: JsonObject };
        const sent = await projector.project({ ...status, ...change }, stored);
        const changes = !equal(sent, stored['status']);
        stored = { ...stored, status: sent };
        await projector.written(sent, stored);
        return changes;
      };
      let generation = 1;
      for (const { dice, writes, restart } of [...steps, { dice: null, writes: 2, restart: true }]) {
        now = dice === null ? version : { ...version, schema: narrowed(version.schema ?? {}, dice) };
        if (restart) projector = start();
        for (let count = 0; count < writes; count += 1) await write({ observedGeneration: ++generation });
        if (writes > 0 && (await write({ observedGeneration: generation }))) idle += 1;
      }
      cuts += told.filter(({ kind }) => kind === 'quarantined').length;
      const { observedGeneration: _a, ...was } = meant;
      const { observedGeneration: _b, ...is } = stored['status'] as JsonObject;
      judged({ meant: was, stored: is, told, idle });
    }),
    { numRuns, seed: 31 },
  );
  return cuts;
}

test('invariant (iii): a writer that starts from the stored status and the ledger loses nothing, whatever the schemas and restarts between', async () => {
  const cuts = await live(250, createProjector, ({ meant, stored }) => assert.deepEqual(losses(meant, stored), []));
  assert.ok(cuts > 100, `only ${cuts} cuts: too few to prove anything`);
});

test('negative control of (iii): a writer that starts from the stored status alone is caught', async () => {
  const forgetful = (options: Parameters<typeof createProjector>[0]): Projector => ({
    ...createProjector(options),
    recall: (current) => Promise.resolve(current),
  });
  await assert.rejects(live(250, forgetful, ({ meant, stored }) => assert.deepEqual(losses(meant, stored), [])));
});

/** No two events in a row say the same of the same places under the same schema. */
function once(told: readonly ProjectionEvent[]): void {
  const news = told.filter((event) => event.kind !== 'quarantined' || !event.again);
  const texts = news.map((event) =>
    event.kind === 'quarantined' ? `${event.schemaHash} ${event.places.join()}` : event.kind,
  );
  for (const [index, text] of texts.entries()) assert.notEqual(text, texts[index - 1], 'told twice');
}

test('invariant (iv): each set of places is told once, also across restarts', async () => {
  await live(120, createProjector, ({ told }) => once(told));
});

test('negative control of (iv): a writer that tells at each write is caught', async () => {
  const talkative = (options: Parameters<typeof createProjector>[0]): Projector => {
    const made = createProjector(options);
    return {
      ...made,
      written: async (sent, object) => {
        await made.written(sent, object);
        options.tell?.({ kind: 'restored', uid: '', object });
      },
    };
  };
  await assert.rejects(live(250, talkative, ({ told }) => once(told)));
});

test('invariant (v): an unchanged projection is not written again, and a projection of a projection changes nothing', async () => {
  await live(120, createProjector, ({ idle }) => assert.equal(idle, 0));
  holds((schema, intent) => {
    const version = liveOf(schema);
    const first = project(intent, { metadata: {} }, { live: version });
    fc.pre(first.stuck.length === 0);
    const second = project(first.status, { metadata: {}, status: first.status }, { live: version });
    assert.deepEqual([second.status, second.quarantined], [first.status, []]);
  }, 13);
});

test('negative control of (v): a writer that puts the time into each status is caught', async () => {
  let ticks = 0;
  const restless = (options: Parameters<typeof createProjector>[0]): Projector => {
    const made = createProjector(options);
    return { ...made, project: (intent, current) => made.project({ ...intent, versionHash: `${ticks++}` }, current) };
  };
  await assert.rejects(live(50, restless, ({ idle }) => assert.equal(idle, 0)));
});
