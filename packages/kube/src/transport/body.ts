import type { Readable } from 'node:stream';
import { ApiError } from '../errors.ts';

/** Bounds of what a server may send, in bytes. */
export interface AnswerBounds {
  /** One answer's body. Default 64 MiB; JSON.parse of that blocks for about 0.3 s. */
  readonly maxBody?: number;
  /** One event of a watch. Default 16 MiB, ten times what etcd stores by default. */
  readonly maxLine?: number;
}

export const MAX_BODY: number = 64 * 2 ** 20;
export const MAX_LINE: number = 16 * 2 ** 20;

/** The error for an answer beyond its bound. */
export function tooLarge(action: string, what: string, limit: number): ApiError {
  return new ApiError({ code: 'AnswerTooLarge', action, said: `${what} is larger than ${limit} bytes`, status: 200 });
}

/**
 * A body as text, of at most `limit` bytes: beyond that the connection is cut and the call fails with AnswerTooLarge, or, with `cut`, what came so
 * far is the text.
 */
export function bodyText(body: Readable, limit: number, action: string, cut: 'cut' | 'fail' = 'fail'): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const text = (): string => (chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))?.toString('utf8') ?? '';
    body.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) {
        chunks.push(chunk);
        return;
      }
      const error = tooLarge(action, 'the answer', limit);
      if (cut === 'cut') resolve(text());
      else reject(error);
      body.destroy(error);
    });
    body.on('end', () => resolve(text()));
    body.on('error', reject);
    body.on('close', () =>
      reject(
        new ApiError({ code: 'Connection', action, said: 'the connection was closed in the middle of the answer' }),
      ),
    );
  });
}
