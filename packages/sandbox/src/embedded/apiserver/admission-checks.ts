import { isObject, type JsonObject, listOf, objectOf, type StatusCause } from '@drydock/kube/testing/api-server';
import { expressionProblem, type Purpose } from './admission-expressions.ts';
import { required, wrong } from './checks.ts';
import { textOf } from './draft.ts';

// What the server refuses in the configuration of webhooks and policies.

function expressionViolations(value: unknown, field: string, purpose: Purpose = 'condition'): StatusCause[] {
  const text = textOf(value);
  if (text.trim() === '') return [required(field, 'expression is not specified')];
  const problem = expressionProblem(text, purpose);
  return problem === undefined ? [] : [wrong(field, text, `compilation failed: ${problem}`)];
}

/** What is wrong with the webhooks of a configuration. */
export function webhookViolations(object: JsonObject): readonly StatusCause[] {
  return listOf(object['webhooks'])
    .map(objectOf)
    .flatMap((webhook, at) => {
      const field = `webhooks[${at}]`;
      const causes: StatusCause[] = [];
      const name = textOf(webhook['name']);
      if (name === '') causes.push(required(`${field}.name`));
      else if (name.split('.').length < 3) {
        causes.push(wrong(`${field}.name`, name, 'should be a domain with at least three segments separated by dots'));
      }
      const versions = listOf(webhook['admissionReviewVersions']);
      if (versions.length === 0)
        causes.push(required(`${field}.admissionReviewVersions`, 'must specify one of v1, v1beta1'));
      const effects = webhook['sideEffects'];
      if (effects !== 'None' && effects !== 'NoneOnDryRun') {
        const said = `Unsupported value: ${JSON.stringify(effects ?? '')}: supported values: "None", "NoneOnDryRun"`;
        causes.push(
          effects === undefined || effects === null
            ? required(`${field}.sideEffects`, 'must specify one of None, NoneOnDryRun')
            : { reason: 'FieldValueNotSupported', message: said, field: `${field}.sideEffects` },
        );
      }
      const timeout = Number(webhook['timeoutSeconds'] ?? 10);
      if (timeout < 1 || timeout > 30) {
        causes.push(wrong(`${field}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds'));
      }
      const client = objectOf(webhook['clientConfig']);
      if ((client['url'] === undefined) === !isObject(client['service'])) {
        causes.push(required(`${field}.clientConfig`, 'exactly one of url or service is required'));
      }
      if (typeof client['url'] === 'string' && !client['url'].startsWith('https://')) {
        const said = `'https' is the only allowed URL scheme; desired format: https://host[/path]`;
        causes.push(wrong(`${field}.clientConfig.url`, client['url'].split(':')[0], said));
      }
      for (const [index, condition] of listOf(webhook['matchConditions']).entries()) {
        causes.push(
          ...expressionViolations(objectOf(condition)['expression'], `${field}.matchConditions[${index}].expression`),
        );
      }
      return causes;
    });
}

/** What is wrong with a policy. */
export function policyViolations(object: JsonObject): readonly StatusCause[] {
  const spec = objectOf(object['spec']);
  const causes: StatusCause[] = [];
  const validations = listOf(spec['validations']);
  if (validations.length === 0 && listOf(spec['auditAnnotations']).length === 0) {
    causes.push(required('spec.validations', 'validations or auditAnnotations must contain at least one item'));
    causes.push(required('spec.auditAnnotations', 'validations or auditAnnotations must contain at least one item'));
  }
  if (spec['matchConstraints'] === undefined) causes.push(required('spec.matchConstraints'));
  else if (listOf(objectOf(spec['matchConstraints'])['resourceRules']).length === 0) {
    causes.push(required('spec.matchConstraints.resourceRules'));
  }
  for (const [list, items] of [
    ['matchConditions', listOf(spec['matchConditions'])],
    ['variables', listOf(spec['variables'])],
    ['validations', validations],
  ] as const) {
    for (const [at, item] of items.entries()) {
      causes.push(...expressionViolations(objectOf(item)['expression'], `spec.${list}[${at}].expression`));
    }
  }
  for (const [at, item] of validations.entries()) {
    const { messageExpression } = objectOf(item);
    if (textOf(messageExpression) !== '')
      causes.push(...expressionViolations(messageExpression, `spec.validations[${at}].messageExpression`, 'message'));
  }
  return causes;
}
