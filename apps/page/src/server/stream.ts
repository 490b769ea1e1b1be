import type { ServerResponse } from 'node:http';
import type { FeedMessage } from './feed.ts';

/** How a stream is kept. */
export interface StreamOptions {
  /** Asked now and then. */
  readonly admitted: () => Promise<boolean>;
  readonly onEnd: () => void;
}

/** One reader's server-sent events (HTML standard, 9.2). Disposal ends it. */
export interface Stream extends Disposable {
  /** Sends what the subscription says until the reader leaves. */
  follow(subscribe: (send: (message: FeedMessage) => void) => Disposable): void;
}

/** A reader that hears nothing for three times as long knows that the stream is gone, and so do proxies. */
const HEARTBEAT_MS = 5000;
/** Heartbeats between two looks at whether the reader may still read. */
const ASKED_EVERY = 12;
/** A reader that takes nothing keeps so many bytes waiting at most; then it has to come again. */
const MOST_WAITING = 8 * 2 ** 20;

/** Begins the answer of a stream. */
export function stream(response: ServerResponse, { admitted, onEnd }: StreamOptions): Stream {
  let subscription: Disposable | undefined;
  let beats = 0;
  let ended = false;
  response.statusCode = 200;
  response.setHeader('content-type', 'text/event-stream; charset=utf-8');
  response.setHeader('cache-control', 'no-store, no-transform');
  response.setHeader('x-accel-buffering', 'no');
  response.write('retry: 2000\n\n');
  const beat = setInterval(() => {
    beats += 1;
    write(': beat\nevent: beat\ndata: {}\n\n');
    if (beats % ASKED_EVERY === 0)
      admitted().then(
        (still) => (still ? undefined : end()),
        () => end(),
      );
  }, HEARTBEAT_MS);
  beat.unref();

  function end(): void {
    if (ended) return;
    ended = true;
    clearInterval(beat);
    subscription?.[Symbol.dispose]();
    onEnd();
    response.destroy();
  }

  function write(text: string): void {
    if (ended) return;
    response.write(text);
    if (response.writableLength > MOST_WAITING) end();
  }

  response.on('close', end);
  return {
    follow: (subscribe) => {
      subscription = subscribe((message) => {
        const id = 'id' in message ? `id: ${message.id}\n` : '';
        write(`${id}event: ${message.event}\ndata: ${JSON.stringify(message.data)}\n\n`);
      });
      if (ended) subscription[Symbol.dispose]();
    },
    [Symbol.dispose]: end,
  };
}
