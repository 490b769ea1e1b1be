import type { Readable } from 'node:stream';

/** An answer went on beyond its bound. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** The text of a body of at most so many bytes; what comes after them is not waited for. Rejects with {@link TooLarge}, or with what ended the body early. */
export async function bodyOf(body: Readable, bytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytes) throw new TooLarge();
      chunks.push(chunk);
    }
  } finally {
    // Giving up a body makes it report an error to nobody.
    body.on('error', () => undefined);
    body.destroy();
  }
  return Buffer.concat(chunks).toString('utf8');
}
