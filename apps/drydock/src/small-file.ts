import { open } from 'node:fs/promises';

/** The text of a file that is small when it is what it should be. One that has more bytes is refused before they are read: it may be a device, which has no end. */
export async function readSmallFile(path: string, most: number): Promise<string> {
  const file = await open(path);
  try {
    const buffer = Buffer.alloc(most + 1);
    let length = 0;
    for (let read = 1; read > 0 && length <= most; length += read)
      ({ bytesRead: read } = await file.read(buffer, length, most + 1 - length));
    if (length > most) throw new RangeError(`it has more than ${most} bytes`);
    return buffer.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}
