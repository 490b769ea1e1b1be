import type { Readable } from 'node:stream';
import { type Clock, systemClock } from '../clock.ts';
import { ApiError, errorOfStatus } from '../errors.ts';
import type { KubeObject, Resource } from '../resource.ts';
import type { Status } from '../status-object.ts';
import { chunksOf, MAX_LINE, tooLarge } from '../transport/body.ts';
import { connectionError } from '../transport/transport-errors.ts';
import type { WatchEvent } from './client.ts';
import { settled, unreadable } from './decode.ts';
import { HeavyJson } from './json-weight.ts';
import { parseObjects } from './managed-fields.ts';

const NEWLINE = 10;

/** Marks the bookmark after the last object of a streamed list (KEP-3157). */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Cuts a byte stream into lines. */
export interface LineFramer {
  /** The lines that this chunk completes. Throws AnswerTooLarge for a line of more than the limit, whether or not it ever ends. */
  push(chunk: Uint8Array): readonly string[];
  /** Throws BrokenStream if the stream ended inside a line. */
  end(): void;
}

/**
 * Frames on bytes, so that a character cut in two by a chunk boundary stays whole, and joins buffers only for a line that spans chunks. No generator: most
 * chunks are one line, and a step of an async generator costs more than that.
 */
export function lineFramer(action: string, limit: number = MAX_LINE): LineFramer {
  let parts: Uint8Array[] = [];
  let held = 0;
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      const lines: string[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        if (held + end - start > limit) throw tooLarge(action, 'an event', limit);
        if (parts.length > 0) lines.push(Buffer.concat([...parts, bytes.subarray(start, end)]).toString('utf8'));
        else if (end > start) lines.push(bytes.toString('utf8', start, end));
        parts = [];
        held = 0;
        start = end + 1;
      }
      if (start < bytes.length) {
        parts.push(bytes.subarray(start));
        held += bytes.length - start;
        if (held > limit) throw tooLarge(action, 'an event', limit);
      }
      return lines;
    },
    end() {
      if (parts.length > 0) throw broken(action, 'the stream ended in the middle of an event');
    },
  };
}

function broken(action: string, said: string, cause?: unknown): ApiError {
  return new ApiError({ code: 'BrokenStream', action, said, cause });
}

interface RawEvent {
  readonly type?: unknown;
  readonly object?: KubeObject & Status;
}

/** Decodes one line. A line that is not an event breaks the stream: skipping it would lose a change unnoticed. */
export function decodeEvent<T extends KubeObject>(line: string, resource: Resource<T>, action: string): WatchEvent<T> {
  let event: RawEvent | null;
  try {
    event = parseObjects<RawEvent | null>(line, (one) => [one?.object]);
  } catch (error) {
    if (error instanceof HeavyJson) throw unreadable(error, line, action);
    throw broken(action, 'a line of the stream is not JSON');
  }
  const object = event?.object;
  if (typeof object !== 'object' || object === null) throw broken(action, 'a line of the stream is not an event');
  switch (event?.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (typeof object.metadata?.name !== 'string') throw broken(action, 'an event carries no object');
      return { type: event.type, object: settled(object as unknown as T, resource, action) };
    case 'BOOKMARK': {
      const resourceVersion = object.metadata?.resourceVersion;
      if (typeof resourceVersion !== 'string') throw broken(action, 'a bookmark carries no resourceVersion');
      const ends = object.metadata?.annotations?.[INITIAL_EVENTS_END] === 'true';
      return { type: 'BOOKMARK', resourceVersion, ...(ends ? { initialEventsEnd: true } : {}) };
    }
    case 'ERROR':
      throw errorOfStatus(object, 500, { action });
    default:
      throw broken(action, 'an event is of unknown type');
  }
}

/** What reading one watch needs. */
export interface ReadWatch<T extends KubeObject> {
  /** Opens it. */
  readonly open: () => Promise<Readable>;
  readonly resource: Resource<T>;
  readonly action: string;
  readonly origin: string;
  /** Longest life of the watch (ms): a peer that vanished is noticed at the latest now. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly maxLine?: number | undefined;
  readonly received?: ((bytes: number) => void) | undefined;
}

/** Opens a watch and yields its events, those that came together in one list. Leaving the loop closes the connection. */
export async function* readWatch<T extends KubeObject>(
  watch: ReadWatch<T>,
): AsyncGenerator<readonly WatchEvent<T>[], void> {
  const { action, resource, signal } = watch;
  const stream = await watch.open();
  const over = new AbortController();
  (watch.clock ?? systemClock).sleep(watch.deadline, { background: true, signal: over.signal }).then(
    () => stream.destroy(broken(action, 'the server did not end the watch in time')),
    () => undefined,
  );
  const framer = lineFramer(action, watch.maxLine);
  try {
    for await (const chunks of chunksOf(stream)) {
      const events: WatchEvent<T>[] = [];
      let failure: { readonly error: unknown } | undefined;
      try {
        for (const chunk of chunks) {
          watch.received?.(chunk.length);
          for (const line of framer.push(chunk)) events.push(decodeEvent(line, resource, action));
        }
      } catch (error) {
        failure = { error };
      }
      // What came before it is whole.
      if (events.length > 0) yield events;
      if (failure !== undefined) throw failure.error;
    }
    framer.end();
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof ApiError ? error : connectionError(error, action, watch.origin);
  } finally {
    over.abort();
    stream.destroy();
  }
}
