import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Finding } from '../diff/finding.ts';
import { createReport } from '../diff/report.ts';
import { isObject, type Json, type JsonObject } from '../schema/json.ts';
import type { Crd, Schema } from '../schema/schema.ts';
import { neighbours, objects, schemas, valuesFor } from '../testing/arbitrary.ts';
import { crdOf } from '../testing/crd-of.ts';
import { ERAS, type Era } from '../validate/eras.ts';
import { preflight } from './preflight.ts';

const text: Schema = { type: 'string' };
const object = (properties: Readonly<Record<string, Schema>>, more: Partial<Schema> = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
});
const ANYTHING: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function thing(more: JsonObject, resourceVersion = '9'): JsonObject {
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a', resourceVersion }, ...more };
}

function look(of: JsonObject, now: Schema | Crd, target: Schema, era: Era = 'E2'): readonly Finding[] {
  const crd = 'versions' in now ? now : crdOf(now);
  return preflight([of], [crd], [crdOf(target)], { now: ERAS.E2, target: ERAS[era] });
}

function lines(findings: readonly Finding[]): readonly string[] {
  return findings.map((one) => `${one.class} ${one.rule} ${one.path}`).toSorted();
}

function verdict(findings: readonly Finding[]): string {
  const report = createReport();
  report.add(findings);
  return report.build().verdict;
}

test('FIND-11 a stored null that the target does not allow is lost, or its default takes the place', () => {
  const spec = (more: Partial<Schema>): Schema =>
    object({ spec: object({ excluded: { type: 'array', items: text, ...more }, level: { ...text, ...more } }) });
  const stored = thing({ spec: { excluded: null, level: null } });
  const lost = look(stored, spec({ nullable: true }), spec({}));
  assert.deepEqual(lines(lost), ['PRUNE N13 spec.excluded', 'PRUNE N13 spec.level']);
  assert.equal(verdict(lost), 'blocked');
  assert.match(lost[0]?.what ?? '', /null is not allowed/);
  const filled = look(
    thing({ spec: { level: null } }),
    spec({ nullable: true }),
    object({ spec: object({ level: { ...text, default: 'x' } }) }),
  );
  assert.deepEqual(lines(filled), ['DEFAULT_SHIFT N13 spec.level']);
  assert.deepEqual(look(stored, spec({ nullable: true }), spec({ nullable: true })), []);
});

test('FIND-11 nulls in maps, items of lists and in what nobody described before are told as well', () => {
  const target = object({
    spec: object({
      map: { type: 'object', additionalProperties: text },
      list: { type: 'array', items: object({ a: text }) },
      kept: { ...ANYTHING, properties: { a: { ...text, default: 'x' } } },
    }),
  });
  const spec = { map: { 'a.b/c': null, 'x[0]': null }, list: [{ a: null }], kept: { a: null, b: null } };
  assert.deepEqual(lines(look(thing({ spec }), ANYTHING, target)), [
    'DEFAULT_SHIFT N13 spec.kept.a',
    'PRUNE N13 spec.list[0].a',
    'PRUNE N13 spec.map["a.b/c"]',
    'PRUNE N13 spec.map["x[0]"]',
  ]);
});

test('FIND-11 a key in brackets stays a key in a report, where indices are gathered', () => {
  const report = createReport();
  const target = object({ spec: object({ map: { type: 'object', additionalProperties: object({}) } }) });
  report.add(look(thing({ spec: { map: { '[3]': { a: 1 } } } }), ANYTHING, target));
  assert.deepEqual(
    report.build().groups.map(({ id }) => id),
    ['PRUNE:things.example.com:spec.map["[3]"].a'],
  );
});

test('FIND-11 a default that the target fills in is told wherever nothing was, also below what had no schema', () => {
  const target = object({ spec: object({ deep: object({ a: { ...text, default: 'x' } }) }) });
  assert.deepEqual(lines(look(thing({ spec: { deep: {} } }), ANYTHING, target)), ['DEFAULT_SHIFT N22 spec.deep.a']);
  assert.deepEqual(look(thing({ spec: {} }), ANYTHING, target), []);
});

test('FIND-11 the metadata of a resource within is read as a server reads it', () => {
  const target = object({
    spec: object({ pod: { ...ANYTHING, 'x-kubernetes-embedded-resource': true } }),
  });
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', creationTimestamp: null, labels: {}, stray: 1 } };
  assert.deepEqual(lines(look(thing({ spec: { pod } }), ANYTHING, target)), [
    'PRUNE N12 spec.pod.metadata.labels',
    'PRUNE N12 spec.pod.metadata.stray',
    'PRUNE N13 spec.pod.metadata.creationTimestamp',
  ]);
  const whole = { ...pod, metadata: { name: 'x', labels: { a: 'b' } } };
  assert.deepEqual(look(thing({ spec: { pod: whole } }), ANYTHING, target), []);
});

test('FIND-11 a value that equals the default of today is told only where nobody knows that it is stored', () => {
  const of = (value: string, resourceVersion?: string): Crd => {
    const crd = crdOf(object({ spec: object({ a: { ...text, default: value } }) }));
    const metadata = { ...(crd.manifest['metadata'] as JsonObject), ...(resourceVersion ? { resourceVersion } : {}) };
    return { ...crd, manifest: { ...crd.manifest, metadata } };
  };
  const target = object({ spec: object({ a: text }) });
  const found = (resourceVersion: string, crd: Crd): readonly string[] =>
    lines(look(thing({ spec: { a: 'x' } }, resourceVersion), crd, target));
  assert.deepEqual(found('9', of('x')), ['DEFAULT_SHIFT N21 spec.a'], 'a definition of a file');
  assert.deepEqual(found('9', of('x', '10')), ['DEFAULT_SHIFT N21 spec.a'], 'written before the definition');
  assert.deepEqual(found('11', of('x', '10')), [], 'written under it: the default is stored');
  const other = { ...of('x', '10'), versions: [...of('x').versions, { ...of('y').versions[0], name: 'v2' }] } as Crd;
  assert.ok(found('11', other).includes('DEFAULT_SHIFT N21 spec.a'), 'written through a version without the default');
});

test('FIND-11 apply is stopped by what has no type alone, and not where other writes are refused', () => {
  const field = (f: Schema): Schema => object({ spec: object({ f }) });
  const found = (value: Json, f: Schema, era: Era = 'E2'): readonly string[] =>
    lines(look(thing({ spec: { f: value } }), ANYTHING, field(f), era)).filter((line) => line.startsWith('BLOCK_SSA'));
  const told = ['BLOCK_SSA N11 spec.f'];
  assert.deepEqual(found('x', { type: 'integer' }), told);
  assert.deepEqual(found('x', { type: 'integer' }, 'E0'), [], 'every write is refused');
  assert.deepEqual(found(1.5, { type: 'integer' }), []);
  assert.deepEqual(found(true, { 'x-kubernetes-int-or-string': true }), []);
  assert.deepEqual(found(true, { type: 'string', format: 'duration' }), []);
  assert.deepEqual(found(['x'], { type: 'string', format: 'date-time' }), told);
  assert.deepEqual(found([null], { type: 'array', items: text }), []);
  const set: Schema = { type: 'array', items: text, 'x-kubernetes-list-type': 'set' };
  assert.deepEqual(found([null], set), ['BLOCK_SSA N11 spec.f[0]']);
  assert.deepEqual(found(['a', 'a'], set), ['BLOCK_SSA N19 spec.f[1]']);
});

test('FIND-11 the first status of an object meets the rules of its spec, and fields that only the target requires', () => {
  const bad = { rule: "self != 'bad'" };
  const of = (f: Schema, status: Schema, more: Partial<Schema> = {}): Schema =>
    object({ spec: object({ f }), status }, more);
  const now = of(text, object({ h: text }));
  const stored = thing({ spec: { f: 'bad' } });
  const onE1 = look(stored, now, of({ ...text, 'x-kubernetes-validations': [bad] }, object({ h: text })), 'E1');
  assert.deepEqual(
    onE1.map((one) => [one.class, one.path, one.endpoints]),
    [['BLOCK_STATUS', 'spec.f', ['status']]],
  );
  const required = of(text, object({ h: text }, { required: ['h'] }));
  assert.deepEqual(lines(look(stored, now, required)), ['REQUIRED_ROOT N10 status.h']);
  assert.deepEqual(look(stored, required, required), [], 'it is required today');
  const root = { 'x-kubernetes-validations': [{ rule: "!has(self.status) || self.status.h == 'x'" }] };
  assert.deepEqual(lines(look(stored, now, of(text, object({ h: text }), root))), ['UNDECIDED N15 <nil>']);
});

test('FIND-11 no object is created where the root requires a status, which a creation drops', () => {
  const of = (required: readonly string[]): Schema => object({ spec: object({}), status: object({}) }, { required });
  const found = look(thing({ spec: {}, status: {} }), of([]), of(['status']));
  assert.deepEqual(
    found.map((one) => [one.class, one.rule, one.path, one.endpoints]),
    [['BLOCK_CREATE', 'N9', 'status', ['create']]],
  );
  assert.equal(verdict(found), 'clean', 'a restore alone is stopped');
});

// The oracle is written from the API's reference, not from the code: what an API server does to an object that it reads.
function readBack(value: Json, schema: Schema | undefined, resource = false): Json {
  const keeps = schema?.['x-kubernetes-preserve-unknown-fields'] === true;
  if (Array.isArray(value))
    return (value as readonly Json[]).map((item) =>
      item === null && schema?.items !== undefined && schema.items.nullable !== true
        ? (schema.items.default ?? null)
        : readBack(item, keeps ? { ...schema?.items, 'x-kubernetes-preserve-unknown-fields': true } : schema?.items),
    );
  if (!isObject(value)) return value;
  const out: Record<string, Json> = {};
  const others = schema?.additionalProperties;
  for (const [key, inner] of Object.entries(value)) {
    const known = schema?.properties !== undefined && Object.hasOwn(schema.properties, key);
    const of = known ? schema.properties?.[key] : typeof others === 'object' ? others : undefined;
    if (resource && ['apiVersion', 'kind', 'metadata'].includes(key)) out[key] = inner;
    else if (of === undefined) {
      if (keeps) out[key] = inner;
    } else if (inner === null && of.nullable !== true) {
      if (of.default !== undefined) out[key] = readBack(of.default, of);
    } else out[key] = readBack(inner, of);
  }
  for (const [key, of] of Object.entries(schema?.properties ?? {}))
    if (of.default !== undefined && !Object.hasOwn(out, key)) out[key] = readBack(of.default, of);
  return out;
}

/** With defaults, and nulls here and there. */
function seasoned(schema: Schema): fc.Arbitrary<Schema> {
  const leaf = schema.type === 'string' && schema.enum === undefined && schema.maxLength === undefined;
  const inner = fc
    .tuple(
      ...Object.entries(schema.properties ?? {}).map(([key, of]) => seasoned(of).map((next) => [key, next] as const)),
    )
    .map((entries) => Object.fromEntries(entries));
  return fc.tuple(inner, fc.nat(3)).map(([properties, roll]) => ({
    ...schema,
    ...(schema.properties === undefined ? {} : { properties }),
    ...(leaf && roll === 0 ? { default: 'xx' } : {}),
  }));
}

function nulled(value: Json): fc.Arbitrary<Json> {
  if (!isObject(value)) return fc.constant(value);
  const entries = Object.entries(value).map(([key, inner]) =>
    fc
      .tuple(fc.nat(5), nulled(inner))
      .map(([roll, next]) => [key, roll === 0 && key !== 'metadata' ? null : next] as const),
  );
  return fc.tuple(...entries).map((all): Json => Object.fromEntries(all));
}

test('FIND-11 an object about which nothing is said is byte for byte what the target shows; where it changes, each place is told', () => {
  const tally = { clean: 0, changed: 0 };
  fc.assert(
    fc.property(
      neighbours(objects(schemas(2)))
        .chain(([a, b]) => fc.tuple(seasoned(a), seasoned(b)))
        .chain(([a, b]) => fc.tuple(fc.constant(a), fc.constant(b), valuesFor(a).chain(nulled))),
      ([a, b, value]) => {
        fc.pre(isObject(value));
        const head = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' } };
        const stored = readBack({ ...value, ...head }, a, true) as JsonObject;
        const target = readBack(stored, b, true);
        const found = look(stored, a, b);
        const told = found.some((one) => one.class === 'PRUNE' || (one.class === 'DEFAULT_SHIFT' && isSure(one)));
        const same = JSON.stringify(sorted(stored)) === JSON.stringify(sorted(target));
        tally[same ? 'clean' : 'changed'] += 1;
        assert.equal(told, !same, JSON.stringify({ a, b, stored, target, found: lines(found) }));
      },
    ),
    { numRuns: 600, seed: 11 },
  );
  assert.ok(tally.clean > 100 && tally.changed > 100, `${JSON.stringify(tally)}: proves little`);
});

/** Not of a value that only may be no one's. */
function isSure({ what }: Finding): boolean {
  return !what.startsWith('equals the default of today') && !what.startsWith('absent: it will read as absent');
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key] ?? null)]),
  );
}
