import { hostname } from 'node:os';
import { Event, type ObjectReference } from '@drydock/api';
import type { Logger } from 'pino';
import type { Client } from '../client/client.ts';
import { apiVersionOf } from '../client/path.ts';
import { type Clock, microTime, systemClock } from '../clock.ts';
import { ApiError, isAlreadyExists, isNotFound } from '../errors.ts';
import type { KubeObject, Resource } from '../resource.ts';

/** One thing that happened. For transitions, not for states. */
export interface EventInput {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase word for why, such as `Switched`; at most 128 characters. */
  readonly reason: string;
  /** CamelCase word for what was being done, such as `PublishTemplate`; at most 128 characters. */
  readonly action: string;
  /** A sentence for people; cut at 1,024 bytes. */
  readonly note: string;
}

/** Writes events.k8s.io/v1 Events in the background. Events are best effort: what cannot be written is logged, never thrown. */
export interface EventRecorder extends AsyncDisposable {
  /** Never waits. The same event about the same object within six minutes becomes a series of one Event. */
  record<T extends KubeObject>(resource: Resource<T>, regarding: T, event: EventInput): void;
  /** Resolves when everything recorded so far was written or given up, open counts of series included. */
  flush(): Promise<void>;
}

/** How a recorder is made. */
export interface EventRecorderOptions {
  readonly client: Client;
  /** Qualified name of the controller, such as `drydock.dev/boot-images`. */
  readonly controller: string;
  /** This process; host name when absent. */
  readonly instance?: string;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** A series ends when nothing was added for so long (ms). */
const SERIES_IDLE = 6 * 60_000;
/** The count of a running series is written at most this often (ms); `flush` writes what is left. */
const SERIES_WRITE = 60_000;
const MOST_WAITING = 1_000;
const RETRY_AFTER = [500, 2_000, 8_000];
/** A name of the RFC 1123 kind, up to a dash or a dot that a cut has left at its end. */
const SUBDOMAIN = /^[a-z0-9]+(?:(?:-+|\.)[a-z0-9]+)*(?=[-.]*$)/;

interface Series {
  event: Event;
  count: number;
  last: number;
  lastDate: Date;
  written: number;
  writtenAt: number;
}

/** Makes a recorder. Disposing it flushes for at most five seconds. */
export function eventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  /** The one that was added to longest ago comes first. */
  readonly #series = new Map<string, Series>();
  readonly #end = new AbortController();
  #writes: Promise<void> = Promise.resolve();
  #waiting = 0;
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  record<T extends KubeObject>(resource: Resource<T>, regarding: T, input: EventInput): void {
    if (this.#end.signal.aborted) return;
    const now = this.#clock.now();
    const reference = referenceTo(resource, regarding);
    const id = [
      reference.kind,
      reference.namespace,
      reference.name,
      reference.uid,
      input.type,
      input.reason,
      input.action,
      input.note,
    ].join('\0');
    this.#forget(now);
    const known = this.#series.get(id);
    if (known === undefined) {
      const event = this.#event(reference, input);
      const lastDate = this.#clock.date();
      const series = { event, count: 1, last: now, lastDate, written: 1, writtenAt: Number.NEGATIVE_INFINITY };
      this.#series.set(id, series);
      this.#enqueue(() => this.#create(series));
      return;
    }
    this.#series.delete(id);
    this.#series.set(id, known);
    known.count++;
    known.last = now;
    known.lastDate = this.#clock.date();
    if (now - known.writtenAt >= SERIES_WRITE) this.#enqueueCount(known, now);
  }

  async flush(): Promise<void> {
    for (const series of this.#series.values()) {
      if (series.count > series.written) this.#enqueueCount(series, this.#clock.now());
    }
    await this.#writes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const end = new AbortController();
    const late = this.#clock.sleep(5_000, { signal: end.signal }).catch(() => undefined);
    await Promise.race([this.flush(), late]);
    end.abort();
    this.#end.abort();
    await this.#writes;
  }

  #forget(now: number): void {
    for (const [id, series] of this.#series) {
      if (now - series.last < SERIES_IDLE) return;
      if (series.count > series.written) this.#enqueueCount(series, now);
      this.#series.delete(id);
    }
  }

  #enqueueCount(series: Series, now: number): void {
    series.writtenAt = now;
    this.#enqueue(() => this.#count(series));
  }

  #enqueue(write: () => Promise<void>): void {
    if (this.#waiting >= MOST_WAITING) {
      if (this.#dropped++ === 0)
        this.#options.log.warn(
          { waiting: this.#waiting },
          'Events are dropped, because too many wait to be written. If this warning repeats, check the API server.',
        );
      return;
    }
    this.#waiting++;
    this.#writes = this.#writes.then(async () => {
      await this.#patiently(write);
      this.#waiting--;
      if (this.#waiting === 0) this.#dropped = 0;
    });
  }

  async #patiently(write: () => Promise<void>): Promise<void> {
    for (let tries = 0; !this.#end.signal.aborted; tries++) {
      try {
        await write();
        return;
      } catch (error) {
        if (this.#end.signal.aborted) return;
        const wait = RETRY_AFTER[tries];
        const again = error instanceof ApiError && error.retriable && wait !== undefined;
        if (!again) {
          this.#options.log.warn(
            { err: error },
            'An Event was not written; Drydock does not try again. If this warning repeats, follow the error.',
          );
          return;
        }
        await this.#clock
          .sleep(Math.max(wait, error.retryAfter ?? 0), { signal: this.#end.signal })
          .catch(() => undefined);
      }
    }
  }

  async #create(series: Series): Promise<void> {
    try {
      await this.#options.client.create(Event, series.event, { signal: this.#end.signal });
    } catch (error) {
      // Our own earlier attempt, whose answer was lost: names are unique.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async #count(series: Series): Promise<void> {
    const { count, lastDate, event } = series;
    if (count <= series.written) return;
    const patch = { series: { count, lastObservedTime: microTime(lastDate) } };
    const key = { name: event.metadata.name, namespace: event.metadata.namespace ?? 'default' };
    try {
      await this.#options.client.mergePatch(Event, key, patch, { signal: this.#end.signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // Events expire on the server; the story goes on in a new one.
      series.event = {
        ...event,
        ...patch,
        metadata: { ...event.metadata, name: this.#name(event.regarding?.name ?? '') },
      };
      await this.#create(series);
    }
    series.written = count;
  }

  #event(regarding: ObjectReference, input: EventInput): Event {
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      // The server wants events of cluster-scoped objects in `default`.
      metadata: { name: this.#name(regarding.name ?? ''), namespace: regarding.namespace ?? 'default' },
      eventTime: microTime(this.#clock.date()),
      reportingController: this.#options.controller,
      reportingInstance: (this.#options.instance ?? hostname()).slice(0, 128),
      type: input.type,
      reason: input.reason.slice(0, 128),
      action: input.action.slice(0, 128),
      note: cut(input.note, 1_024),
      regarding,
    };
  }

  #name(object: string): string {
    const random = Math.floor(Math.random() * 0x1_0000_0000);
    const suffix = `${this.#clock.date().getTime().toString(16)}${random.toString(16).padStart(8, '0')}`;
    // Names of some kinds (`system:node`) are no names for an Event.
    const stem = SUBDOMAIN.exec(object.slice(0, 252 - suffix.length))?.[0] ?? 'event';
    return `${stem}.${suffix}`;
  }
}

function referenceTo<T extends KubeObject>(resource: Resource<T>, { metadata }: T): ObjectReference {
  const { uid, namespace, resourceVersion } = metadata;
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name: metadata.name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** Cuts at a character, not inside one. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const whole = new TextDecoder().decode(Buffer.from(text).subarray(0, bytes - 3), { stream: true });
  return `${whole}…`;
}
