import {
  type JsonObject,
  jsonEqual,
  type KindRules,
  objectOf,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { type Draft, each } from './draft.ts';
import { checkRequired, checkSupported, invalidValue } from './field-errors.ts';
import type { RulesByKind } from './rules-host.ts';

const SUBJECT_KINDS = ['Group', 'ServiceAccount', 'User'];

function bindingViolations(object: JsonObject, old: JsonObject | undefined): StatusCause[] {
  const { apiGroup, kind, name } = objectOf(object['roleRef']);
  const subjects = each(object as Draft, 'subjects').flatMap((subject, at) => [
    ...checkRequired(`subjects[${at}].name`, subject['name']),
    ...checkSupported(`subjects[${at}].kind`, subject['kind'], SUBJECT_KINDS),
    ...(subject['kind'] === 'ServiceAccount' ? checkRequired(`subjects[${at}].namespace`, subject['namespace']) : []),
  ]);
  const changed = old !== undefined && !jsonEqual(object['roleRef'], old['roleRef']);
  return [
    ...checkSupported('roleRef.apiGroup', apiGroup, ['rbac.authorization.k8s.io']),
    ...checkSupported('roleRef.kind', kind, ['ClusterRole', 'Role']),
    ...checkRequired('roleRef.name', name),
    ...subjects,
    ...(changed ? [invalidValue('roleRef', object['roleRef'], 'cannot change roleRef')] : []),
  ];
}

const role: KindRules = { names: 'path' };
const binding: KindRules = { names: 'path', violations: bindingViolations };

export const RBAC_KIND_RULES: RulesByKind = {
  'rbac.authorization.k8s.io/Role': () => role,
  'rbac.authorization.k8s.io/ClusterRole': () => role,
  'rbac.authorization.k8s.io/RoleBinding': () => binding,
  'rbac.authorization.k8s.io/ClusterRoleBinding': () => binding,
};
