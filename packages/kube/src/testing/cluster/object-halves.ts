import { type JsonObject, without } from './json.ts';
import type { ServedKind } from './kinds.ts';

// A kind with a status subresource has two halves: the status, and everything else.

/** The current object with all that is asked for but the status. */
export function withSpec(current: JsonObject, asked: JsonObject, kind: ServedKind): JsonObject {
  if (!kind.status) return asked;
  const rest = withoutStatus(asked, kind);
  return 'status' in current ? { ...rest, status: current['status'] } : rest;
}

/** The current object with the status that is asked for. */
export function withStatus(current: JsonObject, asked: JsonObject): JsonObject {
  const rest = without(current, 'status');
  return 'status' in asked ? { ...rest, status: asked['status'] } : rest;
}

/** The half of an object that a write to it does not drop. */
export function withoutStatus(object: JsonObject, kind: ServedKind): JsonObject {
  return kind.status ? without(object, 'status') : object;
}

/** The fields that an apply may own: those of one half. */
export function applicable(object: JsonObject, kind: ServedKind, subresource: string | undefined): JsonObject {
  if (subresource !== 'status') return withoutStatus(object, kind);
  const { apiVersion, kind: name, status } = object;
  return { apiVersion, kind: name, metadata: {}, ...(status === undefined ? {} : { status }) };
}
