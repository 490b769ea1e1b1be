import type { JsonObject } from './json.ts';
import type { ServedKind } from './kinds.ts';
import type { Steps } from './steps.ts';

/** One write on its way through admission. */
export interface Admission {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: string | undefined;
  /** As it is served. Undefined for deletions. */
  readonly object: JsonObject | undefined;
  readonly old: JsonObject | undefined;
  readonly options: JsonObject;
  readonly dryRun: boolean;
  readonly user: unknown;
  readonly warn: (text: string) => void;
}

/** A request on a subresource that the core does not know. */
export interface OtherRequest {
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: string;
  readonly method: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly contentType: string | undefined;
  readonly manager: string;
  readonly dryRun: boolean;
  readonly user: unknown;
  readonly warn: (text: string) => void;
  /** Writes the object itself, as the subresource's own write. */
  readonly patch: (
    change: (current: JsonObject) => JsonObject,
  ) => Steps<{ readonly code: number; readonly object: JsonObject }>;
  /** Deletes the object. */
  readonly remove: (options: JsonObject) => Steps<{ readonly code: number; readonly body: JsonObject }>;
  /** The object as it is stored; 404 where there is none. */
  readonly current: () => JsonObject;
}

/** What may change or refuse writes, and what may have to wait for it. Each throws `Refusal`. */
export interface ServerPorts {
  /** Resolves with the object, changed or not. */
  readonly mutate?: (admission: Admission) => Steps<JsonObject>;
  /** Admits or throws. */
  readonly validate?: (admission: Admission) => Steps<void>;
  /** Whether a kind's objects may be stored in another version than the one they are asked for in. */
  readonly converts?: (kind: ServedKind) => boolean;
  /** A strategic merge patch of the current object. */
  readonly strategicMerge?: (current: JsonObject, patch: unknown, kind: ServedKind, version: string) => JsonObject;
  /** Answers what only this server has: subresources of kinds, kinds that are not stored. Undefined: it is not served. */
  readonly other?: (request: OtherRequest) => Steps<{ readonly code: number; readonly body: unknown } | undefined>;
  /** Objects of a kind in another version; apiVersion and kind set. */
  readonly convert?: (
    kind: ServedKind,
    objects: readonly JsonObject[],
    version: string,
  ) => Steps<readonly JsonObject[]>;
}

/** Stored objects in the version of a request. */
export function* inVersion(
  ports: ServerPorts,
  kind: ServedKind,
  version: string,
  objects: readonly JsonObject[],
): Steps<readonly JsonObject[]> {
  if (objects.length === 0 || ports.convert === undefined || ports.converts?.(kind) !== true) return objects;
  return yield* ports.convert(kind, objects, version);
}
