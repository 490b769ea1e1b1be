import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { diff } from '../diff/diff.ts';
import type { Step } from '../diff/step.ts';
import { isObject, type JsonObject } from '../schema/json.ts';
import type { Crd, Schema } from '../schema/schema.ts';
import { neighbours, objects, schemas, valuesFor } from '../testing/arbitrary.ts';
import { crdOf, crdOfVersions } from '../testing/crd-of.ts';
import { applyDefaults } from '../validate/defaults.ts';
import { ERAS, judge } from '../validate/eras.ts';
import { prune } from '../validate/prune.ts';
import { bridge, carriedOver } from './bridge.ts';

const text: Schema = { type: 'string' };
const spec = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties } },
});
const stored = (crd: Crd | undefined): string | undefined => crd?.versions.find(({ storage }) => storage)?.name;

/** Fields of the spec that each version knows. */
function fields(crd: Crd | undefined): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    (crd?.versions ?? []).map(({ name, schema }) => [
      name,
      Object.keys(schema?.properties?.['spec']?.properties ?? {}).toSorted(),
    ]),
  );
}

test('TRUTH-11 a version that both have is stored, and every version keeps what any of them knows', () => {
  const old = crdOfVersions([{ name: 'v1beta1', schema: spec({ a: text, kubelet: text }) }]);
  const same = spec({ a: text, ref: text });
  const now = crdOfVersions([
    { name: 'v1', schema: same },
    { name: 'v1beta1', schema: same },
  ]);
  const { crd, notes, unbridged } = bridge(old, now);
  assert.deepEqual(unbridged, []);
  assert.equal(stored(crd), 'v1beta1', 'put over the old release and taken off unused, the old one is still taken');
  assert.deepEqual(fields(crd), { v1: ['a', 'kubelet', 'ref'], v1beta1: ['a', 'kubelet', 'ref'] });
  assert.match(notes[0]?.what ?? '', /before the older release is put: write every object once, .* take v1 out of/);
});

test('OWN-21 of two versions that serve both releases alike the one that the older release stores is stored: its way back needs no migration', () => {
  const same = spec({ a: text });
  const [v1beta1, v1] = [
    { name: 'v1beta1', schema: same },
    { name: 'v1', schema: same },
  ];
  const { crd, notes } = bridge(crdOfVersions([v1beta1, v1]), crdOfVersions([v1, v1beta1]));
  assert.equal(stored(crd), 'v1beta1');
  assert.deepEqual(notes, []);
});

test('TRUTH-11 where no version is in both, that is said, and one way at a time can be kept open', () => {
  const old = crdOfVersions([{ name: 'v1beta1', schema: spec({ kubelet: text }) }]);
  const now = crdOfVersions([{ name: 'v1', schema: spec({ ref: text }) }]);
  const { crd, unbridged } = bridge(old, now);
  assert.equal(crd, undefined);
  assert.deepEqual(
    unbridged.map(({ rule }) => rule),
    ['N25'],
  );
  assert.match(unbridged[0]?.why ?? '', /none of v1beta1 is in the newer release, which has v1/);
  for (const [stores, name] of [
    ['older', 'v1beta1'],
    ['newer', 'v1'],
  ] as const) {
    const one = bridge(old, now, { stores });
    assert.equal(stored(one.crd), name);
    assert.deepEqual(fields(one.crd), { v1: ['kubelet', 'ref'], v1beta1: ['kubelet', 'ref'] });
    const ways = one.notes.map(({ what }) => what);
    assert.match(ways.join('\n'), new RegExp(`put the bridge of --store ${stores === 'older' ? 'newer' : 'older'}`));
  }
});

test('TRUTH-11 where a release would lose what it finds stored, that is said with its place', () => {
  const old = crdOfVersions([{ name: 'v1beta1', schema: spec({ a: text }) }]);
  const now = crdOfVersions([
    { name: 'v1beta2', schema: spec({ a: text, deletion: text }) },
    { name: 'v1beta1', schema: spec({ a: text }) },
  ]);
  const { crd, unbridged } = bridge(old, now);
  assert.equal(crd, undefined);
  assert.deepEqual(
    unbridged.map(({ rule }) => rule),
    ['N26'],
  );
  assert.match(
    unbridged[0]?.why ?? '',
    /stored as v1beta1, the newer release loses what only its v1beta2 has \(spec\.deletion\)/,
  );
  assert.equal(stored(bridge(old, now, { stores: 'older' }).crd), 'v1beta1');
});

test('TRUTH-11 versions that a webhook converts keep their schemas, and what it does is for a person to say', () => {
  const old = crdOfVersions([{ name: 'v1', schema: spec({ a: text }) }], { conversion: 'Webhook' });
  const now = crdOfVersions(
    [
      { name: 'v2', schema: spec({ b: text }) },
      { name: 'v1', schema: spec({ a: text }) },
    ],
    { conversion: 'Webhook' },
  );
  const { crd, doubts, unbridged } = bridge(old, now);
  assert.deepEqual(unbridged, []);
  assert.deepEqual(fields(crd), { v1: ['a'], v2: ['b'] });
  assert.equal(stored(crd), 'v1');
  assert.deepEqual(
    doubts.map(({ rule }) => rule),
    ['N27'],
  );
});

test('TRUTH-11 a place that two versions have in two types takes anything, and is named', () => {
  const old = crdOfVersions([{ name: 'v1', schema: spec({ a: { type: 'object', additionalProperties: text } }) }]);
  const now = crdOfVersions([
    { name: 'v1', schema: spec({ a: { type: 'object', additionalProperties: text } }) },
    { name: 'v2', schema: spec({ a: { type: 'array', items: text } }), storage: false },
  ]);
  const { crd, notes } = bridge(old, now);
  for (const { schema } of crd?.versions ?? [])
    assert.deepEqual(schema?.properties?.['spec']?.properties?.['a'], { 'x-kubernetes-preserve-unknown-fields': true });
  assert.deepEqual(notes, [{ version: 'v1, v2', path: 'spec.a', what: 'type object and type array: takes anything' }]);
});

test('a default of one release alone is left out where the other one would refuse it once it is stored', () => {
  const of = (schema: Schema): Crd => crdOf(spec({ a: schema }));
  const filled = (old: Schema, now: Schema): unknown =>
    bridge(of(old), of(now)).crd?.versions[0]?.schema?.properties?.['spec']?.properties?.['a']?.default;
  const closed: Schema = { type: 'string', enum: ['A'] };
  assert.equal(filled(closed, { type: 'string', default: 'B' }), undefined);
  assert.equal(filled(closed, { type: 'string', default: 'A' }), 'A');
  assert.equal(filled({ ...closed, default: 'A' }, { type: 'string', default: 'B' }), 'A');
});

/** The object as a server reads it through a schema; undefined where it refuses it, or would lose something. */
function legal(object: JsonObject, schema: Schema): JsonObject | undefined {
  const { pruned, value } = prune(object, schema);
  const read = applyDefaults(value, schema);
  if (pruned.length > 0 || !isObject(read)) return undefined;
  const { causes, doubts } = judge({ endpoint: 'create', next: read, schema, hasStatus: false }, ERAS.E0);
  return causes.length === 0 && doubts.length === 0 ? read : undefined;
}

test('TRUTH-11 what is legal in any version of either release is legal in every version of the bridge, stored whole, and both ways are open', () => {
  let seen = 0;
  let elsewhere = 0;
  const root = objects(schemas(2));
  fc.assert(
    fc.property(
      fc
        .tuple(neighbours(root), neighbours(root), fc.boolean())
        .chain(([[a, b], [c], moved]) =>
          fc.tuple(
            fc.constant({ a, b, c, moved }),
            fc.array(fc.oneof(valuesFor(a), valuesFor(b), valuesFor(c)), { minLength: 6, maxLength: 9 }),
          ),
        ),
      ([{ a, b, c, moved }, values]) => {
        const old = crdOfVersions([{ name: 'v1', schema: a }]);
        const now = crdOfVersions([
          { name: 'v1', schema: b, storage: !moved },
          { name: 'v2', schema: c, storage: moved },
        ]);
        const { crd, unbridged } = bridge(old, now);
        assert.equal(crd === undefined, unbridged.length > 0);
        fc.pre(crd !== undefined);
        for (const side of [old, now]) {
          const steps: readonly Step[] = diff(side, crd).steps.filter(
            ({ effect }) => effect === 'narrows' || effect === 'undecided',
          );
          assert.deepEqual(steps, [], JSON.stringify({ a, b, c }));
          assert.deepEqual(
            diff(crd, side).steps.filter(({ rule }) => rule === 'N25'),
            [],
          );
        }
        const by = crd.versions.find(({ storage }) => storage)?.schema ?? {};
        for (const value of values) {
          if (!isObject(value)) continue;
          const read = legal(value, a) ?? legal(value, b) ?? legal(value, c);
          if (read === undefined) continue;
          seen += 1;
          if (legal(value, c) === undefined) elsewhere += 1;
          for (const { schema = {} } of crd.versions) {
            const written = legal(read, schema);
            assert.ok(written !== undefined, JSON.stringify({ a, b, c, read, schema }));
            assert.deepEqual(prune(written, by).pruned, []);
          }
        }
      },
    ),
    { numRuns: 500, seed: 13 },
  );
  assert.ok(seen > 100 && elsewhere > 30, `${seen} objects, ${elsewhere} of them in one version alone: too few`);
});

test('TRUTH-11 what one release alone says of a name is not asked of the objects of the other', () => {
  const named = (maxLength?: number): Crd => {
    const name: Schema = { type: 'string', ...(maxLength === undefined ? {} : { maxLength }) };
    const metadata: Schema = { type: 'object', ...(maxLength === undefined ? {} : { properties: { name } }) };
    return crdOf({ type: 'object', properties: { metadata, spec: text } });
  };
  const of = (old: Crd, now: Crd): unknown => bridge(old, now).crd?.versions[0]?.schema?.properties?.['metadata'];
  assert.deepEqual(of(named(), named(9)), { type: 'object' });
  assert.deepEqual(of(named(9), named()), { type: 'object' });
  assert.deepEqual(of(named(5), named(9)), { type: 'object', properties: { name: { type: 'string', maxLength: 9 } } });
});

test('TRUTH-12 explanations are left out where a server would not store them all', () => {
  const described = (name: string): Schema =>
    ({ ...spec({ [name]: text }), description: 'x'.repeat(300_000) }) as Schema;
  const all = ['v1', 'v2', 'v3', 'v4', 'v5'].map((name) => ({ name, schema: described('a') }));
  const [old, now] = [crdOfVersions(all), crdOfVersions(all.map((one) => ({ ...one, schema: described('b') })))];
  const { crd } = bridge(old, now);
  assert.ok(JSON.stringify(crd?.manifest).length < 1 << 20);
  assert.deepEqual(fields(crd)['v3'], ['a', 'b']);
});

test('TRUTH-12 a definition of one release alone is carried over as a server takes it', () => {
  const { manifest } = crdOf(spec({ a: text }));
  const metadata = {
    name: 'things.example.com',
    uid: '1',
    resourceVersion: '7',
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', kept: 'yes' },
  };
  const crd = crdOf(spec({ a: text }));
  const live: Crd = { ...crd, manifest: { ...manifest, metadata, status: { storedVersions: ['v1'] } } };
  const carried = carriedOver(live).manifest;
  assert.deepEqual(carried['metadata'], { name: 'things.example.com', annotations: { kept: 'yes' } });
  assert.equal(carried['status'], undefined);
  assert.deepEqual(carried['spec'], manifest['spec']);
});

test('TRUTH-16 a default that a release does not take is named: without ratcheting a server refuses what it was filled into', () => {
  const of = (value: string, ...more: readonly string[]): Crd =>
    crdOfVersions([
      {
        name: 'v1',
        schema: {
          type: 'object',
          properties: {
            spec: { type: 'object', properties: { a: { type: 'string', enum: [value, ...more], default: value } } },
          },
        },
      },
    ]);
  const named = (old: Crd, now: Crd): readonly string[] =>
    bridge(old, now)
      .notes.filter(({ what }) => what.startsWith('its default'))
      .map(({ path, what, version }) => `${version} ${path} ${/the (\w+) release/.exec(what)?.[1]}`);
  assert.deepEqual(named(of('x'), of('y')), ['v1 spec.a newer']);
  assert.deepEqual(named(of('x'), of('y', 'x')), []);
});
