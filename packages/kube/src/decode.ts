import { apiVersionOf } from './path.ts';
import type { KubeObject, Resource } from './resource.ts';

type Mutable = { apiVersion?: string; kind?: string; metadata?: { managedFields?: unknown } };

/**
 * Finishes a freshly parsed object: drops `metadata.managedFields` (half of the memory, and poison in an apply) and adds
 * apiVersion and kind, which lists leave out. Edits in place: nobody else has seen the object yet.
 */
export function settled<T extends KubeObject>(object: T, resource: Resource<T>): T {
  const mutable = object as Mutable;
  if (mutable.metadata !== undefined) delete mutable.metadata.managedFields;
  mutable.apiVersion ??= apiVersionOf(resource);
  mutable.kind ??= resource.kind;
  return object;
}
