import { randomUUID } from 'node:crypto';
import {
  type Admission,
  isObject,
  type JsonObject,
  jsonEqual,
  jsonPatch,
  listOf,
  objectOf,
  parseExact,
  Refusal,
  type Steps,
  waitFor,
} from '@drydock/kube/testing/api-server';
import { conditionsHold, factsOf, requestOf } from './admission-expressions.ts';
import { isSelected, matchedVersion } from './admission-match.ts';
import type { Authorize } from './expressions/expression-access.ts';
import { EvaluationError } from './expressions/expression-errors.ts';
import { callWebhook, type FindService, WebhookFailure } from './webhook-call.ts';

/** What webhooks need of the server. */
export interface WebhookHost {
  list(group: string, plural: string): readonly JsonObject[];
  readonly findService: FindService;
  /** Answers the questions of expressions about rights. */
  readonly authorize: Authorize;
  /** The namespace of a request; undefined outside of namespaces. */
  namespaceOf(admission: Admission): JsonObject | undefined;
}

const GROUP = 'admissionregistration.k8s.io';

interface Matched {
  readonly webhook: JsonObject;
  /** The version that the webhook wants. */
  readonly version: string;
}

/** Changes an object by all mutating webhooks that are about it, one after the other. */
export function* mutateByWebhooks(admission: Admission, host: WebhookHost): Steps<JsonObject | undefined> {
  let { object } = admission;
  const before = new Map<JsonObject, JsonObject | undefined>();
  const run = function* (webhook: JsonObject): Steps<void> {
    const now = { ...admission, object };
    const matched = match(webhook, now, host);
    if (matched === undefined) return;
    const response = yield* ask(matched, now, host);
    if (response === undefined) return;
    object = patched(webhook, now, response);
    before.set(webhook, object);
  };
  const webhooks = webhooksOf(host, 'mutatingwebhookconfigurations');
  for (const webhook of webhooks) yield* run(webhook);
  // Those who want to see what others made of it are asked once more.
  for (const webhook of webhooks) {
    const seen = before.get(webhook);
    if (webhook['reinvocationPolicy'] === 'IfNeeded' && seen !== undefined && !jsonEqual(seen, object))
      yield* run(webhook);
  }
  return object;
}

/** Asks all validating webhooks that are about a request, at once. */
export function* validateByWebhooks(admission: Admission, host: WebhookHost): Steps<void> {
  const matched = webhooksOf(host, 'validatingwebhookconfigurations')
    .map((webhook) => match(webhook, admission, host))
    .filter((one) => one !== undefined);
  if (matched.length === 0) return;
  const asked = matched.map((one) => reviewed(one, admission, host).catch((error: unknown) => error));
  const answers = yield* waitFor(Promise.all(asked));
  const refused = answers.find((one) => one instanceof Error);
  if (refused !== undefined) throw refused as Error;
}

function webhooksOf(host: WebhookHost, plural: string): readonly JsonObject[] {
  return host.list(GROUP, plural).flatMap((configuration) => listOf(configuration['webhooks']).map(objectOf));
}

function match(webhook: JsonObject, admission: Admission, host: WebhookHost): Matched | undefined {
  const version = matchedVersion(listOf(webhook['rules']), admission, webhook['matchPolicy'] !== 'Exact');
  if (version === undefined) return undefined;
  const namespace = host.namespaceOf(admission);
  if (!isSelected(webhook, admission, namespace)) return undefined;
  try {
    if (!conditionsHold(webhook['matchConditions'], factsOf(admission, namespace, host.authorize))) return undefined;
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    if (webhook['failurePolicy'] === 'Ignore') return undefined;
    const message = `${admission.kind.plural} "${admission.name}" is forbidden: ${error.message}`;
    throw new Refusal({ code: 403, reason: 'Forbidden', message, details: detailsOf(admission) });
  }
  return { webhook, version };
}

function detailsOf({ kind, name }: Admission): object {
  return { name, ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.plural };
}

/** Asks a webhook, where its failures may be ignored; undefined: it failed, and that is ignored. */
function* ask(matched: Matched, admission: Admission, host: WebhookHost): Steps<JsonObject | undefined> {
  return yield* waitFor(reviewed(matched, admission, host));
}

async function reviewed(
  { webhook, version }: Matched,
  admission: Admission,
  host: WebhookHost,
): Promise<JsonObject | undefined> {
  const name = String(webhook['name']);
  const { sideEffects } = webhook;
  if (admission.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun') {
    throw new Refusal({
      code: 400,
      reason: 'BadRequest',
      message: `admission webhook "${name}" does not support dry run`,
    });
  }
  const uid = randomUUID();
  let answer: JsonObject;
  try {
    const review = reviewOf(admission, version, uid);
    answer = objectOf(
      (await callWebhook(webhook['clientConfig'], review, Number(webhook['timeoutSeconds'] ?? 10), host.findService))[
        'response'
      ],
    );
    if (answer['uid'] !== uid) {
      throw new WebhookFailure(
        `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answer['uid'] ?? '')}`,
      );
    }
  } catch (error) {
    if (!(error instanceof WebhookFailure)) throw error;
    if (webhook['failurePolicy'] === 'Ignore') return undefined;
    const message = `Internal error occurred: failed calling webhook "${name}": failed to call webhook: ${error.message}`;
    throw new Refusal({
      code: 500,
      reason: 'InternalError',
      message,
      details: { causes: [{ message: message.replace('Internal error occurred: ', '') }] },
    });
  }
  for (const warning of listOf(answer['warnings'])) admission.warn(String(warning));
  if (answer['allowed'] === true) return answer;
  throw denied(name, objectOf(answer['status']));
}

function denied(name: string, status: JsonObject): Refusal {
  const { message, reason, code, details } = status;
  const said =
    typeof message === 'string' && message !== ''
      ? `denied the request: ${message}`
      : typeof reason === 'string' && reason !== ''
        ? `denied the request: ${reason}`
        : 'denied the request without explanation';
  return new Refusal({
    code: typeof code === 'number' && code >= 400 ? code : 400,
    ...(typeof reason === 'string' ? { reason } : {}),
    message: `admission webhook "${name}" ${said}`,
    ...(isObject(details) ? { details } : {}),
  });
}

function reviewOf(admission: Admission, version: string, uid: string): JsonObject {
  const { kind, object, old, operation } = admission;
  const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`;
  const inVersion = (one: JsonObject | undefined): JsonObject | null =>
    one === undefined ? null : { ...one, apiVersion };
  const request = requestOf(admission);
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid,
      ...request,
      kind: { ...objectOf(request['kind']), version },
      resource: { ...objectOf(request['resource']), version },
      object: operation === 'DELETE' ? null : inVersion(object),
      oldObject: inVersion(old),
    },
  };
}

function patched(webhook: JsonObject, { object, name }: Admission, response: JsonObject): JsonObject | undefined {
  const { patch, patchType } = response;
  if (typeof patch !== 'string' || patch === '' || object === undefined) return object;
  const fail = (said: string): Refusal => {
    const message = `Internal error occurred: ${said}`;
    return new Refusal({ code: 500, reason: 'InternalError', message, details: { causes: [{ message: said }] } });
  };
  if (patchType !== 'JSONPatch') throw fail(`webhook "${String(webhook['name'])}" returned an unsupported patch type`);
  let operations: unknown;
  try {
    operations = parseExact(Buffer.from(patch, 'base64').toString('utf8'));
  } catch {
    throw fail(
      `admission webhook "${String(webhook['name'])}" attempted to modify the object with a patch that is no JSON`,
    );
  }
  try {
    return jsonPatch(object, operations);
  } catch (error) {
    throw fail(
      `error applying JSONPatch of webhook "${String(webhook['name'])}" to ${name}: ${(error as Error).message}`,
    );
  }
}
