import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preflight } from '../preflight/preflight.ts';
import type { Backend } from '../preflight/preflight-object.ts';
import type { Json } from '../schema/json.ts';
import { readCrd } from '../schema/read-crd.ts';
import type { Crd, Schema } from '../schema/schema.ts';
import { ERAS } from '../validate/eras.ts';
import { diff } from './diff.ts';
import { wayOf, weightOf } from './verdict.ts';

interface Version {
  readonly name: string;
  readonly spec?: Readonly<Record<string, Schema>>;
  readonly stored?: boolean;
  readonly served?: boolean;
}

const text: Schema = { type: 'string' };

function crd(
  versions: readonly Version[],
  more: { readonly conversion?: string; readonly kept?: readonly string[] } = {},
): Crd {
  const manifest = {
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { kind: 'Thing', plural: 'things' },
      conversion: { strategy: more.conversion ?? 'None' },
      versions: versions.map(({ name, served = true, spec = {}, stored = false }) => ({
        ...{ name, served, storage: stored },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: spec } } } },
      })),
    },
    status: { storedVersions: more.kept ?? [] },
  };
  return readCrd(manifest as unknown as Json, 'test');
}

function steps(a: Crd, b: Crd): readonly string[] {
  return diff(a, b).steps.map(({ effect, path, rule, version }) => `${rule} ${effect} ${version} ${path}`.trim());
}

const object = (version: string, spec: Json): { readonly [key: string]: Json } => ({
  apiVersion: `example.com/${version}`,
  kind: 'Thing',
  metadata: { name: 'one' },
  spec,
});

test('N24, N25: a version that gets another name is compared with the one that is stored then', () => {
  const alpha = crd([{ name: 'v1alpha1', stored: true, spec: { a: text, b: text } }]);
  const stable = crd([{ name: 'v1', stored: true, spec: { a: { ...text, enum: ['x'] } } }]);
  assert.deepEqual(steps(alpha, stable), [
    'N24 narrows v1alpha1',
    'N25 narrows',
    'N5 narrows v1alpha1 → v1 spec.a',
    'N12 narrows v1alpha1 → v1 spec.b',
    'N24 widens v1',
  ]);
});

test('N25: what status.storedVersions still names must stay, whichever version is stored now', () => {
  const both: readonly Version[] = [{ name: 'v1', stored: true }, { name: 'v1alpha1' }];
  const migrated = crd(both, { kept: ['v1'] });
  const mixed = crd(both, { kept: ['v1alpha1', 'v1'] });
  const target = crd([{ name: 'v1', stored: true }]);
  assert.deepEqual(steps(migrated, target), ['N24 narrows v1alpha1']);
  assert.deepEqual(steps(mixed, target), ['N24 narrows v1alpha1', 'N25 narrows']);
});

test('TRUTH-16 N26: where another version is stored than now, what that one does not know is lost, and who writes through it is judged by it', () => {
  const [v1, v2] = [
    { name: 'v1', spec: { a: { ...text, enum: ['x'] } } },
    { name: 'v2', spec: { a: text, b: text } },
  ];
  const now = crd([v1, { ...v2, stored: true }]);
  const before = crd([{ ...v1, stored: true }, v2]);
  assert.deepEqual(steps(now, before), ['N5 narrows v2 → v1 spec.a', 'N12 narrows v2 → v1 spec.b', 'N26 shifts']);
  assert.deepEqual(steps(before, now), ['N26 shifts'], 'nothing is lost on the way to the one that knows more');
  const found = preflight([object('v2', { a: 'y', b: 'z' })], [now], [before], { now: ERAS.E2, target: ERAS.E2 });
  assert.deepEqual(
    found.filter(({ object: name }) => name !== '').map(({ class: kind, path, rule }) => `${kind} ${rule} ${path}`),
    ['PRUNE N26 spec.b', 'LATENT N5 spec.a'],
  );
  const strict = preflight([object('v2', { a: 'y' })], [now], [before], { now: ERAS.E2, target: ERAS.E0 });
  assert.deepEqual(
    strict
      .filter(({ object: name }) => name !== '')
      .map((one) => `${one.class} ${one.version} ${one.path} ${one.blocking}`),
    ['BLOCK_SPEC v1 spec.a true'],
    'a write through the version that is stored then is refused',
  );
  const unserved = crd([{ ...v1, stored: true, served: false }, v2]);
  const through = preflight([object('v2', { a: 'y' })], [now], [unserved], { now: ERAS.E2, target: ERAS.E0 });
  assert.deepEqual(
    through.filter(({ object: name }) => name !== ''),
    [],
    'nobody can write through what is not served',
  );
});

test('N27: with a webhook nobody but it knows what becomes of a version that goes', () => {
  const two: readonly Version[] = [
    { name: 'v1', stored: true },
    { name: 'v1beta1', spec: { a: text } },
  ];
  const one = crd([{ name: 'v1', stored: true }], { conversion: 'Webhook' });
  assert.deepEqual(steps(crd(two, { conversion: 'Webhook' }), one), [
    'N24 narrows v1beta1',
    'N27 undecided v1beta1 → v1',
  ]);
});

test('SAFE-18 N26, N27: what is stored and would be read through a webhook is undecided, and blocks where nobody answers', () => {
  const both: readonly Version[] = [
    { name: 'v1', spec: { a: text } },
    { name: 'v1alpha1', spec: { b: text } },
  ];
  const storing = (name: string, conversion: string): Crd =>
    crd(
      both.map((version) => ({ ...version, stored: version.name === name })),
      { conversion, kept: [name] },
    );
  const eras = { now: ERAS.E2, target: ERAS.E2 };
  const found = (now: Crd, target: Crd, backend?: Backend): readonly string[] =>
    preflight([object('v1', { a: 'x' })], [now], [target], {
      ...eras,
      ...(backend === undefined ? {} : { backends: new Map([[now.name, backend]]) }),
    }).map(({ blocking, class: kind, rule }) => `${kind} ${rule} ${blocking}`);
  const [now, target] = [storing('v1', 'Webhook'), storing('v1alpha1', 'Webhook')];
  assert.deepEqual(found(now, target), ['UNDECIDED N27 false']);
  assert.deepEqual(found(now, target, { answers: true }), ['UNDECIDED N27 false']);
  assert.deepEqual(found(now, target, { answers: false, why: 'gone' }), ['CONVERT N27 true']);
  assert.deepEqual(found(storing('v1', 'None'), storing('v1', 'Webhook')), ['CONVERT N27 true']);
  assert.deepEqual(found(storing('v1', 'None'), storing('v1', 'Webhook'), { answers: true }), ['UNDECIDED N27 false']);
  assert.deepEqual(found(storing('v1', 'Webhook'), storing('v1', 'None')), ['UNDECIDED N27 false']);
  assert.deepEqual(found(now, now, { answers: false, why: 'gone' }), [], 'what does not change needs no verdict');
  // The comparison of the definitions alone is never more certain than the one that saw the objects.
  for (const [a, b] of [
    [now, target],
    [storing('v1', 'Webhook'), storing('v1', 'None')],
  ] as const)
    assert.equal(wayOf(diff(a, b).steps.map(weightOf)), 'undecided');
});

test('TRUTH-16 a version that is neither served nor stored is not compared, and named where objects may still be stored in it', () => {
  const dead = (spec: Readonly<Record<string, Schema>>): Version => ({ name: 'v1alpha3', served: false, spec });
  const live: Version = { name: 'v1', stored: true, spec: { a: text } };
  const now = (kept: readonly string[]): Crd => crd([live, dead({ a: text, b: text })], { kept });
  const [changed, gone] = [crd([live, dead({ a: { ...text, enum: ['x'] } })]), crd([live])];
  const told = (a: Crd, b: Crd): readonly string[] =>
    diff(a, b).steps.map(({ effect, rule, what }) => `${rule} ${effect} ${what}`);
  for (const target of [changed, gone]) {
    assert.match(
      told(now([]), target).join('\n'),
      /^N25 shifts v1alpha3 is neither served nor stored, and was not compared: .*storedVersions lists v1alpha3$/,
    );
    assert.deepEqual(told(now(['v1']), target), [], 'a cluster says that nothing is left in it');
  }
  assert.match(told(now(['v1', 'v1alpha3']), gone).join(), /^N25 narrows v1alpha3 is stored and absent: [^,]*$/);
  assert.deepEqual(told(now([]), now([])), []);
  const eras = { now: ERAS.E2, target: ERAS.E2 };
  assert.deepEqual(preflight([], [now([])], [gone], eras), [], 'it keeps nobody from going');
  const served: Version = { ...dead({ a: text }), served: true };
  assert.deepEqual(
    steps(crd([live, served]), changed).includes('N5 narrows v1alpha3 spec.a'),
    true,
    'negative control',
  );
});

test('a version that is added, or served again, takes nothing from anybody', () => {
  const one = crd([{ name: 'v1', stored: true, spec: { a: text } }]);
  const two = crd([
    { name: 'v1', stored: true, spec: { a: text } },
    { name: 'v2', spec: {} },
  ]);
  assert.deepEqual(steps(one, two), ['N24 widens v2']);
  assert.deepEqual(steps(two, one), ['N24 narrows v2', 'N12 widens v2 → v1 spec.a']);
});

test('N35: a rule with an optional old value keeps a definition from servers of era E0, and says so in a comparison', () => {
  const ruled: Schema = {
    ...text,
    'x-kubernetes-validations': [{ rule: '!oldSelf.hasValue() || self == oldSelf.value()', optionalOldSelf: true }],
  };
  const [plain, optional] = [ruled, text].map((a) => crd([{ name: 'v1', stored: true, spec: { a } }])).toReversed() as [
    Crd,
    Crd,
  ];
  assert.match(diff(plain, optional).steps[0]?.what ?? '', /era E0 takes no definition with an optional old value/);
  const found = (era: 'E0' | 'E1', target: readonly Crd[], now = plain): readonly string[] =>
    preflight([], [now], target, { now: ERAS.E2, target: ERAS[era] }).map(
      ({ blocking, class: kind, rule }) => `${kind} ${rule} ${blocking}`,
    );
  assert.deepEqual(found('E0', [optional]), ['CRD_REJECTED N35 true']);
  assert.deepEqual(found('E1', [optional]), []);
  assert.deepEqual(found('E0', [plain]), []);
  assert.deepEqual(
    found('E0', [], optional),
    ['ORPHAN N32 false', 'UNDECIDED N35 false'],
    'it stays behind, and nobody knows how it is served',
  );
});

test('TRUTH-17 of a rule and of a default is shown what changed, once', () => {
  const made = (rule: string, value: Json): Crd =>
    crd([
      {
        name: 'v1',
        stored: true,
        spec: {
          a: {
            type: 'object',
            properties: { deep: { type: 'object', properties: { x: text, y: text } } },
            default: value,
            'x-kubernetes-validations': [{ rule, message: 'a must be small' }],
          },
        },
      },
    ]);
  const long = `has(self.deep) && ${'size(self.deep.x) < 100 && '.repeat(8)}`;
  const filler = 'f'.repeat(90);
  const now = made(`${long}size(self.deep.y) < 20`, { deep: { x: filler, y: 'old' } });
  const next = made(`${long}size(self.deep.y) < 10`, { deep: { x: filler, y: 'new' } });
  const whats = diff(now, next).steps.map(({ effect, what }) => `${effect} ${what}`);
  assert.equal(whats.length, 2, whats.join('\n'));
  assert.match(whats[0] ?? '', /^narrows rule changes: a must be small: ….*size\(self\.deep\.y\) < 20 → ….*< 10$/);
  assert.equal(whats[1], 'shifts default .deep.y "old" → "new"');
  assert.ok(whats.every((what) => what.length < 200));
});
