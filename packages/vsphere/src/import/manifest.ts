import { VimError } from '../errors.ts';
import { foreignText } from '../foreign-text.ts';
import type { LeaseFile, ManifestEntry } from '../vcenter.ts';
import { childText, elements, type XmlElement } from '../xml/xml.ts';

/** What was sent for one file of a lease. Digests are lower-case hex. */
export interface SentFile {
  readonly file: LeaseFile;
  readonly size: number;
  readonly sha1: string;
  readonly sha256: string;
}

/** Reads the answer of HttpNfcLeaseGetManifest. */
export function readManifest(answer: XmlElement): readonly ManifestEntry[] {
  return elements(answer, 'returnval').map((entry) => {
    const sha1 = said(entry, 'sha1');
    const checksum = said(entry, 'checksum');
    const checksumType = said(entry, 'checksumType');
    return {
      key: childText(entry, 'key') ?? '',
      ...(sha1 === undefined || sha1 === '' ? {} : { sha1: sha1.toLowerCase() }),
      ...(checksum === undefined || checksum === '' ? {} : { checksum: checksum.toLowerCase() }),
      ...(checksumType === undefined || checksumType === '' ? {} : { checksumType }),
    };
  });
}

/**
 * Compares what was sent with what the server received: the only check of an upload, since Complete accepts half a disk. Checksums alone decide. The API
 * describes the manifest for downloads ("Size of the downloaded file"), so that after an upload a size may be another one, and an entry missing.
 * The first difference is a `VimError` of code `VIM_DIGEST_MISMATCH` that names the file and both sums.
 */
export function checkManifest(sent: readonly SentFile[], manifest: readonly ManifestEntry[]): void {
  const entryOf = new Map(manifest.map((entry) => [entry.key, entry]));
  for (const { file, sha1, sha256 } of sent) {
    const entry = entryOf.get(file.key);
    if (entry === undefined) continue;
    if (entry.sha1 !== undefined && entry.sha1 !== sha1)
      throw mismatch(file, `SHA-1 ${sha1} was sent, the server received ${entry.sha1}`);
    if (entry.checksum === undefined) continue;
    const type = (entry.checksumType ?? '').toUpperCase().replaceAll('-', '');
    const ours = type === 'SHA256' ? sha256 : type === 'SHA1' ? sha1 : undefined;
    if (ours !== undefined && entry.checksum !== ours)
      throw mismatch(file, `${type} ${ours} was sent, the server received ${entry.checksum}`);
  }
}

function said(entry: XmlElement, name: string): string | undefined {
  const value = childText(entry, name);
  return value === undefined ? undefined : foreignText(value);
}

function mismatch(file: LeaseFile, what: string): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_DIGEST_MISMATCH',
    op: 'HttpNfcLeaseGetManifest',
    message: `${file.path}: ${what}`,
    retriable: true,
  });
}
