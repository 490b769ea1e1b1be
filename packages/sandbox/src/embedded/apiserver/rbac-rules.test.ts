import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRules, missingRules, type PolicyRule, ruleAllows } from './rbac-rules.ts';

const asked = (
  resource: string,
  verb = 'get',
  name = '',
  group = '',
  subresource = '',
): Parameters<typeof ruleAllows>[1] => ({
  verb,
  resource: { group, resource, subresource, namespace: 'a', name },
});

test('a rule allows what it names, and nothing beside it', () => {
  const rule = (more: PolicyRule = {}): PolicyRule => ({
    apiGroups: [''],
    resources: ['pods'],
    verbs: ['get'],
    ...more,
  });
  const cases: readonly (readonly [PolicyRule, ReturnType<typeof asked>, boolean])[] = [
    [rule(), asked('pods'), true],
    [rule(), asked('pods', 'list'), false],
    [rule(), asked('secrets'), false],
    [rule(), asked('pods', 'get', '', 'apps'), false],
    [rule({ verbs: ['*'] }), asked('pods', 'delete'), true],
    [rule({ apiGroups: ['*'] }), asked('pods', 'get', '', 'apps'), true],
    [rule({ resources: ['*'] }), asked('pods', 'get', '', '', 'status'), true],
    [rule(), asked('pods', 'get', 'a', '', 'status'), false],
    [rule({ resources: ['pods/status'] }), asked('pods', 'get', 'a', '', 'status'), true],
    [rule({ resources: ['*/status'] }), asked('pods', 'get', 'a', '', 'status'), true],
    [rule({ resources: ['*/status'] }), asked('pods'), false],
    [rule({ resourceNames: ['a'] }), asked('pods', 'get', 'a'), true],
    [rule({ resourceNames: ['a'] }), asked('pods', 'get', 'b'), false],
    [rule({ resourceNames: ['a'] }), asked('pods', 'get', ''), false],
    [{ nonResourceURLs: ['/api/*'], verbs: ['get'] }, { verb: 'get', path: '/api/v1' }, true],
    [{ nonResourceURLs: ['/api'], verbs: ['get'] }, { verb: 'get', path: '/api/v1' }, false],
    [{ nonResourceURLs: ['*'], verbs: ['get'] }, { verb: 'get', path: '/metrics' }, true],
    [{ nonResourceURLs: ['*'], verbs: ['get'] }, asked('pods'), false],
  ];
  for (const [one, request, allowed] of cases)
    assert.equal(ruleAllows(one, request), allowed, `${JSON.stringify(one)} ${JSON.stringify(request)}`);
});

test('what is missing is listed by verb, resource and name, as the server words it', () => {
  const owned: readonly PolicyRule[] = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }];
  const wanted: PolicyRule = { apiGroups: ['', 'apps'], resources: ['pods'], verbs: ['get', 'delete'] };
  assert.deepEqual(describeRules(missingRules(owned, [wanted])), [
    '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
    '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "delete"]}',
  ]);
  assert.deepEqual(missingRules([{ ...wanted, resourceNames: ['a'] }], [wanted]).length, 4);
  assert.deepEqual(missingRules([{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], [wanted]), []);
});
