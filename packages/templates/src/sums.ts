import type { LeaseFile, ManifestEntry } from '@drydock/vsphere';
import { TemplateError } from './errors.ts';
import type { ManifestSum } from './ova.ts';

/** What one upload sent. Digests are lower-case hex. */
export interface Sent {
  readonly file: LeaseFile;
  readonly size: number;
  readonly sha1: string;
  readonly sha256: string;
}

/**
 * Whether what was sent is what the OVA's manifest names, and what vCenter acknowledges is what was sent (VS-W98). vCenter completes a lease whatever
 * arrived, so only this tells a whole disk from half of one. Fails with `DIGEST_MISMATCH`, naming the file and both sums.
 */
export function checkSums(
  sent: readonly Sent[],
  expected: ReadonlyMap<string, ManifestSum>,
  acknowledged: readonly ManifestEntry[],
): void {
  for (const one of sent) {
    const { path } = one.file;
    const wanted = expected.get(path);
    if (wanted !== undefined && wanted.algorithm !== 'sha512') {
      compare(path, wanted.algorithm, 'the manifest of the OVA says', wanted.sum, one[wanted.algorithm]);
    }
    const entry = acknowledged.find(({ key }) => key === one.file.key);
    if (entry === undefined) throw mismatch(`vCenter does not acknowledge ${path}`);
    if (entry.size !== one.size)
      throw mismatch(`${path}: vCenter acknowledges ${entry.size} bytes, but ${one.size} were sent`);
    if (entry.sha1 !== undefined && entry.sha1 !== '') compare(path, 'sha1', 'vCenter says', entry.sha1, one.sha1);
    if (entry.checksum !== undefined && entry.checksumType?.toUpperCase() === 'SHA256') {
      compare(path, 'sha256', 'vCenter says', entry.checksum, one.sha256);
    }
  }
}

function compare(path: string, algorithm: string, who: string, theirs: string, ours: string): void {
  if (theirs.toLowerCase() !== ours) throw mismatch(`${path}: ${who} ${algorithm} ${theirs}, but ${ours} was sent`);
}

function mismatch(message: string): TemplateError {
  return new TemplateError({ code: 'DIGEST_MISMATCH', message, retriable: true });
}
