import { type Admission, type JsonObject, listOf, objectOf } from '@drydock/kube/testing/api-server';
import type { UserInfo } from './contract.ts';
import {
  type AccessResource,
  type Authorize,
  authorizerOf,
  requestResourceOf,
} from './expressions/expression-access.ts';
import { type Compiled, compileExpression } from './expressions/expression-compiler.ts';
import { EvaluationError, ExpressionError } from './expressions/expression-errors.ts';
import { DYN, type Type } from './expressions/expression-types.ts';
import { Dictionary, fromJson, type Value } from './expressions/expression-values.ts';

// Expressions about requests: conditions of webhooks, and policies.

const MESSAGE_VARIABLES: Readonly<Record<string, Type>> = Object.fromEntries(
  ['object', 'oldObject', 'request', 'params', 'namespaceObject', 'variables'].map((name) => [name, DYN]),
);
const VARIABLES: Readonly<Record<string, Type>> = {
  ...MESSAGE_VARIABLES,
  authorizer: { kind: 'authorizer' },
  'authorizer.requestResource': { kind: 'resourceCheck' },
};

/** What an expression is for: that of a message may not ask the authorizer. */
export type Purpose = 'condition' | 'message';

const compiled = {
  condition: new Map<string, Compiled | ExpressionError>(),
  message: new Map<string, Compiled | ExpressionError>(),
};

/** An expression about a request; an error where it does not compile. */
function compile(text: string, purpose: Purpose): Compiled | ExpressionError {
  const known = compiled[purpose].get(text);
  if (known !== undefined) return known;
  let made: Compiled | ExpressionError;
  try {
    made = compileExpression(text, purpose === 'message' ? MESSAGE_VARIABLES : VARIABLES);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    made = error;
  }
  compiled[purpose].set(text, made);
  return made;
}

/** Why an expression about requests does not compile; undefined: it does. */
export function expressionProblem(text: string, purpose: Purpose = 'condition'): string | undefined {
  const made = compile(text, purpose);
  return made instanceof ExpressionError ? made.message : undefined;
}

/** What expressions about a request may look at. */
export interface RequestFacts {
  readonly object: Value;
  readonly oldObject: Value;
  readonly request: Value;
  readonly namespaceObject: Value;
  readonly authorizer: Value;
  readonly 'authorizer.requestResource': Value;
}

const json = (value: unknown): Value => (value === undefined ? null : fromJson(value, {}));

/** The facts of a request. */
export function factsOf(admission: Admission, namespace: JsonObject | undefined, authorize: Authorize): RequestFacts {
  const user = userOf(admission);
  return {
    object: json(admission.object),
    oldObject: json(admission.old),
    request: json(requestOf(admission)),
    namespaceObject: json(namespace),
    authorizer: authorizerOf(user, authorize),
    'authorizer.requestResource': requestResourceOf(user, authorize, accessOf(admission)),
  };
}

function userOf({ user }: Admission): UserInfo {
  const { username = '', groups = [], ...more } = (user ?? {}) as Partial<UserInfo>;
  return { username, groups, ...more };
}

function accessOf({ kind, subresource = '', namespace = '', name }: Admission): AccessResource {
  return { group: kind.group, resource: kind.plural, subresource, namespace: kind.namespaced ? namespace : '', name };
}

/** The request as webhooks and expressions see it, without the objects. */
export function requestOf(admission: Admission): JsonObject {
  const { kind, version, namespace, name, subresource, operation, dryRun } = admission;
  const { username, uid, groups, extra } = userOf(admission);
  const gvk = { group: kind.group, version, kind: kind.kind };
  const gvr = { group: kind.group, version, resource: kind.plural };
  const part = subresource === undefined ? {} : { subResource: subresource, requestSubResource: subresource };
  return {
    kind: gvk,
    resource: gvr,
    ...part,
    requestKind: gvk,
    requestResource: gvr,
    ...(name === '' ? {} : { name }),
    ...(namespace === undefined || !kind.namespaced ? {} : { namespace }),
    operation,
    userInfo: {
      username,
      ...(uid === undefined ? {} : { uid }),
      groups: [...groups],
      ...(extra === undefined ? {} : { extra }),
    },
    dryRun,
    options: optionsOf(admission),
  };
}

/** The options of a request under the name of what it does: a patch creates or updates. */
function optionsOf({ operation, options }: Admission): JsonObject {
  const kinds: Readonly<Record<string, string>> = {
    CREATE: 'CreateOptions',
    UPDATE: 'UpdateOptions',
    DELETE: 'DeleteOptions',
  };
  return { ...options, kind: kinds[operation] ?? '', apiVersion: 'meta.k8s.io/v1' };
}

/** Evaluates one expression. Throws `EvaluationError`, also for one that does not compile. */
export function evaluate(
  text: string,
  facts: RequestFacts,
  more: Readonly<Record<string, Value>> = {},
  purpose: Purpose = 'condition',
): Value {
  const made = compile(text, purpose);
  if (made instanceof ExpressionError) throw new EvaluationError(`compilation failed: ${made.message}`);
  return made.run({ ...facts, params: null, variables: Dictionary.of([]), ...more });
}

/** Whether all conditions hold. Throws `EvaluationError` where one that matters cannot be evaluated. */
export function conditionsHold(
  conditions: unknown,
  facts: RequestFacts,
  more: Readonly<Record<string, Value>> = {},
): boolean {
  let failed: EvaluationError | undefined;
  for (const condition of listOf(conditions).map(objectOf)) {
    const expression = String(condition['expression']);
    try {
      // Conditions are not told of the namespace.
      if (evaluate(expression, { ...facts, namespaceObject: Dictionary.of([]) }, more) !== true) return false;
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      failed ??= new EvaluationError(`expression '${expression}' resulted in error: ${error.message}`);
    }
  }
  if (failed !== undefined) throw failed;
  return true;
}

/** The named values of a policy, each of which may use those before it. */
export function variablesOf(definitions: unknown, facts: RequestFacts, params: Value): Value {
  const entries: (readonly [string, Value])[] = [];
  for (const definition of listOf(definitions).map(objectOf)) {
    const variables = Dictionary.of(entries);
    try {
      const value = evaluate(String(definition['expression']), facts, { params, variables });
      entries.push([String(definition['name']), value]);
    } catch (error) {
      // Whoever uses it fails; who does not, does not care.
      if (!(error instanceof EvaluationError)) throw error;
    }
  }
  return Dictionary.of(entries);
}
