import {
  type Admission,
  type JsonObject,
  listOf,
  metadataOf,
  objectOf,
  Refusal,
} from '@drydock/kube/testing/api-server';
import { conditionsHold, evaluate, factsOf, type RequestFacts, variablesOf } from './admission-expressions.ts';
import { isSelected, matchedVersion } from './admission-match.ts';
import { type Draft, textOf } from './draft.ts';
import type { Authorize } from './expressions/expression-access.ts';
import { EvaluationError } from './expressions/expression-errors.ts';
import { fromJson, type Value } from './expressions/expression-values.ts';
import { selects } from './label-selectors.ts';

/** What policies need of the server. */
export interface PolicyHost {
  list(group: string, plural: string): readonly JsonObject[];
  /** Answers the questions of expressions about rights. */
  readonly authorize: Authorize;
  namespaceOf(admission: Admission): JsonObject | undefined;
  /** Objects of a kind by apiVersion and kind; undefined where that is not served. */
  objectsOf(apiVersion: string, kind: string): readonly JsonObject[] | undefined;
}

const GROUP = 'admissionregistration.k8s.io';

/** What a policy finds, with the name of what found it. */
interface Finding {
  readonly message: string;
  readonly reason: string;
}

/** Admits a request, or refuses it, by all ValidatingAdmissionPolicies that are bound. */
export function validateByPolicies(admission: Admission, host: PolicyHost): void {
  const bindings = host.list(GROUP, 'validatingadmissionpolicybindings');
  if (bindings.length === 0) return;
  const policies = new Map(
    host.list(GROUP, 'validatingadmissionpolicies').map((one) => [metadataOf(one)['name'], one]),
  );
  const namespace = host.namespaceOf(admission);
  for (const binding of bindings) {
    const policy = policies.get(objectOf(binding['spec'])['policyName']);
    if (policy !== undefined) judge(admission, policy, binding, namespace, host);
  }
}

function judge(
  admission: Admission,
  policy: JsonObject,
  binding: JsonObject,
  namespace: JsonObject | undefined,
  host: PolicyHost,
): void {
  const spec = objectOf(policy['spec']);
  const bound = objectOf(binding['spec']);
  if (!isAbout(spec['matchConstraints'], admission, namespace)) return;
  if (bound['matchResources'] !== undefined && !isAbout(bound['matchResources'], admission, namespace, true)) return;
  const facts = factsOf(admission, namespace, host.authorize);
  const who = `ValidatingAdmissionPolicy '${String(metadataOf(policy)['name'])}' with binding '${String(metadataOf(binding)['name'])}'`;
  const ignored = spec['failurePolicy'] === 'Ignore';
  const actions = listOf(bound['validationActions']);
  for (const params of paramsOf(spec, bound, admission, host, who, ignored)) {
    for (const { message, reason } of findings(spec, facts, params, ignored)) {
      if (actions.includes('Warn')) admission.warn(`Validation failed for ${who}: ${message}`);
      if (actions.includes('Deny')) throw denied(admission, `${who} denied request: ${message}`, reason);
    }
  }
}

/** Whether constraints are about a request. A binding that names no rules is about all that the policy is. */
function isAbout(match: unknown, admission: Admission, namespace: JsonObject | undefined, all = false): boolean {
  const { resourceRules, excludeResourceRules, matchPolicy, ...selectors } = objectOf(match);
  const equivalent = matchPolicy !== 'Exact';
  if (matchedVersion(listOf(excludeResourceRules), admission, equivalent) !== undefined) return false;
  const rules = listOf(resourceRules);
  const named = (all && rules.length === 0) || matchedVersion(rules, admission, equivalent) !== undefined;
  return named && isSelected(selectors, admission, namespace);
}

function paramsOf(
  spec: JsonObject,
  bound: JsonObject,
  admission: Admission,
  host: PolicyHost,
  who: string,
  ignored: boolean,
): readonly Value[] {
  const kind = spec['paramKind'];
  if (kind === undefined) return [null];
  const ref = objectOf(bound['paramRef']);
  const objects = host.objectsOf(String(objectOf(kind)['apiVersion']), String(objectOf(kind)['kind'])) ?? [];
  const namespace = ref['namespace'] ?? admission.namespace;
  const found = objects.filter((one) => {
    const metadata = metadataOf(one);
    if (metadata['namespace'] !== undefined && metadata['namespace'] !== namespace) return false;
    if (ref['name'] !== undefined) return metadata['name'] === ref['name'];
    return selects(objectOf(ref['selector']) as Draft, objectOf(metadata['labels']));
  });
  if (found.length > 0) return found.map((one) => fromJson(one, {}));
  if (ref['parameterNotFoundAction'] === 'Allow' || ignored) return [];
  const message = 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction';
  throw denied(admission, `${who} denied request: ${message}`, 'Invalid');
}

function findings(spec: JsonObject, facts: RequestFacts, params: Value, ignored: boolean): readonly Finding[] {
  const broken = (message: string): readonly Finding[] => (ignored ? [] : [{ message, reason: 'Invalid' }]);
  try {
    if (!conditionsHold(spec['matchConditions'], facts, { params })) return [];
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return broken(error.message);
  }
  const variables = variablesOf(spec['variables'], facts, params);
  return listOf(spec['validations'])
    .map(objectOf)
    .flatMap((validation) => {
      const expression = String(validation['expression']);
      try {
        if (evaluate(expression, facts, { params, variables }) === true) return [];
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error;
        return broken(`expression '${expression}' resulted in error: ${error.message}`);
      }
      return [
        {
          message: messageOf(validation, facts, { params, variables }),
          reason: textOf(validation['reason'], 'Invalid'),
        },
      ];
    });
}

function messageOf(validation: JsonObject, facts: RequestFacts, more: Readonly<Record<string, Value>>): string {
  const { message, messageExpression, expression } = validation;
  if (typeof messageExpression === 'string' && messageExpression !== '') {
    try {
      const text = evaluate(messageExpression, facts, more, 'message');
      if (typeof text === 'string' && text.trim() !== '') return text.trim();
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
    }
  }
  return typeof message === 'string' && message !== ''
    ? message.trim()
    : `failed expression: ${String(expression).trim()}`;
}

const CODES: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  Invalid: 422,
  RequestEntityTooLarge: 413,
};

function denied({ kind, name }: Admission, said: string, reason: string): Refusal {
  const of = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
  return new Refusal({
    code: CODES[reason] ?? 422,
    reason,
    message: `${of} "${name}" is forbidden: ${said}`,
    details: {
      name,
      ...(kind.group === '' ? {} : { group: kind.group }),
      kind: kind.plural,
      causes: [{ message: said }],
    },
  });
}
