import { exactText } from '@drydock/kube/testing/api-server';
import type { WireResponse } from './https-listener.ts';
import type { ObjectServer, ObjectsRequest, WatchEvent } from './objects.ts';
import { JSON_TYPE } from './wire-answer.ts';

/** Turns the objects of events into the form that the client asked for; undefined for the objects as they are. */
export type EventForm = ((object: Readonly<Record<string, unknown>>) => object) | undefined;

/** How much a client may leave unread (bytes) before its watch is cut, as a server does that must not keep the past for it. */
const UNREAD_LIMIT = 64 * 1024 * 1024;

/** Lines of events by the event, which all watchers of a kind share. */
const lines = new WeakMap<object, string>();

/** Answers with a stream of events. Rejects with `RequestRefused` where there is none; resolves when the stream has ended. */
export async function streamWatch(
  objects: Pick<ObjectServer, 'watch'>,
  request: ObjectsRequest,
  response: WireResponse,
  form: EventForm,
  begun: () => void,
): Promise<void> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const writable = response as { write(chunk: string): boolean; end(): void; readonly writableLength: number };
  let started = false;
  let batch = '';
  const flush = (): void => {
    if (batch === '' || response.destroyed) return;
    const text = batch;
    batch = '';
    writable.write(text);
    if (writable.writableLength > UNREAD_LIMIT) response.destroy();
  };
  const start = (): void => {
    if (started) return;
    started = true;
    response.statusCode = 200;
    response.setHeader('cache-control', 'no-cache, private');
    response.setHeader('content-type', JSON_TYPE);
    begun();
    if ('flushHeaders' in response) response.flushHeaders();
  };
  let scheduled = false;
  const listener = {
    event: (event: WatchEvent): void => {
      batch +=
        form === undefined || event.type === 'ERROR'
          ? lineOf(event)
          : `${exactText({ type: event.type, object: form(event.object) })}\n`;
      if (scheduled || !started) return;
      scheduled = true;
      // Events of one turn leave in one write.
      queueMicrotask(() => {
        scheduled = false;
        flush();
      });
    },
    end: (): void => {
      if (started) {
        flush();
        writable.end();
      }
      end();
    },
  };
  response.once('close', () => end());
  const watch = await objects.watch(request, listener);
  try {
    if (response.destroyed) return;
    start();
    flush();
    await ended;
    // It may have ended before the headers were out.
    flush();
    if (!response.destroyed && !response.writableEnded) writable.end();
  } finally {
    watch[Symbol.dispose]();
  }
}

function lineOf(event: WatchEvent): string {
  const known = lines.get(event);
  if (known !== undefined) return known;
  const line = `${exactText(event)}\n`;
  lines.set(event, line);
  return line;
}
