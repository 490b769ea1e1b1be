import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { diff } from '../diff/diff.ts';
import type { Step } from '../diff/step.ts';
import { equal, isObject, type Json, type JsonObject } from '../schema/json.ts';
import type { Crd, Schema } from '../schema/schema.ts';
import { neighbours, objects, schemas, valuesFor } from '../testing/arbitrary.ts';
import { clusterVersionCrd, clusterVersionObject } from '../testing/cluster-version.ts';
import { crdOf } from '../testing/crd-of.ts';
import { applyDefaults } from '../validate/defaults.ts';
import { ERAS, judge } from '../validate/eras.ts';
import { prune } from '../validate/prune.ts';
import { bridge } from './bridge.ts';

function schemaOf(crd: Crd | undefined): Schema {
  return crd?.versions[0]?.schema ?? {};
}

/** The object as a server reads it; undefined where the schema refuses it, or would lose something. */
function legal(object: JsonObject, schema: Schema): JsonObject | undefined {
  const { value, pruned } = prune(object, schema);
  const read = applyDefaults(value, schema);
  if (pruned.length > 0 || !isObject(read)) return undefined;
  const { causes, doubts } = judge({ endpoint: 'create', next: read, schema, hasStatus: false }, ERAS.E0);
  return causes.length === 0 && doubts.length === 0 ? read : undefined;
}

const root = objects(schemas(2));

test('every object that is legal in either schema is legal in the bridge, and nothing of it is pruned', () => {
  let seen = 0;
  let narrowed = 0;
  fc.assert(
    fc.property(
      neighbours(root).chain(([a, b]) =>
        fc.tuple(
          fc.constant([a, b] as const),
          fc.array(fc.oneof(valuesFor(a), valuesFor(b)), { minLength: 4, maxLength: 8 }),
        ),
      ),
      ([[a, b], values]) => {
        const { crd, unbridged } = bridge(crdOf(a), crdOf(b));
        fc.pre(unbridged.length === 0);
        for (const value of values) {
          if (!isObject(value)) continue;
          const read = legal(value, a) ?? legal(value, b);
          if (read === undefined) continue;
          seen += 1;
          if (legal(value, a) === undefined || legal(value, b) === undefined) narrowed += 1;
          const kept = prune(read, schemaOf(crd));
          assert.ok(legal(read, schemaOf(crd)) !== undefined, JSON.stringify({ a, b, bridge: schemaOf(crd), read }));
          assert.deepEqual(kept.pruned, []);
        }
      },
    ),
    { numRuns: 1500, seed: 7 },
  );
  assert.ok(
    seen > 500 && narrowed > 50,
    `${seen} objects were legal, ${narrowed} of them in one schema alone: too few to prove anything`,
  );
});

test('the property can fail: the newer schema alone is no bridge', () => {
  const counterexample = fc.check(
    fc.property(
      neighbours(root).chain(([a, b]) => fc.tuple(fc.constant([a, b] as const), valuesFor(a))),
      ([[a, b], value]) => {
        if (isObject(value) && legal(value, a) !== undefined) assert.ok(legal(legal(value, a) ?? {}, b) !== undefined);
      },
    ),
    { numRuns: 2000, seed: 7 },
  );
  assert.equal(counterexample.failed, true);
});

test('a bridge narrows nothing, from either side', () => {
  fc.assert(
    fc.property(neighbours(root), ([a, b]) => {
      const { crd } = bridge(crdOf(a), crdOf(b));
      fc.pre(crd !== undefined);
      for (const side of [a, b]) {
        const narrowing: readonly Step[] = diff(crdOf(side), crd).steps.filter(
          ({ effect, rule }) => effect === 'narrows' && rule !== 'N14',
        );
        assert.deepEqual(narrowing, [], JSON.stringify({ a, b, bridge: schemaOf(crd) }));
      }
    }),
    { numRuns: 500, seed: 3 },
  );
});

test('the bridge between 4.13 and 4.14 has the union of the vocabularies and no rule at its root', () => {
  const { crd, unbridged } = bridge(clusterVersionCrd(13), clusterVersionCrd(14));
  assert.deepEqual(unbridged, []);
  const schema = schemaOf(crd);
  assert.equal(schema['x-kubernetes-validations'], undefined);
  for (const release of [13, 14] as const) {
    const object = clusterVersionObject(release);
    assert.ok(equal(legal(object, schema), object));
  }
  const enabled = schema.properties?.['status']?.properties?.['capabilities']?.properties?.['enabledCapabilities'];
  assert.equal(enabled?.items?.enum?.length, 12);
});

test('RB-R59: with baseline None and an implicit capability, the clean status is refused by 4.15, the dirty one by 4.14, and the bridge takes both', () => {
  const spec: Json = {
    clusterID: 'x',
    capabilities: { baselineCapabilitySet: 'None', additionalEnabledCapabilities: ['marketplace'] },
  };
  const stored = clusterVersionObject(15, { spec: { capabilities: spec['capabilities'] ?? null } });
  const status = stored['status'] as JsonObject;
  const write = (enabled: readonly string[], schema: Schema): number =>
    judge(
      {
        endpoint: 'status',
        next: { ...stored, status: { ...status, capabilities: { enabledCapabilities: enabled } } },
        stored,
        schema,
        hasStatus: true,
      },
      ERAS.E1,
    ).causes.length;
  const dirty = ['OperatorLifecycleManager', 'marketplace'];
  const [old, now] = [clusterVersionCrd(14), clusterVersionCrd(15)];
  assert.ok(write(['marketplace'], schemaOf(now)) > 0, 'the clean write before the swap');
  assert.ok(write(dirty, schemaOf(old)) > 0, 'the dirty write after the swap');
  const both = schemaOf(bridge(old, now).crd);
  assert.equal(write(['marketplace'], both) + write(dirty, both), 0);
});

test('what cannot be bridged is said, with its place', () => {
  const of = (type: string): Crd =>
    crdOf({ type: 'object', properties: { spec: { type: 'object', properties: { f: { type } } } } });
  assert.deepEqual(
    bridge(of('string'), of('boolean')).unbridged.map(({ rule, path }) => `${rule} ${path}`),
    ['N11 spec.f'],
  );
  const number = schemaOf(bridge(of('string'), of('integer')).crd).properties?.['spec']?.properties?.['f'];
  assert.deepEqual(number, { 'x-kubernetes-int-or-string': true });
  assert.deepEqual(bridge(crdOf({ type: 'object' }), clusterVersionCrd(13)).crd, undefined);
});
