import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Finding, FindingClass } from '../diff/finding.ts';
import { createReport } from '../diff/report.ts';
import type { Json, JsonObject } from '../schema/json.ts';
import { readCrd, readCrds } from '../schema/read-crd.ts';
import type { Crd, Schema } from '../schema/schema.ts';
import {
  capabilitiesOf,
  clusterVersionCrd,
  clusterVersionManifest,
  clusterVersionObject,
} from '../testing/cluster-version.ts';
import { crdOf } from '../testing/crd-of.ts';
import { ERAS, type Era } from '../validate/eras.ts';
import { judgeKind, preflight } from './preflight.ts';
import { preflightWebhooks } from './webhooks.ts';

function look(
  object: JsonObject,
  now: Crd,
  target: Crd,
  eraTarget: Era = 'E1',
  eraNow: Era = 'E2',
): readonly Finding[] {
  return preflight([object], [now], [target], { now: ERAS[eraNow], target: ERAS[eraTarget] });
}

function classes(findings: readonly Finding[]): readonly string[] {
  return findings.map((finding) => `${finding.class} ${finding.rule} ${finding.path}`).toSorted();
}

function verdict(findings: readonly Finding[], acks: readonly string[] = []): string {
  const report = createReport();
  report.add(findings);
  return report.build(acks).verdict;
}

const ILLEGAL = [0, 3, 4, 6];
const places = (kind: FindingClass, lists: readonly string[]): readonly string[] =>
  lists.flatMap((list) => ILLEGAL.map((index) => `${kind} N2 status.capabilities.${list}[${index}]`));
const BOTH = ['enabledCapabilities', 'knownCapabilities'];

test('RB-R63: a 4.14 ClusterVersion under 4.13: eight blocked paths on E1, the same eight latent on E2, blocked all the same', () => {
  const [F13, F14] = [clusterVersionCrd(13), clusterVersionCrd(14)];
  const onE1 = look(clusterVersionObject(14), F14, F13, 'E1');
  assert.deepEqual(classes(onE1), places('BLOCK_STATUS', BOTH));
  assert.deepEqual(new Set(onE1.flatMap(({ endpoints }) => endpoints)), new Set(['status']));
  assert.equal(verdict(onE1), 'blocked');
  const onE0 = look(clusterVersionObject(14), F14, F13, 'E0');
  assert.deepEqual(new Set(onE0.flatMap(({ endpoints }) => endpoints)), new Set(['spec', 'status']));
  const onE2 = look(clusterVersionObject(14), F14, F13, 'E2');
  assert.deepEqual(classes(onE2), places('LATENT', BOTH));
  assert.equal(verdict(onE2), 'blocked');
});

const FIXTURES = new URL('../../../../../shared/fixtures/crds/clusterversion/', import.meta.url).pathname;
const skip = existsSync(`${FIXTURES}4.13.yaml`) ? false : `${FIXTURES} is absent`;

test('RB-R63, RB-R64: the same with the real definitions', { skip }, () => {
  const real = (release: string): Crd =>
    readCrds(readFileSync(`${FIXTURES}${release}.yaml`, 'utf8'), release)[0] as Crd;
  assert.deepEqual(
    classes(look(clusterVersionObject(14), real('4.14'), real('4.13'), 'E1')),
    places('BLOCK_STATUS', BOTH),
  );
  assert.deepEqual(look(clusterVersionObject(13), real('4.14'), real('4.13'), 'E1'), []);
});

test('RB-R64: a 4.13 ClusterVersion under 4.13 has no finding', () => {
  const findings = look(clusterVersionObject(13), clusterVersionCrd(14), clusterVersionCrd(13));
  assert.deepEqual([findings, verdict(findings)], [[], 'clean']);
});

test('RB-R66: a frozen list is latent on E2, and only that list', () => {
  const frozen = clusterVersionObject(14, { known: capabilitiesOf(13) });
  assert.deepEqual(
    classes(look(frozen, clusterVersionCrd(13), clusterVersionCrd(13), 'E2')),
    places('LATENT', ['enabledCapabilities']),
  );
});

test('RB-R34: a 4.21 ClusterVersion under 4.20 loses its architecture in three places, and nothing is refused', () => {
  const made = clusterVersionObject(21);
  const release = { version: '4.22.0', image: 'registry.example/release@sha256:0', architecture: 'Multi' };
  const status = {
    ...(made['status'] as JsonObject),
    desired: release,
    availableUpdates: [release],
    conditionalUpdates: [{ release, risks: [{ name: 'R', message: 'm' }] }],
  };
  const found = look({ ...made, status }, clusterVersionCrd(21), clusterVersionCrd(20));
  assert.deepEqual(found.map((finding) => `${finding.class} ${finding.path}`).toSorted(), [
    'PRUNE status.availableUpdates[0].architecture',
    'PRUNE status.conditionalUpdates[0].release.architecture',
    'PRUNE status.desired.architecture',
  ]);
});

test('a value of the spec that the target lacks blocks writes of the spec', () => {
  const object = clusterVersionObject(13, { spec: { capabilities: { baselineCapabilitySet: 'v4.14' } } });
  const on = (era: Era): readonly string[] => classes(look(object, clusterVersionCrd(14), clusterVersionCrd(13), era));
  assert.deepEqual(on('E0'), ['BLOCK_SPEC N1 spec.capabilities.baselineCapabilitySet']);
  assert.deepEqual(on('E1'), ['LATENT N1 spec.capabilities.baselineCapabilitySet']);
});

test('TRUTH-2 BLOCK_SPEC says which values both schemas take, and the command that sets one', () => {
  const remedies = (now: Schema, target: Schema, spec: Json): readonly string[] => {
    const object = {
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { name: 'one', namespace: 'ns' },
      spec: { f: spec },
    };
    return preflight([object], [kind({}, now)], [kind({}, target)], { now: ERAS.E2, target: ERAS.E0 })
      .filter((finding) => finding.class === 'BLOCK_SPEC')
      .map(({ remedy }) => remedy);
  };
  const text: Schema = { type: 'string' };
  assert.deepEqual(remedies(text, { ...text, enum: ["it's", 'b'] }, 'c'), [
    `The target accepts "it's", "b". Set one before the swap, as by: kubectl patch things.example.com one -n ns --type=json -p '[{"op":"replace","path":"/spec/f","value":"it\\u0027s"}]'`,
  ]);
  const [some] = remedies({ ...text, enum: ['b', 'c'] }, { ...text, enum: ['a', 'b'] }, 'c');
  assert.match(some ?? '', /accepts "a", "b" \(the live schema only "b"\)\. .*"value":"b"/);
  const [none] = remedies({ ...text, enum: ['c'] }, { ...text, enum: ['a'] }, 'c');
  assert.match(none ?? '', /accepts "a", and the live schema none of them: go through a bridge/);
  const list = (items: Schema): Schema => ({ type: 'array', items: { type: 'object', properties: { 'x/y': items } } });
  const [item] = remedies(list(text), list({ ...text, enum: ['a'] }), [{}, { 'x/y': 'c' }]);
  assert.match(item ?? '', /"path":"\/spec\/f\/1\/x~1y","value":"a"/);
  assert.deepEqual(remedies(text, { ...text, maxLength: 1 }, 'long'), [
    'Change the value before the swap: kubectl edit things.example.com one -n ns',
  ]);
});

/** A kind with one field in its status and one in its spec. */
function kind(status: Schema, spec: Schema = {}, root: Partial<Schema> = {}): Crd {
  const half = (properties: Record<string, Schema>): Schema => ({ type: 'object', properties });
  return crdOf({
    type: 'object',
    properties: { spec: half({ f: spec }), status: half({ f: status, g: { type: 'string' } }) },
    ...root,
  });
}

function thing(status: Json, spec?: Json): JsonObject {
  return {
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'a', namespace: 'n', resourceVersion: '9' },
    spec: spec === undefined ? {} : { f: spec },
    status: { f: status, g: 'x' },
  };
}

const word: Schema = { type: 'string' };
const words = (...values: readonly string[]): Schema => ({ type: 'string', enum: values });

test('RB-R69: a scalar of the status that has no older value is blocked, with the object and its version named', () => {
  const [finding] = look(
    thing('DualReplica'),
    kind(words('HighlyAvailable', 'DualReplica')),
    kind(words('HighlyAvailable')),
  );
  assert.deepEqual(
    [finding?.class, finding?.rule, finding?.object, finding?.resourceVersion, finding?.eraNow, finding?.eraTarget],
    ['BLOCK_STATUS', 'N1', 'n/a', '9', 'E2', 'E1'],
  );
  // No item of a list, which could be left out.
  assert.match(finding?.remedy ?? '', /cannot be healed by dropping it: what it means would be lost.* before the swap/);
  const required = kind(words('HighlyAvailable'));
  const status = required.versions[0]?.schema?.properties?.['status'] as { required?: readonly string[] };
  status.required = ['f'];
  const [stuck] = look(thing('DualReplica'), kind(word), required);
  assert.match(stuck?.remedy ?? '', /cannot be healed by dropping it: it is required/);
});

test('RB-R73: what is pruned is shown with its size, and an acknowledgement accepts it', () => {
  const findings = look(
    thing({ a: 1 }),
    kind({ type: 'object', properties: { a: { type: 'integer' } } }),
    kind({ type: 'object' }),
  );
  assert.deepEqual(classes(findings), ['PRUNE N12 status.f.a']);
  assert.equal(findings[0]?.sample, 'number, 1 bytes');
  assert.equal(verdict(findings), 'blocked');
  assert.equal(verdict(findings, ['PRUNE:things.example.com']), 'clean');
  assert.equal(verdict(findings, ['PRUNE:things.example.com:status.f.a']), 'clean');
  assert.equal(verdict(findings, ['PRUNE:thing']), 'blocked');
});

test('RB-R74: a rule that cannot be evaluated is undecided, never clean', () => {
  const rule: Schema = {
    type: 'string',
    'x-kubernetes-validations': [{ rule: "'%f'.format([double(self)]) == '2.000000'" }],
  };
  const findings = look(thing('2'), kind(word), kind(rule));
  assert.deepEqual(classes(findings), ['UNDECIDED N15 status.f']);
  assert.equal(verdict(findings), 'undecided');
});

test('RB-R76: values are told only where they are asked for', () => {
  const secret = 'hunter2-is-the-password';
  const [now, target] = [kind(word, word), kind(words('a'), { type: 'string', maxLength: 3 })];
  const told = JSON.stringify(look(thing(secret, secret), now, target));
  assert.ok(!told.includes(secret));
  const options = { now: ERAS.E2, target: ERAS.E0, showValues: true };
  assert.ok(JSON.stringify(preflight([thing(secret)], [now], [target], options)).includes(secret));
});

test('RB-R39: objects that lack a field whose default goes are listed, and those that may lack it', () => {
  const has: Schema = { type: 'string', default: 'on' };
  const { f: _f, ...rest } = { f: 0 };
  const lacking = { ...thing('x'), spec: rest };
  assert.deepEqual(classes(look(lacking, kind(word, has), kind(word, word))), ['DEFAULT_SHIFT N21 spec.f']);
  assert.deepEqual(classes(look(thing('x', 'on'), kind(word, has), kind(word, word))), ['DEFAULT_SHIFT N21 spec.f']);
  assert.deepEqual(look(thing('x', 'off'), kind(word, has), kind(word, word)), []);
  assert.deepEqual(classes(look(lacking, kind(word, has), kind(word, { ...word, default: 'off' }))), [
    'DEFAULT_SHIFT N22 spec.f',
  ]);
});

test('RB-R38: a target that lacks the stored version is refused, in the words of both servers', () => {
  const version = (name: string): Json => ({
    name,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object' } },
  });
  const base = clusterVersionManifest(13);
  const crd = (name: string): Crd =>
    readCrd(
      {
        ...base,
        spec: { ...(base['spec'] as JsonObject), versions: [version(name)] },
        status: { storedVersions: [name] },
      },
      'x',
    );
  const { findings } = judgeKind(crd('v1'), crd('v1alpha1'), { now: ERAS.E2, target: ERAS.E1 });
  const rejected = findings.find((finding) => finding.class === 'CRD_REJECTED');
  assert.match(
    rejected?.what ?? '',
    /must appear in spec\.versions.*must remain in spec\.versions until a storage migration/,
  );
  assert.equal(verdict(findings, ['CRD_REJECTED:clusterversions.config.openshift.io']), 'blocked');
});

test('what no server lets alone has classes of its own', () => {
  const rule = (text: string): Partial<Schema> => ({ 'x-kubernetes-validations': [{ rule: text }] });
  const root = kind(word, word, rule("self.status.f != 'bad'"));
  for (const era of ['E0', 'E1', 'E2'] as const) {
    assert.deepEqual(classes(look(thing('bad'), kind(word, word), root, era)), ['ROOT_CEL N16 <nil>'], era);
    const required = crdOf({
      type: 'object',
      properties: { status: { type: 'object', properties: { f: word, g: word }, required: ['h'] } },
    });
    const findings = look({ ...thing('x'), spec: {} }, kind(word), required, era).filter(
      (one) => one.class !== 'PRUNE',
    );
    assert.deepEqual(classes(findings), ['REQUIRED_ROOT N10 status.h'], era);
  }
  const fixed: Schema = { ...words('ok'), ...rule('self == oldSelf') };
  assert.deepEqual(classes(look(thing('bad'), kind(word), kind(fixed), 'E1')), ['IMMUTABLE N5 status.f']);
  const named = kind(word, word, rule("self.metadata.name == 'cluster'"));
  assert.deepEqual(classes(look(thing('x'), kind(word, word), named, 'E2')), ['IMMUTABLE N36 <nil>']);
});

test('duplicates in a list that becomes a set stop creation and apply alone; a type stops apply', () => {
  const list = (type: string): Schema => ({ type: 'array', items: word, 'x-kubernetes-list-type': type });
  const findings = look(thing(['a', 'a']), kind(list('atomic')), kind(list('set')), 'E0');
  assert.deepEqual(classes(findings), ['BLOCK_CREATE N19 status.f[1]', 'BLOCK_SSA N19 status.f[1]']);
  assert.equal(verdict(findings), 'clean');
  assert.deepEqual(classes(look(thing('x'), kind(word), kind({ type: 'integer' }), 'E2')), [
    'BLOCK_SSA N11 status.f',
    'LATENT N11 status.f',
  ]);
});

test('a rule of the spec blocks writers of the status before E2', () => {
  const strict = kind(word, { type: 'string', 'x-kubernetes-validations': [{ rule: "self != 'bad'" }] });
  const [onE1] = look(thing('x', 'bad'), kind(word, word), strict, 'E1');
  assert.deepEqual([onE1?.class, onE1?.endpoints], ['BLOCK_STATUS', ['status']]);
  const [onE2] = look(thing('x', 'bad'), kind(word, word), strict, 'E2');
  assert.equal(onE2?.class, 'LATENT');
});

test('a definition that the target lacks leaves orphans, and objects in a version that nobody converts are named', () => {
  assert.deepEqual(
    preflight([thing('x')], [kind(word)], [], { now: ERAS.E2, target: ERAS.E1 }).map((finding) => finding.class),
    ['ORPHAN'],
  );
  const hooked = { ...kind(word), conversion: 'Webhook' as const };
  const other = { ...hooked, versions: hooked.versions.map((version) => ({ ...version, name: 'v2' })) };
  const findings = look(thing('x'), hooked, other);
  assert.ok(findings.some((finding) => finding.class === 'CONVERT' && finding.object === 'n/a'));
});

test('a report groups what says the same, worst first, and counts objects', () => {
  const report = createReport();
  report.add(look(clusterVersionObject(14), clusterVersionCrd(14), clusterVersionCrd(13)));
  report.add(look(thing({ a: 1 }), kind({ type: 'object', properties: { a: {} } }), kind({ type: 'object' })));
  const { groups } = report.build();
  assert.deepEqual(
    groups.map((group) => `${group.class} ${group.path} ${group.count}/${group.objects}`),
    [
      'BLOCK_STATUS status.capabilities.enabledCapabilities[] 4/1',
      'BLOCK_STATUS status.capabilities.knownCapabilities[] 4/1',
      'PRUNE status.f.a 1/1',
    ],
  );
});

test('RB-R71: a webhook that fails closed and that the target lacks blocks, with the order of deletion; one that fails open is an orphan', () => {
  const hook = (name: string, failurePolicy?: string): JsonObject => ({
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: [failurePolicy === undefined ? {} : { failurePolicy }],
  });
  const options = { now: ERAS.E2, target: ERAS.E2 };
  const found = preflightWebhooks(
    [hook('closed', 'Fail'), hook('open', 'Ignore'), hook('default'), hook('kept', 'Fail')],
    [hook('kept')],
    options,
  );
  assert.deepEqual(
    found.map((finding) => `${finding.class} ${finding.object.split(' ')[1]} ${finding.blocking}`),
    ['WEBHOOK closed true', 'ORPHAN open false', 'WEBHOOK default true'],
  );
  assert.match(found[0]?.remedy ?? '', /before the workload/);
});

test('TRUTH-14 has() may select from an item, a key and a call; what it is asked of is not cut away', () => {
  const spec: Schema = {
    type: 'object',
    properties: {
      list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } } },
      keys: { type: 'object', additionalProperties: { type: 'object', properties: { a: { type: 'string' } } } },
      one: { type: 'object', properties: { a: { type: 'string' } } },
    },
  };
  const found = (rule: string, value: Json): readonly string[] => {
    const [now, target] = [{}, { 'x-kubernetes-validations': [{ rule }] }].map((more) =>
      crdOf({ type: 'object', properties: { spec: { ...spec, ...more } } }),
    ) as [Crd, Crd];
    const object = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec: value };
    return preflight([object], [now], [target], { now: ERAS.E2, target: ERAS.E0 }).map((one) => one.class);
  };
  const held: readonly (readonly [string, Json])[] = [
    ['has(self.list[0].a)', { list: [{ a: 'x' }] }],
    ['!has(self.list[0].a)', { list: [{ b: 'x' }] }],
    ["has(self.keys['k.)'].a)", { keys: { 'k.)': { a: 'x' } } }],
    ['has(self.list.filter(one, has(one.a))[0].b)', { list: [{ a: 'x', b: 'y' }] }],
    ["size(self.list) != 1 || !has(self.list[0].a) || self.list[0].a == 'x'", { list: [{ a: 'x' }] }],
    ['has(self.one.a) && has(self.one)', { one: { a: 'x' } }],
  ];
  for (const [rule, value] of held) {
    assert.deepEqual(found(rule, value), [], rule);
    assert.deepEqual(found(`!(${rule})`, value), ['BLOCK_SPEC'], rule);
  }
  assert.deepEqual(found('has(self.list[3].a)', { list: [] }), ['BLOCK_SPEC'], 'an item that is not there is an error');
});

test('TRUTH-14 what cannot be evaluated here is not asked where neither the rule nor what it looks at changes', () => {
  // The words of a locale are the server's.
  const rule = { rule: "('%f'.format([1.5]) + self.size).startsWith('3')" };
  const crd = (size: Schema, ...rules: readonly { readonly rule: string }[]): Crd =>
    crdOf({
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { size }, 'x-kubernetes-validations': rules },
        status: { type: 'object', properties: { phase: { type: 'string' } } },
      },
    });
  const text: Schema = { type: 'string' };
  const object = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec: { size: '2Gi' } };
  const found = (now: Crd, target: Crd): readonly string[] =>
    preflight([object], [now], [target], { now: ERAS.E2, target: ERAS.E0 }).map((one) => one.class);
  const ruled = crd(text, rule);
  assert.deepEqual(found(ruled, crd(text, rule)), [], 'its own definition');
  assert.deepEqual(found(ruled, crd(text, { rule: rule.rule.replaceAll("'", '"') })), [], 'in other quotes');
  assert.deepEqual(found(ruled, crd(text, rule, { rule: 'has(self.size)' })), [], 'beside a new one');
  assert.deepEqual(found(crd(text), ruled), ['UNDECIDED'], 'a new rule');
  assert.deepEqual(found(ruled, crd(text, { rule: rule.rule.replace('3', '1') })), ['UNDECIDED'], 'another rule');
  assert.deepEqual(found(ruled, crd({ ...text, default: '9Gi' }, rule)), ['UNDECIDED'], 'another subtree');
});
