import type { Observer, Selector, WatchEvent } from '../client/client.ts';
import { actionText } from '../client/path.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ApiError, isExpired } from '../errors.ts';
import type { KubeObject, Resource } from '../resource.ts';
import { MAX_LISTED } from '../transport/body.ts';
import { pacer } from './reflector-pace.ts';
import { compareVersions } from './versions.ts';
import { type HealthKeeper, healthKeeper } from './watch-health.ts';
import { watchdog } from './watchdog.ts';

/** Where a reflector puts what it learns. All calls are synchronous and must not throw. */
export interface ReflectorSink<T extends KubeObject> {
  /** What is kept of an object, asked for each as it arrives: a collection is gathered as a whole before any of it is used. Default: all of it. */
  prepare?(object: T): T;
  /** The complete collection, prepared; everything else is gone. */
  replace(items: readonly T[]): void;
  change(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
  /**
   * Whether this event tells nothing new: the sink has the object in the same or a newer version, or the object is deleted and not there.
   * Asked only of events that are not newer than what came before. Absent: such events are never new.
   */
  knows?(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): boolean;
}

/** What to reflect, and how. */
export interface ReflectOptions<T extends KubeObject> {
  readonly client: Observer;
  readonly resource: Resource<T>;
  readonly where?: Selector | undefined;
  readonly sink: ReflectorSink<T>;
  /**
   * How the collection is first read: `stream` (default) asks for it as the beginning of a watch, which costs the server least, and falls
   * back to `pages` where the server does not offer it or something on the way breaks it.
   */
  readonly initial?: 'stream' | 'pages' | undefined;
  /** Told of every failure; the reflector goes on by itself. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Keeps the account that `Cache.health` shows. */
  readonly health?: HealthKeeper | undefined;
  readonly clock?: Clock | undefined;
  /** 0 ≤ n < 1; tests pass their own. */
  readonly random?: (() => number) | undefined;
  readonly signal: AbortSignal;
}

/** Watches last between these (s), each a different time, so that thousands of them do not end together. */
const SHORTEST_WATCH = 300;
const LONGEST_WATCH = 600;

/** A watch that ended sooner than this (ms) without an event is a failure, or a closing server would be hammered. */
const BRIEF = 1000;

/**
 * A watch that has spoken and then is silent for so long (ms, and up to a third more) is half-open: from the first event of its kind on,
 * bookmarks come about every minute. One that has not spoken yet belongs to a quiet kind, which gets no bookmarks; it is opened again all the
 * same, which costs one request, because it could as well be dead. Pages of a list have the same time.
 */
const SILENCE = 150_000;

/** As long may a streamed list (ms) be silent before its end: proxies have swallowed the bookmark that ends it. */
const LIST_SILENCE = 10_000;

/** A streamed list that goes on for so long (ms) is none: a server older than the option ignores it, and sends changes for ever. */
const LIST_DEADLINE = 60_000;

/**
 * Most that one list may weigh (bytes of JSON), by pages or streamed, since all of it is in memory before any is used: 10,000 objects of 13 KB, twice what
 * virtual machines have. A server that has more for ever is left long before that costs the memory of a process.
 */
const LIST_WEIGHT = 128 * 2 ** 20;

/** What an object takes in memory however short it is (bytes). */
const OBJECT_WEIGHT = 512;

/**
 * Keeps a sink equal to a collection until the signal ends; never rejects.
 *
 * ```
 *      ┌── 410, order broken: jittered pause ──┐
 *      ▼                                       │
 *   LIST (streamed, or pages) ─────────► WATCH from the last version ─┐
 *                                              ▲                      │ end, 429, 500, reset, torn line, silence
 *                                              └─────── pause ◄───────┘
 * ```
 *
 * Only a version that the server no longer knows, or events in an order that cannot be, lead back to the list; every other failure resumes
 * where it stopped.
 */
export async function reflect<T extends KubeObject>(options: ReflectOptions<T>): Promise<void> {
  return new Reflector(options).run();
}

class Reflector<T extends KubeObject> {
  readonly #options: ReflectOptions<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #health: HealthKeeper;
  readonly #pace: ReturnType<typeof pacer>;
  /** The version up to which the sink has everything; undefined: list first. */
  #version: string | undefined;
  /** Streamed lists that broke, in a row; at two, pages for good. */
  #broken = 0;
  #streams: boolean;

  constructor(options: ReflectOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#health = options.health ?? healthKeeper(options.resource.kind, this.#clock);
    this.#pace = pacer(this.#random);
    this.#streams = options.initial !== 'pages';
  }

  async run(): Promise<void> {
    const { signal, onError } = this.#options;
    while (!signal.aborted) {
      let pause = 0;
      try {
        if (this.#version === undefined && !this.#streams) await this.#list();
        if (await this.#watch()) this.#pace.wentWell();
        else pause = this.#pace.afterFailure(undefined);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#fellBack(error)) continue;
        this.#health.failed(error);
        onError?.(error);
        const again = isExpired(error) || isUnusable(error);
        if (again) this.#version = undefined;
        pause = again ? this.#pace.beforeList(error) : this.#pace.afterFailure(error);
      }
      if (pause > 0) await this.#clock.sleep(pause, { signal }).catch(() => undefined);
    }
  }

  /** Whether this was the refusal of a streamed list: nothing is wrong, the collection is read by pages from now on. */
  #fellBack(error: unknown): boolean {
    if (this.#version !== undefined || !this.#streams || !(error instanceof ApiError)) return false;
    const refused = error.code === 'Invalid' || error.code === 'BadRequest';
    if (error.code === 'BrokenStream' || error.code === 'AnswerTooLarge') this.#broken += 1;
    this.#streams = !refused && this.#broken < 2 && error.code !== 'AnswerTooLarge';
    return refused;
  }

  async #list(): Promise<void> {
    const { client, resource, where, sink, signal } = this.#options;
    using dog = this.#watchdog('list', () => SILENCE);
    const items: T[] = [];
    let listed = '';
    let weight = 0;
    for await (const page of client.pages(resource, where, { signal: dog.signal })) {
      dog.heard();
      weight += page.weight ?? 0;
      if (weight > LIST_WEIGHT) throw this.#heavy();
      weight += OBJECT_WEIGHT * page.items.length;
      for (const item of page.items) items.push(sink.prepare?.(item) ?? item);
      listed = page.resourceVersion;
    }
    signal.throwIfAborted();
    sink.replace(items);
    this.#version = listed;
    this.#health.listed();
  }

  /** Reads one watch to its end; tells whether it was of use. Without a version it begins with the collection. */
  async #watch(): Promise<boolean> {
    const { client, resource, where, signal } = this.#options;
    const timeoutSeconds = Math.round(SHORTEST_WATCH + this.#random() * (LONGEST_WATCH - SHORTEST_WATCH));
    let initial: Map<string, T> | undefined = this.#version === undefined ? new Map() : undefined;
    const silence = SILENCE * (1 + this.#random() / 3);
    using dog = this.#watchdog('watch', () => (initial === undefined ? silence : LIST_SILENCE));
    const started = this.#clock.now();
    let weight = 0;
    let events = 0;
    let open = false;
    const opened = (): void => {
      dog.heard();
      if (!open) this.#health.opened();
      open = true;
    };
    const from = {
      resourceVersion: this.#version ?? '',
      timeoutSeconds,
      ...(initial === undefined ? {} : { initialEvents: true }),
      received: (bytes: number): void => {
        weight += bytes;
      },
      opened,
    };
    try {
      for await (const batch of client.watchBatches(resource, from, where, { signal: dog.signal })) {
        if (signal.aborted) return true;
        opened();
        events += batch.length;
        weight += OBJECT_WEIGHT * batch.length;
        for (const event of batch) {
          if (initial === undefined) this.#take(event);
          else if (this.#collect(event, initial)) initial = undefined;
        }
        if (initial === undefined) this.#pace.wentWell();
        else if (this.#clock.now() - started > LIST_DEADLINE || initial.size > MAX_LISTED || weight > LIST_WEIGHT)
          throw this.#endless();
      }
    } catch (error) {
      const quiet = dog.barked && open && events === 0 && initial === undefined;
      if (!quiet) throw error;
      await this.#checkVersion();
    }
    if (initial !== undefined) throw this.#unusable('BrokenStream', 'the streamed list ended before it was complete');
    return events > 0 || this.#clock.now() - started >= BRIEF;
  }

  /** Silence from the beginning has a third cause besides a quiet kind and a dead connection: the server's past is not ours. */
  async #checkVersion(): Promise<void> {
    const { client, resource, where, signal } = this.#options;
    if (client.reaches === undefined || this.#version === undefined) return;
    if (await client.reaches(resource, this.#version, where, { signal })) return;
    throw this.#unusable(
      'Expired',
      `the server has not reached version ${this.#version}: its data was restored from a backup`,
    );
  }

  /** Gathers a streamed list, which comes in no order of versions; true when it was complete and the sink has it. */
  #collect(event: WatchEvent<T>, items: Map<string, T>): boolean {
    if (event.type !== 'BOOKMARK') {
      const { namespace, name } = event.object.metadata;
      const id = `${namespace ?? ''}/${name}`;
      if (event.type === 'DELETED') items.delete(id);
      else items.set(id, this.#options.sink.prepare?.(event.object) ?? event.object);
      return false;
    }
    if (event.initialEventsEnd !== true) return false;
    this.#options.sink.replace([...items.values()]);
    this.#version = event.resourceVersion;
    this.#broken = 0;
    this.#health.listed();
    return true;
  }

  #take(event: WatchEvent<T>): void {
    const { sink } = this.#options;
    const version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
    const order = compareVersions(version, this.#version);
    const behind = order !== undefined && order <= 0;
    if (event.type === 'BOOKMARK') {
      if (!behind) this.#version = version;
      return;
    }
    if (behind) {
      // Repeated, which is harmless, or late: then to skip it would lose a change, and to take it could bring back what is gone.
      if (sink.knows?.(event.type, event.object) === false) {
        throw this.#unusable('Expired', `event ${version} came after ${this.#version}`);
      }
      return;
    }
    sink.change(event.type, event.object);
    // After the sink has it: a version beyond an event that was not taken would lose it.
    this.#version = version ?? this.#version;
  }

  #endless(): ApiError {
    this.#streams = false;
    return this.#unusable(
      'BrokenStream',
      `the streamed list did not end within ${LIST_DEADLINE / 1000} s, ${MAX_LISTED} objects and ${LIST_WEIGHT / 2 ** 20} MiB`,
    );
  }

  #heavy(): ApiError {
    const said = `the pages of the list are larger than ${LIST_WEIGHT / 2 ** 20} MiB together`;
    return new ApiError({ code: 'AnswerTooLarge', action: actionText('list', this.#options.resource), said });
  }

  #unusable(code: 'Expired' | 'BrokenStream', said: string): ApiError {
    return new ApiError({ code, action: actionText('watch', this.#options.resource), said });
  }

  #watchdog(verb: string, silence: () => number): ReturnType<typeof watchdog> {
    const action = actionText(verb, this.#options.resource);
    const error = (): ApiError =>
      new ApiError({
        code: 'BrokenStream',
        action,
        said: `the server was silent for ${Math.round(silence() / 1000)} s`,
      });
    return watchdog(silence, error, { clock: this.#clock, signal: this.#options.signal });
  }
}

/** An event that is too large to be read would be met again at every resumption; a list comes out behind it. */
function isUnusable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'AnswerTooLarge';
}
