import { createHash, type Hash } from 'node:crypto';
import type { FileSink } from '@drydock/durable';
import { isVimError, type Libraries, type LibraryDownload, type LibraryFile } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';
import { type FetchOptions, writeAll } from './fetch.ts';
import { findItem, itemFailure, type LibraryImage } from './library-item.ts';
import { ustarEnd, ustarHeader, ustarPadding, ustarSize } from './ustar.ts';

const HOUR_MS = 3_600_000;
/** A connection that breaks costs its file anew, so often in a row. */
const MOST_ATTEMPTS = 3;

/** What is written so far. */
interface Written {
  hash: Hash;
  size: number;
}

/**
 * Writes an item of a content library into `file` as one OVA, and computes its SHA-256 on the way: as it is where it is one, else as ustar with the descriptor first and the other files by name, each with mode 0644, owner and
 * time 0, so that equal files give equal bytes. Each file has to have the size and the checksum that the library lists. Fails with `DOWNLOAD_FAILED`, `DIGEST_MISMATCH` and what {@link findItem} fails with.
 */
export async function fetchItem(
  libraries: Libraries | undefined,
  location: string,
  file: FileSink,
  options: Pick<FetchOptions, 'onBytes' | 'room' | 'deadlineMs' | 'signal'> = {},
): Promise<{ readonly sha256: string; readonly size: number }> {
  const deadline = AbortSignal.timeout(options.deadlineMs ?? HOUR_MS);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  const item = await findItem(libraries, location, { signal });
  const written: Written = { hash: createHash('sha256'), size: 0 };
  const total = sizeOfItem(item);
  const put = async (bytes: Uint8Array): Promise<void> => {
    await options.room?.received(written.size + bytes.length);
    written.hash.update(bytes);
    await writeAll(file, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), written.size, location);
    written.size += bytes.length;
    options.onBytes?.(written.size, total);
  };
  try {
    await options.room?.announced(total);
    await using download = await (libraries as Libraries).download(item.id, { signal });
    for (const one of item.files) {
      if (!item.whole) await put(ustarHeader(one.name, one.size));
      await member(download, one, written, put, { item, signal });
      if (!item.whole) await put(ustarPadding(one.size));
    }
    if (!item.whole) await put(ustarEnd(written.size));
    return { sha256: written.hash.digest('hex'), size: written.size };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (deadline.aborted)
      throw new TemplateError({
        ...{ code: 'DOWNLOAD_FAILED', retriable: true, cause: error },
        message: `failed to download ${item.text}: it took too long`,
      });
    throw itemFailure(item.text, error);
  }
}

/** Bytes of the OVA that {@link fetchItem} writes. */
export function sizeOfItem({ files, whole }: LibraryImage): number {
  return whole ? (files[0]?.size ?? 0) : ustarSize(files.map(({ size }) => size));
}

/** One file; a connection that breaks is begun anew, with its file. */
async function member(
  download: LibraryDownload,
  file: LibraryFile,
  written: Written,
  put: (bytes: Uint8Array) => Promise<void>,
  { item, signal }: { readonly item: LibraryImage; readonly signal: AbortSignal },
): Promise<void> {
  const [hash, size] = [written.hash.copy(), written.size];
  for (let attempts = 1; ; attempts += 1) {
    const sum = file.checksum && createHash(file.checksum.algorithm);
    try {
      for await (const chunk of download.read(file, { signal })) {
        sum?.update(chunk);
        await put(chunk);
      }
    } catch (error) {
      if (!isVimError(error) || !error.retriable || signal.aborted || attempts === MOST_ATTEMPTS) throw error;
      written.hash = hash.copy();
      written.size = size;
      continue;
    }
    const actual = sum?.digest('hex');
    if (actual === undefined || file.checksum === undefined || actual === file.checksum.sum) return;
    const { algorithm, sum: wanted } = file.checksum;
    throw new TemplateError({
      code: 'DIGEST_MISMATCH',
      message: `file ${file.name} of ${item.text} has ${algorithm} ${actual}, but the library says ${wanted}`,
    });
  }
}
