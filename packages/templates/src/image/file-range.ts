import { constants, type FileHandle, open, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { TemplateError } from '../errors.ts';

/** The chunk that gave the highest rate of those tried: 64 KiB 581 MiB/s, 256 KiB 883, 1 MiB 809. */
const CHUNK = 256 * 1024;
/** The reader's, the stream's and the one that is being filled. */
const BUFFERS = 3;

/**
 * Opens a file for reading, and nothing else: a FIFO would wait for somebody who writes, and a device has no end. Fails with `OVA_INVALID`, and as the system
 * does.
 */
export async function openFile(path: string): Promise<FileHandle> {
  const refused = new TemplateError({ code: 'OVA_INVALID', message: `${path} is no OVA: it is not a file` });
  // Before, because opening alone does something to some devices; and after, because it may be another by then.
  if (!(await stat(path)).isFile()) throw refused;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw refused;
}

/**
 * Streams `size` bytes of a file from `offset` in chunks of 256 KiB, reading one chunk ahead. A chunk is valid until the next one is taken: three
 * buffers are used in turn, where fresh ones would wait for the garbage collector by the hundred. The file stays open. A file that ends
 * early gives fewer bytes.
 */
export function fileRange(file: FileHandle, offset: number, size: number): Readable {
  const buffers: Buffer[] = [];
  let turn = 0;
  let done = 0;
  return new Readable({
    // One chunk waits at most; see BUFFERS.
    highWaterMark: 1,
    read() {
      const length = Math.min(CHUNK, size - done);
      if (length === 0) {
        this.push(null);
        return;
      }
      buffers[turn] ??= Buffer.allocUnsafeSlow(CHUNK);
      const buffer = buffers[turn] as Buffer;
      turn = (turn + 1) % BUFFERS;
      file.read(buffer, 0, length, offset + done).then(
        ({ bytesRead }) => {
          done += bytesRead;
          this.push(bytesRead === 0 ? null : buffer.subarray(0, bytesRead));
        },
        (error: Error) => this.destroy(error),
      );
    },
  });
}
