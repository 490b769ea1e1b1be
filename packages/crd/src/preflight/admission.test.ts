import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReport } from '../diff/report.ts';
import type { JsonObject } from '../schema/json.ts';
import { crdOf } from '../testing/crd-of.ts';
import { ERAS } from '../validate/eras.ts';
import { askedAbout, preflightAdmission } from './admission.ts';

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
  assert.deepEqual(endpoints(hooks(rule(['*/*']))), ['status']);
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
  assert.deepEqual(askedAbout(policy, things, [binding]), {
    who: 'ValidatingAdmissionPolicy p',
    endpoints: ['spec', 'create', 'apply'],
    closed: false,
  });
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
