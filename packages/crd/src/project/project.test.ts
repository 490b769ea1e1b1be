import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isList, isObject, type Json, type JsonObject } from '../schema/json.ts';
import { pathText } from '../schema/path.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { schemaHash } from '../schema/schema-hash.ts';
import { clusterVersionCrd, clusterVersionObject, RELEASES } from '../testing/cluster-version.ts';
import { crdOf } from '../testing/crd-of.ts';
import { narrowed } from '../testing/narrowed.ts';
import { ERAS, judge } from '../validate/eras.ts';
import { prune } from '../validate/prune.ts';
import { entriesFor, type LedgerEntry, union } from './ledger-record.ts';
import { losses } from './losses.ts';
import { CORE_FIELDS, project } from './project.ts';
import { recall } from './recall.ts';
import { nextWrite, START, type WriteAnswer } from './status-machine.ts';

const narrowings = fc.tuple(fc.constantFrom(...RELEASES), fc.array(fc.nat(), { minLength: 40, maxLength: 40 }));

/** Conditions without what they say in words, which alone may be shortened. */
function statesOf(conditions: Json | undefined): Json | undefined {
  if (!isList(conditions)) return conditions;
  return conditions.map((one) => {
    if (!isObject(one)) return one;
    const { message: _message, reason: _reason, ...rest } = one;
    return rest;
  });
}

test('RB-R81: over random narrowings the core is never touched, but for messages and reasons of conditions that are too long', () => {
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
      assert.deepEqual(statesOf(status['conditions']), statesOf(known?.['conditions']), 'conditions');
      for (const field of ['observedGeneration', 'desired', 'versionHash'])
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
        const origin = { schemaHash: schemaHash(live.schema), firstSeen: '', release: '' };
        let ledger: readonly LedgerEntry[] = [];
        let [state, answer, puts]: [typeof START, WriteAnswer | undefined, number] = [START, undefined, 0];
        for (let steps = 0; ; steps += 1) {
          assert.ok(steps < 20, 'the writer loops');
          const next = nextWrite(state, { intent, object, live, ledger }, answer);
          state = next.state;
          const { step } = next;
          if (step.kind === 'record')
            [ledger, answer] = [union(ledger, entriesFor(step.lost, ledger, origin)), { kind: 'recorded' }];
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
                nextWrite(START, { intent, object, live, ledger: entriesFor(step.lost, ledger, origin) }).step.kind,
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

test('TRUTH-4 messages and reasons of conditions are shortened by code points to what the live schema takes, types and states never', () => {
  const text = (most: number, more: Schema = {}): Schema => ({ type: 'string', maxLength: most, ...more });
  const live = (properties: Readonly<Record<string, Schema>>): CrdVersion =>
    crdOf({
      type: 'object',
      properties: {
        status: {
          type: 'object',
          properties: {
            conditions: {
              type: 'array',
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['type'],
              items: { type: 'object', required: Object.keys(properties), properties },
            },
            phase: { type: 'string' },
          },
        },
      },
    }).versions[0] as CrdVersion;
  const condition = {
    type: 'Available',
    status: 'False',
    reason: 'Import_Failed',
    message: `${'🙂'.repeat(30)} and more`,
  };
  const intent = { conditions: [condition], phase: 'on' };
  const camel = { pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' };
  const narrow = live({ type: text(20), status: text(20), reason: text(7, camel), message: text(10) });
  const { quarantined, status, stuck } = project(intent, { metadata: { name: 'a' } }, { live: narrow });
  assert.deepEqual(stuck, []);
  assert.deepEqual(status, {
    conditions: [{ ...condition, reason: 'Import_', message: `${'🙂'.repeat(9)}…` }],
    phase: 'on',
  });
  assert.deepEqual(
    quarantined.map(({ path, value }) => `${path} ${JSON.stringify(value)}`).toSorted(),
    [`status.conditions[].message "${condition.message}"`, `status.conditions[].reason "${condition.reason}"`],
    'what was cut is kept',
  );
  assert.deepEqual(recall(status, losses(intent, status), narrow.schema), intent, 'and returns');
  // The name of a condition, and whether it holds, mean something else when they are shorter.
  for (const field of ['type', 'status']) {
    const short = live({ type: text(20), status: text(20), reason: text(20), message: text(99), [field]: text(3) });
    const whole = project(intent, { metadata: { name: 'a' } }, { live: short });
    assert.deepEqual([whole.status, whole.stuck.length], [intent, 1], field);
  }
});

test('while a release is gone back from, a default that only the newer one has keeps nothing illegal for the older one in its place', () => {
  const tag = (more: Schema): Schema => ({ type: 'object', properties: { key: { type: 'string', ...more } } });
  const schemaOf = (key: Schema, cloud: Schema): Schema => ({
    type: 'object',
    properties: {
      status: { type: 'object', properties: { tags: { type: 'array', items: tag(key) }, cloud } },
    },
  });
  const older = schemaOf({ pattern: '^[a-z]+$' }, { type: 'object', properties: {} });
  const dns: Schema = { type: 'string', default: 'Platform' };
  const newer = schemaOf({}, { type: 'object', properties: { dns } });
  const [version] = crdOf(newer).versions;
  const object = { metadata: { name: 'a' } } as JsonObject;
  const within = (cloud: JsonObject) =>
    project({ tags: [{ key: 'a b' }, { key: 'c' }], cloud }, object, {
      live: { ...version, also: [older] } as CrdVersion,
    });
  const { quarantined, status } = within({ dns: 'Platform' });
  assert.deepEqual(status['cloud'], { dns: 'Platform' });
  assert.ok(!JSON.stringify(status).includes('a b'), JSON.stringify(status));
  assert.deepEqual(
    quarantined.map(({ path }) => path).filter((path) => path.includes('cloud')),
    [],
    'what stands is not left out',
  );
  // What somebody said in its place is.
  const other = within({ dns: 'Mine' });
  assert.deepEqual(
    other.quarantined.filter(({ path }) => path.includes('cloud')).map(({ value }) => value),
    ['Mine'],
  );
});
