import { finished, type Readable } from 'node:stream';
import { ApiError } from '../errors.ts';

/** Bounds of what a server may send, in bytes. */
export interface AnswerBounds {
  /** One answer's body. Default 64 MiB; JSON.parse of that blocks for about 0.3 s. */
  readonly maxBody?: number;
  /** One event of a watch. Default 16 MiB, ten times what etcd stores by default. */
  readonly maxLine?: number;
  /** Objects of one list, over all its pages. Default 1,000,000, ten times what a large cluster has of any kind. */
  readonly maxListed?: number;
}

export const MAX_BODY: number = 64 * 2 ** 20;
export const MAX_LISTED: number = 1_000_000;
export const MAX_LINE: number = 16 * 2 ** 20;

/** The error for an answer beyond its bound. */
export function tooLarge(action: string, what: string, limit: number): ApiError {
  return new ApiError({ code: 'AnswerTooLarge', action, said: `${what} is larger than ${limit} bytes`, status: 200 });
}

/** The first bytes of a body as text, at least `enough` of them where there are as many; the rest is not waited for. */
export async function beginningOf(body: Readable, enough: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= enough) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** So many bytes may wait for their reader before the server is made to wait. */
const MAX_HELD = 1 << 20;

/**
 * Reads a body by all that has come since the last step. Throws what ended it early. A stream's own iterator takes several turns of the event loop for
 * each chunk, which is a tenth of what an event of a watch costs. It leaves the stream to be destroyed by the caller.
 */
export async function* chunksOf(body: Readable): AsyncGenerator<readonly Uint8Array[], void> {
  let chunks: Uint8Array[] = [];
  let held = 0;
  let end: { readonly error: Error | null | undefined } | undefined;
  let wake: (() => void) | undefined;
  body.on('data', (chunk: Uint8Array) => {
    chunks.push(chunk);
    held += chunk.length;
    if (held > MAX_HELD) body.pause();
    wake?.();
  });
  // It keeps listening for errors, too, that come after the reader has left.
  finished(body, { writable: false }, (error) => {
    end = { error };
    wake?.();
  });
  for (;;) {
    if (end?.error) throw end.error;
    if (chunks.length > 0) {
      const taken = chunks;
      chunks = [];
      held = 0;
      yield taken;
      if (body.isPaused()) body.resume();
    } else if (end !== undefined) return;
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
}
