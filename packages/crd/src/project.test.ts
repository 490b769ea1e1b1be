import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ERAS, judge } from './eras.ts';
import { equal, isList, isObject, type Json, type JsonObject } from './json.ts';
import { pathText } from './path.ts';
import { CORE_FIELDS, project } from './project.ts';
import { createProjector, type ProjectionEvent } from './projector.ts';
import { prune } from './prune.ts';
import type { LedgerEntry } from './quarantine.ts';
import type { CrdVersion, Schema } from './schema.ts';
import { nextWrite, START, type WriteAnswer } from './status-machine.ts';
import { objects, schemas, valuesFor } from './testing/arbitrary.ts';
import { clusterVersionCrd, clusterVersionObject, RELEASES } from './testing/cluster-version.ts';
import { crdOf } from './testing/crd-of.ts';

const inner = objects(schemas(2));

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

/** A status and a schema that did not grow up together. */
const strangers = inner
  .chain((schema) => fc.tuple(fc.constant(schema), fc.oneof(valuesFor(schema), inner.chain(valuesFor))))
  .filter(([, value]) => isObject(value)) as fc.Arbitrary<readonly [Schema, JsonObject]>;

test('invariants (i) and (ii): what is written is legal or said to be stuck, and the intent stays whole', () => {
  let cut = 0;
  fc.assert(
    fc.property(strangers, ([schema, intent]) => {
      const live = liveOf(schema);
      const before = structuredClone(intent);
      const { status, quarantined, stuck } = project(intent, { metadata: { name: 'a' } }, { live });
      assert.deepEqual(intent, before);
      if (quarantined.length > 0) cut += 1;
      if (stuck.length === 0) assert.deepEqual(faultsOf(status, live), [], JSON.stringify({ schema, intent, status }));
      assert.deepEqual(
        prune({ status }, live.schema ?? {}).pruned,
        [],
        'what a server prunes would be written for ever',
      );
      if (quarantined.length === 0 && stuck.length === 0)
        for (const [key, value] of Object.entries(intent))
          assert.ok(value === null || equal(status[key], value) || isObject(value) || isList(value), key);
    }),
    { numRuns: 2000, seed: 11 },
  );
  assert.ok(cut > 300, `only ${cut} statuses were cut: too few to prove anything`);
});

test('invariant (v): a projection of a projection changes nothing, so nothing is written twice', () => {
  fc.assert(
    fc.property(strangers, ([schema, intent]) => {
      const live = liveOf(schema);
      const once = project(intent, { metadata: {} }, { live });
      fc.pre(once.stuck.length === 0);
      const twice = project(once.status, { metadata: {}, status: once.status }, { live });
      assert.deepEqual([twice.status, twice.quarantined], [once.status, []]);
    }),
    { numRuns: 1000, seed: 12 },
  );
});

/** Tightens one random node of a schema (N1 to N16). */
function narrowed(schema: Schema, dice: readonly number[]): Schema {
  let at = 0;
  const roll = (): number => dice[at++ % dice.length] ?? 0;
  const walk = (node: Schema, depth: number): Schema => {
    const properties =
      node.properties === undefined
        ? undefined
        : Object.fromEntries(
            Object.entries(node.properties).flatMap(([key, of]) =>
              depth > 0 && roll() % 17 === 0 && !CORE.has(key) ? [] : [[key, walk(of, depth + 1)]],
            ),
          );
    const items = node.items === undefined ? undefined : walk(node.items, depth + 1);
    const next: Schema = {
      ...node,
      ...(properties === undefined ? {} : { properties }),
      ...(items === undefined ? {} : { items }),
    };
    if (depth < 1 || roll() % 23 !== 0) return next;
    const required = next.required?.filter((key) => properties === undefined || Object.hasOwn(properties, key));
    const rest: Schema = required === undefined ? next : { ...next, required };
    switch (node.type) {
      case 'string':
        return (
          [
            { ...rest, enum: ['x', 'Completed'] },
            { ...rest, maxLength: roll() % 6 },
            { ...rest, pattern: '^[a-z]' },
            { ...rest, type: 'integer' },
          ][roll() % 4] ?? rest
        );
      case 'array':
        return (
          [
            { ...rest, maxItems: roll() % 4 },
            { ...rest, minItems: 1 + (roll() % 3) },
          ][roll() % 2] ?? rest
        );
      case 'object':
        return (
          [
            {
              ...rest,
              required: [...(rest.required ?? []), 'brandNew'],
              properties: { ...rest.properties, brandNew: { type: 'string', minLength: roll() % 2 } },
            },
            { ...rest, maxProperties: 2 },
            { ...rest, 'x-kubernetes-validations': [{ rule: 'size(self) > 99' }] },
          ][roll() % 3] ?? rest
        );
      default:
        return rest;
    }
  };
  return walk(schema, 0);
}

const CORE: ReadonlySet<string> = new Set(['conditions', 'observedGeneration', 'desired', 'history', 'versionHash']);
const narrowings = fc.tuple(fc.constantFrom(...RELEASES), fc.array(fc.nat(), { minLength: 40, maxLength: 40 }));

test('RB-R81: over random narrowings the core is never touched', () => {
  fc.assert(
    fc.property(narrowings, ([release, dice]) => {
      const object = clusterVersionObject(release);
      const version = clusterVersionCrd(release).versions[0] as CrdVersion;
      const live = { ...version, schema: narrowed(version.schema ?? {}, dice) };
      const intent = object['status'] as JsonObject;
      const { status } = project(intent, object, { live });
      const known = (prune(object, live.schema).value as JsonObject)['status'] as JsonObject | undefined;
      const first = (of: JsonObject | undefined): Json | undefined =>
        isList(of?.['history']) ? of['history'][0] : undefined;
      for (const field of ['conditions', 'observedGeneration', 'desired', 'versionHash'])
        assert.deepEqual(status[field], known?.[field], field);
      assert.deepEqual(first(status), first(known), 'history[0]');
    }),
    { numRuns: 400, seed: 13 },
  );
  assert.equal(CORE_FIELDS.length, 5);
});

for (const era of ['E0', 'E1', 'E2'] as const)
  test(`RB-R87 on ${era}: under random narrowings the writer writes or is blocked, within six rounds, and then rests`, () => {
    let [written, blocked] = [0, 0];
    fc.assert(
      fc.property(narrowings, ([release, dice]) => {
        let object = clusterVersionObject(release);
        const version = clusterVersionCrd(release).versions[0] as CrdVersion;
        const live = { ...version, schema: narrowed(version.schema ?? {}, dice) };
        const intent = { ...(object['status'] as JsonObject), observedGeneration: 2 };
        let ledger: readonly LedgerEntry[] = [];
        let [state, answer, puts]: [typeof START, WriteAnswer | undefined, number] = [START, undefined, 0];
        for (let steps = 0; ; steps += 1) {
          assert.ok(steps < 20, 'the writer loops');
          const next = nextWrite(state, { intent, object, live, ledger, now: '' }, answer);
          state = next.state;
          const { step } = next;
          if (step.kind === 'record') [ledger, answer] = [step.ledger, { kind: 'recorded' }];
          else if (step.kind === 'put') {
            puts += 1;
            const sent = { ...object, status: step.status };
            const { causes } = judge(
              { endpoint: 'status', next: sent, stored: object, schema: live.schema, hasStatus: true },
              ERAS[era],
            );
            if (causes.length === 0) object = sent;
            answer =
              causes.length === 0
                ? { kind: 'ok' }
                : {
                    kind: 'invalid',
                    causes: causes.map(({ path, reason, message }) => ({ field: pathText(path), reason, message })),
                  };
          } else {
            if (step.kind === 'blocked') blocked += 1;
            else written += 1;
            assert.ok(puts <= 6, `${puts} writes`);
            if (step.kind === 'done')
              assert.equal(
                nextWrite(START, { intent, object, live, ledger: step.ledger, now: '' }).step.kind,
                'skip',
                'a hot loop',
              );
            return;
          }
        }
      }),
      { numRuns: 340, seed: 14 },
    );
    assert.ok(written > 30 && blocked > 10, `${written} written, ${blocked} blocked: the narrowings are one-sided`);
  });

test('invariants (iii) and (iv): the ledger is saved before a value is left out, and each change is told once', async () => {
  const [F13, F14] = ([13, 14] as const).map((release) => clusterVersionCrd(release).versions[0] as CrdVersion);
  let live = F14;
  const told: ProjectionEvent[] = [];
  const saved: number[] = [];
  const projector = createProjector({
    live: () => live,
    tell: (event) => told.push(event),
    save: (ledger) => {
      saved.push(ledger.length);
      return Promise.resolve();
    },
  });
  const object = clusterVersionObject(14);
  const intent = object['status'] as JsonObject;
  assert.deepEqual(await projector.project(intent, object), intent);
  live = F13;
  for (let count = 0; count < 3; count += 1) await projector.project({ ...intent, observedGeneration: count }, object);
  assert.equal(projector.ledger.length, 8);
  live = F14;
  assert.deepEqual(await projector.project(intent, object), intent);
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['quarantined', 'restored'],
  );
  assert.deepEqual([saved, projector.ledger.length], [[8, 0], 0]);
});

test('a projector takes out what the server names, and says blocked where that does not help', async () => {
  const open = liveOf({ type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } });
  const told: ProjectionEvent[] = [];
  const projector = createProjector({ live: () => open, tell: (event) => told.push(event) });
  const object: JsonObject = { metadata: { name: 'a', uid: 'u' } };
  await projector.project({ a: 'x', b: 'y' }, object);
  assert.equal(
    projector.refused([{ field: 'status.a', reason: 'FieldValueNotSupported', message: 'no' }], object),
    true,
  );
  assert.deepEqual(await projector.project({ a: 'x', b: 'y' }, object), { b: 'y' });
  assert.equal(
    projector.refused([{ field: '<nil>', reason: 'FieldValueInvalid', message: 'a rule at the root' }], object),
    false,
  );
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['quarantined', 'blocked'],
  );
});
