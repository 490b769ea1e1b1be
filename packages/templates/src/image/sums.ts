import { createHash } from 'node:crypto';
import { checkManifest, foreignText, isVimError, type ManifestEntry, type SentFile } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';
import type { ManifestSum, OpenOva } from './ova.ts';

/**
 * Whether what was sent is what the OVA's manifest names, and what vCenter acknowledges is what was sent (VS-W98). vCenter completes a lease whatever
 * arrived, so only this tells a whole disk from half of one. Fails with `DIGEST_MISMATCH`, naming the file and both values.
 */
export function checkSums(
  sent: readonly SentFile[],
  expected: ReadonlyMap<string, ManifestSum>,
  acknowledged: readonly ManifestEntry[],
): void {
  for (const one of sent) {
    const { path } = one.file;
    const wanted = expected.get(path);
    if (wanted === undefined || wanted.algorithm === 'sha512' || wanted.sum === one[wanted.algorithm]) continue;
    const { algorithm, sum } = wanted;
    throw mismatch(`${path}: the manifest of the OVA says ${algorithm} ${sum}, but ${one[algorithm]} was sent`);
  }
  try {
    checkManifest(sent, acknowledged);
  } catch (cause) {
    if (isVimError(cause, 'VIM_DIGEST_MISMATCH')) throw mismatch(cause.message, cause);
    throw cause;
  }
}

/** Holds the members of an OVA against its manifest while somebody reads the file from its beginning for another reason. */
export interface ManifestCheck {
  /** The next bytes of the file. */
  update(chunk: Uint8Array): void;
  /** At the end of the file: fails with `DIGEST_MISMATCH`, naming the member and both sums. */
  verify(): void;
}

/** A check of an OVA that is about to be read whole: what its manifest says wrong is seen before a byte of it is sent. */
export function manifestCheck({ manifest, members }: Pick<OpenOva, 'manifest' | 'members'>): ManifestCheck {
  const open = members.flatMap(({ name, offset, size }) => {
    const wanted = manifest.get(name);
    return wanted === undefined ? [] : [{ name, offset, size, wanted, hash: createHash(wanted.algorithm) }];
  });
  let position = 0;
  return {
    update: (chunk) => {
      for (const { hash, offset, size } of open) {
        const from = Math.max(offset - position, 0);
        const to = Math.min(offset + size - position, chunk.length);
        if (from < to) hash.update(chunk.subarray(from, to));
      }
      position += chunk.length;
    },
    verify: () => {
      for (const { hash, name, wanted } of open) {
        const sum = hash.digest('hex');
        if (sum === wanted.sum) continue;
        const message = `${foreignText(name)}: the manifest of the OVA says ${wanted.algorithm} ${wanted.sum}, but it has ${sum}`;
        throw new TemplateError({ code: 'DIGEST_MISMATCH', message });
      }
    },
  };
}

function mismatch(message: string, cause?: unknown): TemplateError {
  return new TemplateError({ code: 'DIGEST_MISMATCH', message, retriable: true, cause });
}
