import {
  type JsonObject,
  metadataOf,
  recordUpdate,
  seconds,
  Undecodable,
  withMetadata,
  without,
} from '@drydock/kube/testing/api-server';
import { badRequest } from './api-failure.ts';
import { decodeObject } from './go-codec.ts';
import { schemaOfType, typeOfKind } from './recorded-schema.ts';

// Reviews and requests for tokens are objects that are answered and never stored: they are decoded like others, and say who wrote their fields.

/** The kind that is posted. */
export interface ReviewKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A body as its type has it, and what the client is warned of. */
export function decodedReview(
  of: ReviewKind,
  body: JsonObject,
  query: URLSearchParams,
): { readonly body: JsonObject; readonly warnings: readonly string[] } {
  const { group, version, kind } = of;
  const unknown: string[] = [];
  const refusal = (said: string): Error =>
    badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${said}`);
  let decoded: JsonObject;
  try {
    decoded = decodeObject(body, typeOfKind(group, version, kind), unknown);
  } catch (error) {
    throw error instanceof Undecodable ? refusal(error.message) : error;
  }
  const said = unknown.map((field) => (field.includes(' ') ? field : `unknown field "${field}"`));
  const validation = query.get('fieldValidation');
  if (validation === 'Strict' && said.length > 0) throw refusal(`strict decoding error: ${said.join(', ')}`);
  const typed = { kind, apiVersion: `${group}/${version}`, ...decoded };
  return { body: typed, warnings: validation === 'Ignore' ? [] : said };
}

/** An answer with the owner of what was sent, where anything is owned. */
export function ownedReview(
  { group, version, kind }: ReviewKind,
  sent: JsonObject,
  answer: JsonObject,
  manager: string,
  subresource?: string,
): JsonObject {
  // Its spec is no part of the answer.
  if (kind === 'SelfSubjectRulesReview') return answer;
  const type = typeOfKind(group, version, kind);
  const empty = decodeObject({}, type, []);
  const own = { ...without(sent, 'status', 'metadata'), metadata: without(metadataOf(sent), 'creationTimestamp') };
  const as = { manager, operation: 'Update', apiVersion: `${group}/${version}`, subresource } as const;
  const { managedFields } = metadataOf(
    recordUpdate(without(empty, 'metadata', 'status'), own, schemaOfType(type), as, seconds(new Date())),
  );
  const list = Array.isArray(managedFields) ? managedFields : [];
  const owned = list.some((one) => Object.keys((one as { fieldsV1?: object }).fieldsV1 ?? {}).length > 0);
  return owned ? withMetadata(answer, { ...metadataOf(answer), managedFields }) : answer;
}
