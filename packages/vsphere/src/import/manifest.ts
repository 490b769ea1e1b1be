import { VimError } from '../errors.ts';
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
    const sha1 = childText(entry, 'sha1');
    const checksum = childText(entry, 'checksum');
    const checksumType = childText(entry, 'checksumType');
    return {
      key: childText(entry, 'key') ?? '',
      ...(sha1 === undefined || sha1 === '' ? {} : { sha1: sha1.toLowerCase() }),
      ...(checksum === undefined || checksum === '' ? {} : { checksum: checksum.toLowerCase() }),
      ...(checksumType === undefined || checksumType === '' ? {} : { checksumType }),
      size: Number(childText(entry, 'size') ?? Number.NaN),
    };
  });
}

/**
 * Compares what was sent with what the server stored: the only check of an upload, since Complete accepts half a disk. Every sent file must be there with its size and
 * each digest that the server gives. The first difference is a `VimError` of code `VIM_DIGEST_MISMATCH` that names the file and both values.
 */
export function checkManifest(sent: readonly SentFile[], manifest: readonly ManifestEntry[]): void {
  for (const { file, size, sha1, sha256 } of sent) {
    const entry = manifest.find((candidate) => candidate.key === file.key);
    if (entry === undefined) throw mismatch(file, 'the server has not stored it at all');
    if (entry.size !== size) throw mismatch(file, `${size} bytes were sent, the server stored ${entry.size}`);
    if (entry.sha1 !== undefined && entry.sha1 !== sha1)
      throw mismatch(file, `SHA-1 ${sha1} was sent, the server stored ${entry.sha1}`);
    if (entry.checksum === undefined) continue;
    const type = (entry.checksumType ?? '').toUpperCase().replaceAll('-', '');
    const ours = type === 'SHA256' ? sha256 : type === 'SHA1' ? sha1 : undefined;
    if (ours !== undefined && entry.checksum !== ours)
      throw mismatch(file, `${type} ${ours} was sent, the server stored ${entry.checksum}`);
  }
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
