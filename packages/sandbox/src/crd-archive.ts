import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** Text of each CRD file, by the name of its set's folder (`openshift-4.21@v0.0.0-…`) and its own. */
export type CrdArchive = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The sets of `CRD_SETS`, so that neither Go nor a network is needed for them. `npm run generate` writes it from the pinned Go modules. */
const ARCHIVE = join(import.meta.dirname, 'crd-sets.json.br');

/** Three times what the archive holds, bytes. */
const MAX_BYTES = 10_000_000;

let read: CrdArchive | undefined;

/** The archive of this version of the sandbox. */
export function crdArchive(): CrdArchive {
  read ??= JSON.parse(
    brotliDecompressSync(readFileSync(ARCHIVE), { maxOutputLength: MAX_BYTES }).toString('utf8'),
  ) as CrdArchive;
  return read;
}

/** Replaces the archive. The sets share much of their text, so the window spans all of it. */
export function writeCrdArchive(archive: CrdArchive): void {
  const text = Buffer.from(JSON.stringify(archive));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  };
  writeFileSync(ARCHIVE, brotliCompressSync(text, { params }));
}
