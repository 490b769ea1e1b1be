import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Json } from '../schema/json.ts';
import { readCrd, readCrds } from '../schema/read-crd.ts';
import type { Crd, Schema } from '../schema/schema.ts';
import { clusterVersionCrd, clusterVersionManifest, type Release } from '../testing/cluster-version.ts';
import { crdOf } from '../testing/crd-of.ts';
import { diff, split } from './diff.ts';
import type { Step } from './step.ts';

/** `N2 narrows status.capabilities.enabledCapabilities[]`. */
function lines(steps: readonly Step[]): readonly string[] {
  return steps.map(({ rule, effect, path }) => `${rule} ${effect} ${path}`).toSorted();
}

function change(a: Schema, b: Schema): readonly string[] {
  const object = (field: Schema): Schema => ({
    type: 'object',
    properties: { spec: { type: 'object', properties: { f: field } } },
  });
  return lines(diff(crdOf(object(a)), crdOf(object(b))).steps);
}

const [F13, F14, F15, F16, F17, F20, F21] = ([13, 14, 15, 16, 17, 20, 21] as const).map(clusterVersionCrd) as [
  Crd,
  Crd,
  Crd,
  Crd,
  Crd,
  Crd,
  Crd,
];

const TRAP = [
  'N1 narrows spec.capabilities.baselineCapabilitySet',
  'N2 narrows spec.capabilities.additionalEnabledCapabilities[]',
  'N2 narrows status.capabilities.enabledCapabilities[]',
  'N2 narrows status.capabilities.knownCapabilities[]',
];

test('RB-R31: 4.13 to 4.14 widens the enums and adds a rule at the root; the way back has exactly four narrowings', () => {
  const forward = split(diff(F13, F14));
  assert.deepEqual(lines(forward.narrowing), ['N16 narrows <root>']);
  assert.equal(forward.widening.length, 4);
  assert.deepEqual(lines(split(diff(F14, F13)).narrowing), TRAP);
});

/** The real definitions, where they are. */
const FIXTURES = new URL('../../../../../shared/fixtures/crds/clusterversion/', import.meta.url).pathname;
const skip = existsSync(`${FIXTURES}4.13.yaml`) ? false : `${FIXTURES} is absent`;
const real = (release: string): Crd => readCrds(readFileSync(`${FIXTURES}${release}.yaml`, 'utf8'), release)[0] as Crd;

test('RB-R31: the same with the real definitions', { skip }, () => {
  assert.deepEqual(lines(split(diff(real('4.14'), real('4.13'))).narrowing), TRAP);
  assert.deepEqual(lines(split(diff(real('4.13'), real('4.14'))).narrowing), ['N16 narrows <root>']);
});

test('RB-R32: the same with the real definitions', { skip }, () => {
  const found = (a: Crd, b: Crd): readonly string[] => lines(split(diff(a, b)).narrowing);
  assert.deepEqual(found(real('4.14'), real('4.15')), found(F14, F15));
});

test('RB-R32: 4.14 to 4.15 narrows list types and adds a second rule; the growing enums are no finding', () => {
  assert.deepEqual(lines(split(diff(F14, F15)).narrowing.filter(({ effect }) => effect === 'narrows')), [
    'N16 narrows <root>',
    'N19 narrows spec.overrides',
    'N19 narrows status.availableUpdates[].channels',
    'N19 narrows status.conditionalUpdates[].release.channels',
    'N19 narrows status.conditions',
    'N19 narrows status.desired.channels',
  ]);
});

test('RB-R33: 4.16 to 4.17 only widens; the way back brings the rule and loses a value of the spec', () => {
  assert.deepEqual(split(diff(F16, F17)).narrowing, []);
  assert.deepEqual(lines(split(diff(F17, F16)).narrowing), [
    'N1 narrows spec.capabilities.baselineCapabilitySet',
    'N16 narrows <root>',
  ]);
});

test('RB-R34: 4.21 to 4.20 prunes the architecture in three places, and blocks nothing', () => {
  assert.deepEqual(lines(split(diff(F21, F20)).narrowing), [
    'N12 narrows status.availableUpdates[].architecture',
    'N12 narrows status.conditionalUpdates[].release.architecture',
    'N12 narrows status.desired.architecture',
  ]);
});

test('RB-R36: a pattern that is written otherwise is undecided, never passed', () => {
  assert.deepEqual(change({ type: 'string', pattern: '^a$' }, { type: 'string', pattern: '^(a)$' }), [
    'N6 undecided spec.f',
  ]);
});

test('RB-R37: a bound that goes widens, and narrows on the way back', () => {
  const bounds: readonly [Schema, Schema][] = [
    [{ type: 'string', maxLength: 64 }, { type: 'string' }],
    [
      { type: 'integer', minimum: 1, exclusiveMinimum: true },
      { type: 'integer', minimum: 1 },
    ],
    [{ type: 'integer', minimum: 1, exclusiveMinimum: true }, { type: 'integer' }],
    [
      { type: 'integer', multipleOf: 4 },
      { type: 'integer', multipleOf: 2 },
    ],
    [{ type: 'integer', multipleOf: 4 }, { type: 'integer' }],
    [
      { type: 'integer', maximum: 5 },
      { type: 'integer', maximum: 6 },
    ],
  ];
  for (const [tight, loose] of bounds) {
    assert.deepEqual(change(tight, loose), ['N6 widens spec.f']);
    assert.deepEqual(change(loose, tight), ['N6 narrows spec.f']);
  }
  // For a server no integer is a multiple of 0.5.
  for (const [before, after] of [
    [4, 6],
    [1.5, 0.5],
  ] as const)
    assert.deepEqual(change({ type: 'number', multipleOf: before }, { type: 'number', multipleOf: after }), [
      'N6 narrows spec.f',
      'N6 widens spec.f',
    ]);
});

test('RB-R38: a stored version that the target lacks is refused by the server', () => {
  const version = (name: string, storage: boolean): Json => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: 'object' } },
  });
  const base = clusterVersionManifest(13);
  const crd = (versions: readonly Json[], stored: readonly string[]): Crd =>
    readCrd(
      { ...base, spec: { ...(base['spec'] as object), versions }, status: { storedVersions: stored } } as Json,
      'x',
    );
  const steps = diff(crd([version('v1', true)], ['v1']), crd([version('v1alpha1', true)], [])).steps;
  assert.deepEqual(
    steps.filter(({ effect }) => effect === 'narrows').map(({ rule, keyword }) => `${rule} ${keyword}`),
    ['N24 served', 'N25 versions'],
  );
});

test('RB-R41: paths are written one way, and the order is stable', () => {
  const steps = diff(F21, F13).steps;
  assert.deepEqual(steps, diff(clusterVersionCrd(21), clusterVersionCrd(13)).steps);
  for (const { path } of steps) assert.match(path, /^(<root>|[A-Za-z]+(\[\])?(\.[A-Za-z*]+(\[\])*)*)?$/);
});

test('RB-R42: a format of newer servers is named as such; an unknown one is not ignored, nor is an unknown keyword', () => {
  const f = (format?: string): Schema => ({ type: 'string', ...(format === undefined ? {} : { format }) });
  const [step] = diff(crdOf(f()), crdOf(f('k8s-short-name'))).steps;
  assert.deepEqual([step?.effect, step?.since], ['narrows', 34]);
  assert.match(step?.what ?? '', /from 1\.34/);
  assert.deepEqual(change(f(), f('colour-of-the-sky')), ['N6 undecided spec.f']);
  assert.deepEqual(change(f(), f('ipv4')), ['N6 narrows spec.f']);
  // A keyword that is not read is not taken for one that says nothing, whether it comes or goes.
  const odd = { type: 'string', 'x-kubernetes-immutable': true } as Schema;
  assert.deepEqual([change(f(), odd), change(odd, f())], [['N35 undecided spec.f'], ['N35 undecided spec.f']]);
  assert.deepEqual(change(odd, { ...odd, description: 'of no consequence' } as Schema), []);
});

test('RB-R39: a removed default is a shift, not a narrowing', () => {
  assert.deepEqual(change({ type: 'object', default: {} }, { type: 'object' }), ['N21 shifts spec.f']);
});

/** One change for each class that a schema can have; what narrows one way must widen the other. */
const CLASSES: Readonly<Record<string, readonly [loose: Schema, tight: Schema]>> = {
  N1: [
    { type: 'string', enum: ['a', 'b'] },
    { type: 'string', enum: ['a'] },
  ],
  N2: [
    { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    { type: 'array', items: { type: 'string', enum: ['a'] } },
  ],
  N3: [keyedBy({ value: { type: 'string', enum: ['a', 'b'] } }), keyedBy({ value: { type: 'string', enum: ['a'] } })],
  N4: [keyedBy({ name: { type: 'string', enum: ['a', 'b'] } }), keyedBy({ name: { type: 'string', enum: ['a'] } })],
  N5: [{ type: 'string' }, { type: 'string', enum: ['a'] }],
  N6: [{ type: 'string' }, { type: 'string', pattern: 'a' }],
  N7: [
    { type: 'array', items: {} },
    { type: 'array', items: {}, maxItems: 2 },
  ],
  N8: [{ type: 'object' }, { type: 'object', minProperties: 2 }],
  N9: [{ type: 'object' }, { type: 'object', required: ['x'] }],
  N11: [{ 'x-kubernetes-int-or-string': true }, { type: 'string' }],
  N12: [{ type: 'object', properties: { x: { type: 'string' } } }, { type: 'object' }],
  N13: [{ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, { type: 'object' }],
  N14: [
    { type: 'object', additionalProperties: true },
    { type: 'object', additionalProperties: { type: 'string' } },
  ],
  N15: [{ type: 'string' }, { type: 'string', 'x-kubernetes-validations': [{ rule: "self != ''" }] }],
  N19: [
    { type: 'array', items: { type: 'string' } },
    { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
  ],
};

function keyedBy(properties: Readonly<Record<string, Schema>>): Schema {
  const items: Schema = { type: 'object', required: ['name'], properties: { name: { type: 'string' }, ...properties } };
  return { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items };
}

for (const [rule, [loose, tight]] of Object.entries(CLASSES))
  test(`${rule}: narrows one way and widens the other`, () => {
    const classes = (lists: readonly string[], effect: string): readonly string[] =>
      lists.filter((line) => line.split(' ')[1] === effect).map((line) => line.split(' ')[0] ?? '');
    assert.deepEqual(classes(change(loose, tight), 'narrows'), [rule]);
    assert.deepEqual(classes(change(tight, loose), 'widens'), [rule]);
    assert.deepEqual(classes(change(tight, loose), 'narrows'), []);
    assert.deepEqual(change(tight, tight), []);
  });

test('N10, N16, N17, N36: what no server lets alone', () => {
  const root = (status: Schema, more: Partial<Schema> = {}): Crd =>
    crdOf({ type: 'object', properties: { status }, ...more });
  const plain = root({ type: 'object' });
  const rule = (text: string): Partial<Schema> => ({ 'x-kubernetes-validations': [{ rule: text }] });
  const found = (b: Crd): readonly string[] => lines(diff(plain, b).steps);
  assert.deepEqual(found(root({ type: 'object', required: ['x'] })), ['N10 narrows status']);
  assert.deepEqual(found(root({ type: 'object' }, rule('has(self.status)'))), ['N16 narrows <root>']);
  assert.deepEqual(found(root({ type: 'object' }, rule("self.metadata.name == 'x'"))), ['N36 narrows <root>']);
  assert.deepEqual(found(root({ type: 'object', ...rule('self == oldSelf') })), ['N17 narrows status']);
});

test('N23: a default that its own enum lacks is told before the server refuses it', () => {
  assert.deepEqual(
    change({ type: 'string', enum: ['a', 'b'], default: 'b' }, { type: 'string', enum: ['a'], default: 'b' }),
    ['N1 narrows spec.f', 'N23 narrows spec.f'],
  );
});

test('N24 to N34: what the definition itself loses', () => {
  const crd = (release: Release, edit: (spec: { [key: string]: Json }) => void): Crd => {
    const manifest = structuredClone(clusterVersionManifest(release)) as { [key: string]: Json };
    edit(manifest['spec'] as { [key: string]: Json });
    return readCrd(manifest, 'x');
  };
  const rules = (b: Crd): readonly string[] => diff(F13, b).steps.map(({ rule }) => rule);
  const version = (spec: { [key: string]: Json }): { [key: string]: Json } =>
    (spec['versions'] as { [key: string]: Json }[])[0] ?? {};
  assert.deepEqual(rules(crd(13, (spec) => delete version(spec)['subresources'])), ['N29']);
  assert.deepEqual(rules(crd(13, (spec) => (spec['conversion'] = { strategy: 'Webhook' }))), ['N27']);
  assert.deepEqual(rules(crd(13, (spec) => (spec['scope'] = 'Namespaced'))), ['N31']);
  assert.deepEqual(rules(crd(13, (spec) => (version(spec)['served'] = false))), ['N24']);
  assert.deepEqual(
    diff(F13, undefined).steps.map(({ rule }) => rule),
    ['N32'],
  );
});

test('two rules that differ in their quotes alone are one', () => {
  const rule = (text: string): Schema => ({ type: 'string', 'x-kubernetes-validations': [{ rule: text }] });
  assert.deepEqual(change(rule("self != ''"), rule('self  != ""')), []);
  assert.equal(change(rule("self != 'a'"), rule('self != "b"')).length, 2);
});

test('metadata is there in every resource: a schema that says less of a name takes nothing away', () => {
  const of = (metadata?: Schema): Crd =>
    crdOf({ type: 'object', properties: metadata === undefined ? {} : { metadata } });
  const bounded = of({ type: 'object', properties: { name: { type: 'string', maxLength: 9 } } });
  const effects = (a: Crd, b: Crd): readonly string[] =>
    diff(a, b).steps.map(({ effect, path, rule }) => `${effect} ${rule} ${path}`);
  for (const plain of [of(), of({ type: 'object' })]) {
    assert.deepEqual(effects(bounded, plain), ['widens N6 metadata.name']);
    assert.deepEqual(effects(plain, bounded), ['narrows N6 metadata.name']);
  }
});
