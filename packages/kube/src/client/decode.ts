import { ApiError } from '../errors.ts';
import type { KubeObject, Resource } from '../resource.ts';
import { badAnswer } from '../transport/transport-errors.ts';
import { HeavyJson } from './json-weight.ts';
import { apiVersionOf } from './path.ts';

type Mutable = { apiVersion?: string; kind?: string; metadata?: { managedFields?: unknown } };

/**
 * Finishes a freshly parsed object: drops `metadata.managedFields` (half of the memory, and poison in an apply) and adds
 * apiVersion and kind, which lists leave out. Edits in place: nobody else has seen the object yet. Throws BadAnswer, naming `action`, for
 * what is no object with metadata.
 */
export function settled<T extends KubeObject>(object: T, resource: Resource<T>, action: string): T {
  const mutable = object as Mutable | null;
  if (typeof mutable !== 'object' || typeof mutable?.metadata !== 'object' || mutable.metadata === null) {
    throw new ApiError({ code: 'BadAnswer', action, said: 'the answer is no object with metadata', status: 200 });
  }
  // Not `delete`: what it leaves takes more memory than an object that never had the field.
  const { managedFields: _, ...metadata } = mutable.metadata;
  mutable.metadata = metadata;
  mutable.apiVersion ??= apiVersionOf(resource);
  mutable.kind ??= resource.kind;
  return object;
}

/** As `settled`, for an item of a list, which must have a name too: without one it cannot be told from others. */
export function settledItem<T extends KubeObject>(item: T, resource: Resource<T>, action: string): T {
  const object = settled(item, resource, action);
  if (typeof object.metadata.name === 'string') return object;
  throw new ApiError({ code: 'BadAnswer', action, said: 'an item of the list has no metadata.name', status: 200 });
}

/** The error for a body that could not be parsed, or not without holding up everything else. */
export function unreadable(error: unknown, body: string, action: string): ApiError {
  if (!(error instanceof HeavyJson)) return badAnswer(body, action);
  const said = `the answer would take too long to read, ${error.message}`;
  return new ApiError({ code: 'AnswerTooLarge', action, said, status: 200 });
}
