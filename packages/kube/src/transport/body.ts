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
