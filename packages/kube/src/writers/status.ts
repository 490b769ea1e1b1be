import type { CallOptions, Client, FieldOwner } from '../client/client.ts';
import { actionText } from '../client/path.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ApiError, isConflict, isInvalid, isNotFound, type StatusCause } from '../errors.ts';
import { jsonEqual } from '../json-equal.ts';
import { type Key, type KubeObject, keyOf, type Resource } from '../resource.ts';

/** An object with a status. */
export interface WithStatus extends KubeObject {
  readonly status?: unknown;
}

/** The status of `T`, without undefined. */
export type StatusOf<T extends WithStatus> = NonNullable<T['status']>;

/** Whose statuses are written, and through what. */
export interface StatusWriterOptions<T extends WithStatus> {
  readonly client: Pick<Client, 'get' | 'replaceStatus' | 'applyStatus'> & Partial<Pick<Client, 'replace'>>;
  readonly resource: Resource<T>;
  /** Gives `compute` the object with what an earlier projection left out of its status; the status that is stored is still what is compared. */
  readonly recall?: (current: T) => T | Promise<T>;
  /** Cuts a status to what the live schema accepts, so that one new value cannot block all the others. */
  readonly project?: (status: StatusOf<T>, current: T) => StatusOf<T> | Promise<StatusOf<T>>;
  /**
   * The server refused (422) `sent`, which `project` gave, with these causes. True: project again, what it gives is something else. 'told': nothing helps, and whoever must know has been told another way;
   * the write ends without an error, so that the work whose status it is goes on.
   */
  readonly refused?: (causes: readonly StatusCause[], current: T, sent: StatusOf<T>) => boolean | 'told';
  /** `sent`, which `project` gave, is stored, or was already. */
  readonly written?: (sent: StatusOf<T>, object: T) => void | Promise<void>;
  /** `sent` did not arrive, or nobody knows: neither a refusal nor a conflict. The error is thrown all the same. */
  readonly failed?: (current: T, sent: StatusOf<T>, error: unknown) => void;
  /**
   * Try server-side apply first, guarded by resourceVersion like the PUT, which remains the way out when apply is rejected: a bad
   * value stored by another manager makes every apply invalid, and a duplicate key in a list makes it an internal error, while a PUT replaces it.
   */
  readonly apply?: FieldOwner;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** How one status is written. */
export interface WriteOptions<T extends WithStatus> extends CallOptions {
  /** Spares the first GET, as from a cache. May be stale: a conflict then costs one round more. */
  readonly current?: T | undefined;
}

/** What became of a write. */
export interface WriteResult<T extends WithStatus> {
  /** False when the status was already so, and nothing was sent. */
  readonly written: boolean;
  /** The object as it is now, as far as this writer saw. */
  readonly object: T;
}

/** Writes the statuses of one kind. */
export interface StatusWriter<T extends WithStatus> {
  /**
   * Computes the status from the current object and writes it whole. On a conflict the object is read again and
   * `compute` asked again, never the old answer sent again, so `compute` must derive everything from its argument and from what
   * it observed. Undefined leaves the status alone. Rejects with `ApiError`: NotFound if the object is gone, Conflict if
   * it was replaced by another of the same name or keeps changing, Invalid if the schema rejects the status.
   */
  write(key: Key, compute: (current: T) => StatusOf<T> | undefined, options?: WriteOptions<T>): Promise<WriteResult<T>>;
}

/** Conflicts in a row before the writer gives up, and lets the queue's back-off take over. */
const ATTEMPTS = 8;

/** The one status writer: whole-status PUT guarded by resourceVersion. */
export function statusWriter<T extends WithStatus>(options: StatusWriterOptions<T>): StatusWriter<T> {
  const { client, resource, recall, project, refused, written, failed, apply } = options;
  const { clock = systemClock, random = Math.random } = options;

  async function send(current: T, status: StatusOf<T>, call: CallOptions): Promise<T> {
    if (apply !== undefined) {
      const { name, namespace, resourceVersion } = current.metadata;
      const metadata = {
        name,
        ...(namespace === undefined ? {} : { namespace }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      try {
        return await client.applyStatus(resource, { metadata, status } as unknown as T, apply, call);
      } catch (error) {
        if (!isInvalid(error) && !(error instanceof ApiError && error.code === 'ServerError')) throw error;
      }
    }
    try {
      return await client.replaceStatus(resource, { ...current, status }, call);
    } catch (error) {
      // The object may be there without the subresource, which a definition can lose: then its status is written with the rest.
      if (!isNotFound(error) || client.replace === undefined) throw error;
      const { uid } = (await client.get(resource, keyOf(current), call)).metadata;
      if (uid !== current.metadata.uid) throw error;
      return client.replace(resource, { ...current, status }, call);
    }
  }

  return {
    async write(key, compute, { current: given, ...call } = {}) {
      let current = given ?? (await client.get(resource, key, call));
      const { uid } = current.metadata;
      for (let attempt = 1; ; attempt++) {
        const computed = compute(recall === undefined ? current : await recall(current));
        if (computed === undefined) return { written: false, object: current };
        const status = project === undefined ? computed : await project(computed, current);
        if (jsonEqual(current.status, status)) {
          await written?.(status, current);
          return { written: false, object: current };
        }
        try {
          const object = await send(current, status, call);
          await written?.(status, object);
          return { written: true, object };
        } catch (error) {
          if (error instanceof ApiError && isInvalid(error)) {
            const next = refused?.(error.details.causes ?? [], current, status) ?? false;
            if (next === 'told') return { written: false, object: current };
            if (next && attempt < ATTEMPTS) continue;
          } else if (!isConflict(error)) failed?.(current, status, error);
          if (!isConflict(error) || attempt === ATTEMPTS) throw error;
        }
        // The first conflict is mostly a stale cache; later ones mean another busy writer.
        if (attempt > 1) {
          const pause = 10 * 2 ** attempt * (0.5 + random());
          await clock.sleep(pause, call.signal === undefined ? {} : { signal: call.signal });
        }
        current = await client.get(resource, key, call);
        if (current.metadata.uid !== uid) {
          throw new ApiError({
            code: 'Conflict',
            action: actionText('write status of', resource, key),
            said: 'the object was deleted and another one of the same name was created',
          });
        }
      }
    },
  };
}
