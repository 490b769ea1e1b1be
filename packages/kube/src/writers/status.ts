import { compareVersions } from '../cache/versions.ts';
import type { CallOptions, Client, FieldOwner } from '../client/client.ts';
import { actionText } from '../client/path.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ApiError, isConflict, isInvalid, isNotFound } from '../errors.ts';
import { jsonEqual } from '../json/json-equal.ts';
import { type Key, type KubeObject, keyOf, type Resource } from '../resource.ts';
import type { StatusCause } from '../status-object.ts';

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
  /** Spares the first GET, as from a cache. May be stale: a conflict, or a last write that it does not have yet, then costs one round more. */
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
   * it observed. Undefined leaves the status alone. A status that a cached object already has is taken for written only if that object is no older than
   * what was written or seen here last; else the live one is looked at. Rejects with `ApiError`: NotFound if the object is gone, Conflict if
   * it was replaced by another of the same name or keeps changing, Invalid if the schema rejects the status.
   */
  write(key: Key, compute: (current: T) => StatusOf<T> | undefined, options?: WriteOptions<T>): Promise<WriteResult<T>>;
}

/** Conflicts in a row before the writer gives up, and lets the queue's back-off take over. */
const ATTEMPTS = 8;

/** Of so many objects the last write is remembered. */
const REMEMBERED = 10_000;

/** The one status writer: whole-status PUT guarded by resourceVersion. */
export function statusWriter<T extends WithStatus>(options: StatusWriterOptions<T>): StatusWriter<T> {
  const { client, resource, recall, project, refused, written, failed, apply } = options;
  const { clock = systemClock, random = Math.random } = options;

  /** By uid, what a cached object must have come to before it says anything: the newest version that was seen here, or beyond that on which a write was based whose answer was lost. */
  const seen = new Map<string, { readonly version: string | undefined; readonly beyond: boolean }>();

  function remember({ metadata: { uid, resourceVersion: version } }: T, beyond: boolean): void {
    if (uid === undefined) return;
    seen.delete(uid);
    seen.set(uid, { version, beyond });
    const [oldest] = seen.keys();
    if (seen.size > REMEMBERED && oldest !== undefined) seen.delete(oldest);
  }

  function isUpToDate({ metadata: { uid = '', resourceVersion } }: T): boolean {
    const last = seen.get(uid);
    if (last === undefined) return true;
    const order = compareVersions(resourceVersion, last.version);
    const upToDate = order !== undefined && (last.beyond ? order > 0 : order >= 0);
    if (upToDate) seen.delete(uid);
    return upToDate;
  }

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
      let isLive = given === undefined;
      let current = given ?? (await client.get(resource, key, call));
      const { uid } = current.metadata;
      const look = async (): Promise<void> => {
        current = await client.get(resource, key, call);
        isLive = true;
        remember(current, false);
        if (current.metadata.uid === uid) return;
        throw new ApiError({
          code: 'Conflict',
          action: actionText('write status of', resource, key),
          said: 'the object was deleted and another one of the same name was created',
        });
      };
      for (let attempt = 1; ; attempt++) {
        const computed = compute(recall === undefined ? current : await recall(current));
        const status = computed === undefined || project === undefined ? computed : await project(computed, current);
        if (status === undefined || jsonEqual(current.status, status)) {
          // A cache that lags behind our own last write agrees with what was there before it.
          if (!isLive && !isUpToDate(current)) {
            await look();
            attempt--;
            continue;
          }
          if (status !== undefined) await written?.(status, current);
          return { written: false, object: current };
        }
        try {
          const object = await send(current, status, call);
          remember(object, false);
          await written?.(status, object);
          return { written: true, object };
        } catch (error) {
          // Not a refusal: it may have been stored all the same.
          if (!(error instanceof ApiError && error.status >= 400 && error.status < 500)) remember(current, true);
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
        await look();
      }
    },
  };
}
