import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { authoring } from '../diff/authoring.ts';
import { CrdError } from '../errors.ts';
import { liveVersion } from '../project/live-version.ts';
import { clusterVersionCrd, clusterVersionManifest } from '../testing/cluster-version.ts';
import { crdOf } from '../testing/crd-of.ts';
import type { Json } from './json.ts';
import { readCrds } from './read-crd.ts';
import type { Schema } from './schema.ts';

function code(text: string): string {
  try {
    readCrds(text, 'file.yaml');
    return 'read';
  } catch (error) {
    assert.ok(error instanceof CrdError, String(error));
    assert.match(error.message, /file\.yaml/);
    return error.code;
  }
}

function withSchema(schema: Json): string {
  const { spec, ...rest } = structuredClone(clusterVersionManifest(13)) as { [key: string]: Json };
  const [version = {}] = (spec as { versions: { [key: string]: Json }[] }).versions;
  return stringify({
    ...rest,
    spec: { ...(spec as object), versions: [{ ...version, schema: { openAPIV3Schema: schema } }] },
  });
}

const object = (of: Record<string, Json>): Json => ({ type: 'object', ...of });

test('bad input: what is no YAML, keys that occur twice, aliases in a circle and bombs of them are named, not read', () => {
  assert.equal(code('a: [b'), 'UNREADABLE');
  assert.equal(code('a: 1\na: 2\n'), 'UNREADABLE');
  assert.equal(code('kind: CustomResourceDefinition\nspec: &a\n  b: *a\n'), 'UNREADABLE');
  assert.equal(code('kind: CustomResourceDefinition\nspec: *nowhere\n'), 'UNREADABLE');
  const bomb = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
  for (let level = 1; level < 9; level += 1)
    bomb.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join()}]`,
    );
  assert.equal(code(bomb.join('\n')), 'UNREADABLE');
});

test('bad input: schemas that no server takes', () => {
  assert.equal(code(withSchema(object({ $ref: '#/x' }))), 'NOT_STRUCTURAL');
  assert.equal(
    code(withSchema(object({ properties: { a: object({ properties: {}, additionalProperties: true }) } }))),
    'NOT_STRUCTURAL',
  );
  assert.equal(code(withSchema({ type: 'array', items: [{ type: 'string' }] })), 'NOT_STRUCTURAL');
  assert.equal(code('kind: CustomResourceDefinition\nmetadata: {name: x}\n'), 'NOT_A_CRD');
  let deep: Json = { type: 'string' };
  for (let level = 0; level < 200; level += 1) deep = object({ properties: { a: deep } });
  assert.equal(code(withSchema(deep)), 'TOO_LARGE');
});

test('a keyword that is null is none, as it is for a server', () => {
  const [crd] = readCrds(
    withSchema(
      object({ properties: { a: { type: 'string', anyOf: null, default: null, enum: [null] } }, required: null }),
    ),
    'x',
  );
  assert.deepEqual(crd?.versions[0]?.schema, { type: 'object', properties: { a: { type: 'string', enum: [null] } } });
  assert.equal(code(withSchema(object({ properties: { a: null } }))), 'NOT_STRUCTURAL');
});

test('bad input: a schema in a circle is refused, however it came about', () => {
  const circle: { [key: string]: Json } = { type: 'object' };
  circle['properties'] = { a: circle };
  assert.throws(() => crdOf(circle as unknown as Schema), { code: 'TOO_LARGE' });
});

test('bad input: a definition of 5 MB is read in seconds, one beyond 8 MB is refused', () => {
  const text = 'x'.repeat(1000);
  const properties = Object.fromEntries(
    Array.from({ length: 4800 }, (_, index) => [`f${index}`, { type: 'string', description: text }]),
  );
  const large = JSON.stringify({
    ...clusterVersionManifest(13),
    spec: {
      ...(clusterVersionManifest(13)['spec'] as object),
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: object({ properties }) } }],
    },
  });
  assert.ok(large.length > 4_900_000);
  assert.equal(code(large), 'read');
  assert.equal(code(`# ${'x'.repeat(9 << 20)}`), 'TOO_LARGE');
});

test('a text of several documents and lists gives its definitions, and nothing else', () => {
  const text = `kind: ConfigMap\n---\n${stringify(clusterVersionManifest(13))}---\n${stringify({ kind: 'List', items: [clusterVersionManifest(14), null] })}---\n`;
  assert.deepEqual(
    readCrds(text, 'x').map(({ name }) => name),
    Array(2).fill('clusterversions.config.openshift.io'),
  );
});

test('a definition that is watched is read once for each of its versions, and one that cannot be read is none', () => {
  let now: unknown = clusterVersionManifest(13);
  const live = liveVersion(() => now, 'v1');
  assert.equal(live(), live());
  assert.equal(liveVersion(() => now, 'v2')(), undefined);
  now = {};
  assert.equal(live(), undefined);
  now = undefined;
  assert.equal(live(), undefined);
});

test('authors are told in both directions what takes the way back away', () => {
  const rules = authoring(clusterVersionCrd(13), clusterVersionCrd(14)).map(({ rule, path }) => `${rule} ${path}`);
  assert.deepEqual(rules, [
    'R-a status.capabilities.enabledCapabilities[]',
    'R-a status.capabilities.knownCapabilities[]',
    'R-b spec.capabilities.additionalEnabledCapabilities[]',
    'R-b spec.capabilities.baselineCapabilitySet',
    'R-b status.capabilities.enabledCapabilities[]',
    'R-b status.capabilities.knownCapabilities[]',
    'R-c <root>',
    'R-d status.capabilities.enabledCapabilities[]',
    'R-d status.capabilities.knownCapabilities[]',
  ]);
  const field = (of: Schema) =>
    crdOf({ type: 'object', properties: { spec: { type: 'object', properties: { f: of } } } });
  assert.deepEqual(
    authoring(field({ type: 'string', default: 'a' }), field({ type: 'string' })).map(({ rule }) => rule),
    ['R-e'],
  );
  assert.deepEqual(
    authoring(field({ type: 'string' }), crdOf({ type: 'object', properties: { spec: { type: 'object' } } })).map(
      ({ rule }) => rule,
    ),
    ['R-g'],
  );
});
