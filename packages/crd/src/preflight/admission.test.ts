import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReport } from '../diff/report.ts';
import type { JsonObject } from '../schema/json.ts';
import { crdOf } from '../testing/crd-of.ts';
import { ERAS } from '../validate/eras.ts';
import { askedAbout, mayAsk, preflightAdmission } from './admission.ts';

const things = crdOf({ type: 'object' });

function hooks(...rules: readonly JsonObject[]): JsonObject {
  return { kind: 'ValidatingWebhookConfiguration', metadata: { name: 'x' }, webhooks: [{ rules }] };
}

function rule(resources: readonly string[], more: JsonObject = {}): JsonObject {
  return { apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources, ...more };
}

function endpoints(configuration: JsonObject, bindings: readonly JsonObject[] = []): readonly string[] | undefined {
  return askedAbout(configuration, things, bindings)?.endpoints;
}

test('a webhook is asked about what its rules cover, and about the status only where they name it', () => {
  assert.deepEqual(endpoints(hooks(rule(['things']))), ['spec', 'create', 'apply']);
  assert.deepEqual(endpoints(hooks(rule(['*']))), ['spec', 'create', 'apply']);
  assert.deepEqual(endpoints(hooks(rule(['things/status']))), ['status']);
  assert.deepEqual(endpoints(hooks(rule(['*/status']))), ['status']);
  // As Kyverno writes it: everything, not the subresources alone.
  for (const all of ['*/*', 'things/*'])
    assert.deepEqual(endpoints(hooks(rule([all]))), ['spec', 'status', 'create', 'apply']);
  assert.deepEqual(endpoints(hooks(rule(['things', 'things/*'], { operations: ['*'] }))), [
    'spec',
    'status',
    'create',
    'apply',
  ]);
  assert.deepEqual(endpoints(hooks(rule(['things'], { operations: ['CREATE'] }))), ['create', 'apply']);
  for (const of of [
    rule(['others']),
    rule(['things'], { operations: ['DELETE', 'CONNECT'] }),
    rule(['things'], { apiGroups: ['elsewhere.example.com'] }),
    rule(['things'], { scope: 'Cluster' }),
  ])
    assert.equal(endpoints(hooks(of)), undefined, JSON.stringify(of));
});

test('another version of a kind is the same kind, unless the webhook says that it is not', () => {
  const old = rule(['things'], { apiVersions: ['v1alpha1'] });
  assert.ok(endpoints(hooks(old)));
  const exact = { ...hooks(), webhooks: [{ matchPolicy: 'Exact', rules: [old] }] };
  assert.equal(endpoints(exact), undefined);
});

test('a policy counts with a binding alone', () => {
  const policy = {
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'p' },
    spec: { failurePolicy: 'Ignore', matchConstraints: { resourceRules: [rule(['things'])] } },
  };
  assert.equal(endpoints(policy), undefined);
  const binding = { spec: { policyName: 'p' } };
  const { who, endpoints: asked, closed } = askedAbout(policy, things, [binding]) ?? {};
  assert.deepEqual([who, asked, closed], ['ValidatingAdmissionPolicy p', ['spec', 'create', 'apply'], false]);
  const matchResources = { resourceRules: [rule(['things'], { operations: ['UPDATE'] })] };
  assert.deepEqual(endpoints(policy, [{ spec: { policyName: 'p', matchResources } }]), ['spec', 'apply']);
  const excluding = { excludeResourceRules: [rule(['*'])] };
  assert.equal(endpoints(policy, [{ spec: { policyName: 'p', matchResources: excluding } }]), undefined);
});

/** Whether a webhook that is narrowed like this may be asked about one object. */
function narrowed(more: JsonObject, rules: JsonObject = rule(['things', 'things/status'])): boolean {
  const asked = askedAbout({ ...hooks(), webhooks: [{ rules: [rules], ...more }] }, things);
  const object = {
    kind: 'Thing',
    metadata: { name: 'x', namespace: 'n', labels: { tier: 'a' } },
    spec: { mode: 'on' },
  };
  const namespaces = new Map([['n', { 'kubernetes.io/metadata.name': 'n', env: 'prod' }]]);
  return asked !== undefined && mayAsk(asked, object, things, (name) => namespaces.get(name));
}

test('selectors that no object fits leave nobody undecided', () => {
  const expression = (key: string, operator: string, ...values: readonly string[]): JsonObject => ({
    matchExpressions: [{ key, operator, values }],
  });
  for (const [selector, fits] of [
    [{}, true],
    [{ matchLabels: { tier: 'a' } }, true],
    [{ matchLabels: { tier: 'b' } }, false],
    [{ matchLabels: { tier: 'a', other: 'b' } }, false],
    [expression('tier', 'In', 'a', 'b'), true],
    [expression('tier', 'NotIn', 'a', 'b'), false],
    [expression('other', 'NotIn', 'a'), true],
    [expression('tier', 'Exists'), true],
    [expression('tier', 'DoesNotExist'), false],
    [expression('tier', 'NewOperator'), true],
  ] as const) {
    assert.equal(narrowed({ objectSelector: selector }), fits, JSON.stringify(selector));
    const ofNamespace = JSON.parse(JSON.stringify(selector).replaceAll('tier', 'env').replaceAll('"a"', '"prod"'));
    assert.equal(narrowed({ namespaceSelector: ofNamespace as JsonObject }), fits, JSON.stringify(ofNamespace));
  }
  const elsewhere = askedAbout(
    { ...hooks(), webhooks: [{ rules: [rule(['things'])], namespaceSelector: { matchLabels: { env: 'test' } } }] },
    things,
  );
  assert.ok(elsewhere !== undefined);
  const object = { metadata: { name: 'x', namespace: 'n' } };
  assert.ok(
    mayAsk(elsewhere, object, things, () => undefined),
    'labels that are not known may fit',
  );
});

test('a match condition counts where it is false whoever writes, and whatever he writes', () => {
  const fits = (...expressions: readonly string[]): boolean =>
    narrowed({ matchConditions: expressions.map((expression) => ({ name: 'c', expression })) });
  for (const no of [
    "request.namespace != 'n'",
    "request.resource.resource == 'pods'",
    "request.resource.group == 'object' && true",
    "object.metadata.labels['tier'] == 'b'",
    "object.metadata.name.startsWith('y')",
    "namespaceObject.metadata.labels.env == 'test'",
    "request.operation == 'DELETE'",
  ])
    assert.equal(fits("request.namespace == 'n'", no), false, no);
  for (const maybe of [
    "request.subResource == 'status'",
    "request.subResource == ''",
    "request.operation == 'CREATE'",
    // Who writes, and what, nobody knows.
    "request.userInfo.username == 'system:admin'",
    "has(request.userInfo) && request.userInfo.username == 'x'",
    "object.spec.mode == 'off'",
    // A creation has none.
    "oldObject.metadata.name == 'y'",
    'has(object.metadata.deletionTimestamp)',
    "object['spec'].mode == 'off'",
    "object.metadata.labels.nobody == 'x'",
    "authorizer.group('').resource('pods').check('get').allowed()",
    'no such language',
  ])
    assert.equal(fits(maybe), true, maybe);
  // Each is true of some write, and both of none.
  assert.equal(fits("request.subResource == 'status'", "request.operation == 'CREATE'"), false);
});

test('who is asked leaves a kind undecided, until a person accepts that', () => {
  const asked = askedAbout(hooks(rule(['things'])), things);
  assert.ok(asked?.closed, 'closed is what the API takes where nothing is said');
  const report = createReport();
  report.add(preflightAdmission([asked], things, { now: ERAS.E2, target: ERAS.E1 }));
  assert.equal(report.build().verdict, 'undecided');
  const id = 'UNDECIDED:things.example.com:ValidatingWebhookConfiguration/x';
  assert.deepEqual(
    report.build([id]).groups.map((group) => [group.id, group.acknowledged]),
    [[id, true]],
  );
  assert.equal(report.build([id]).verdict, 'clean');
});
