import { randomUUID } from 'node:crypto';
import {
  type JsonObject,
  listOf,
  metadataOf,
  objectOf,
  Refusal,
  type ServedKind,
  type Steps,
  waitFor,
  withMetadata,
} from '@drydock/kube/testing/api-server';
import { textOf } from './draft.ts';
import { callWebhook, type FindService, WebhookFailure } from './webhook-call.ts';

/** How long (s) a conversion may take. */
const TIMEOUT = 30;

/** Whether a CRD's objects are converted by a webhook. */
export function convertsByWebhook(crd: JsonObject | undefined): boolean {
  const spec = objectOf(crd?.['spec']);
  return objectOf(spec['conversion'])['strategy'] === 'Webhook' && listOf(spec['versions']).length > 1;
}

/** Objects of a custom kind in another version, as the CRD's webhook makes them. */
export function* convertByWebhook(
  crd: JsonObject,
  kind: ServedKind,
  objects: readonly JsonObject[],
  version: string,
  findService: FindService,
): Steps<readonly JsonObject[]> {
  const desired = `${kind.group}/${version}`;
  const stored = `${kind.group}/${kind.storageVersion ?? version}`;
  const whole = objects.map((object): JsonObject => ({ apiVersion: stored, kind: kind.kind, ...object }));
  const others = whole.filter((object) => object['apiVersion'] !== desired);
  if (others.length === 0) return whole;
  const converted = yield* waitFor(review(crd, kind, others, desired, findService));
  let next = 0;
  return whole.map((object) => {
    if (object['apiVersion'] === desired) return object;
    const made = objectOf(converted[next]);
    next += 1;
    return kept(object, made);
  });
}

/** A webhook changes of metadata only labels and annotations. */
function kept(object: JsonObject, made: JsonObject): JsonObject {
  const { labels, annotations } = metadataOf(made);
  return withMetadata(made, { ...metadataOf(object), labels, annotations });
}

async function review(
  crd: JsonObject,
  kind: ServedKind,
  objects: readonly JsonObject[],
  desired: string,
  findService: FindService,
): Promise<readonly unknown[]> {
  const webhook = objectOf(objectOf(objectOf(crd['spec'])['conversion'])['webhook']);
  const uid = randomUUID();
  const reviewed = String(
    listOf(webhook['conversionReviewVersions']).find((one) => one === 'v1' || one === 'v1beta1') ?? 'v1',
  );
  const request = { uid, desiredAPIVersion: desired, objects };
  const body = { kind: 'ConversionReview', apiVersion: `apiextensions.k8s.io/${reviewed}`, request };
  const from = String(objects[0]?.['apiVersion']);
  const fail = (said: string): Refusal => {
    const message = `conversion webhook for ${from}, Kind=${kind.kind} failed: ${said}`;
    return new Refusal({ code: 500, message });
  };
  let response: JsonObject;
  try {
    response = objectOf((await callWebhook(webhook['clientConfig'], body, TIMEOUT, findService))['response']);
  } catch (error) {
    if (error instanceof WebhookFailure) throw fail(error.message);
    throw error;
  }
  const result = objectOf(response['result']);
  if (result['status'] !== 'Success') throw fail(textOf(result['message']));
  const converted = listOf(response['convertedObjects']);
  if (response['uid'] !== uid)
    throw fail(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response['uid'] ?? '')}`);
  if (converted.length !== objects.length) {
    throw fail(`webhook returned ${converted.length} objects, expected ${objects.length}`);
  }
  for (const [at, one] of converted.entries()) {
    const { apiVersion } = objectOf(one);
    if (apiVersion !== desired) {
      throw fail(
        `webhook returned invalid converted object at index ${at}: invalid groupVersion (expected ${desired}, received ${String(apiVersion)})`,
      );
    }
    const [is, was] = [metadataOf(objectOf(one)), metadataOf(objects[at] ?? {})];
    if (is['name'] !== was['name'] || is['uid'] !== was['uid']) {
      throw fail(`webhook returned invalid metadata at index ${at}: must have the same name and UID`);
    }
  }
  return converted;
}
