import { checkManifest, isVimError, type ManifestEntry, type SentFile } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';
import type { ManifestSum } from './ova.ts';

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

function mismatch(message: string, cause?: unknown): TemplateError {
  return new TemplateError({ code: 'DIGEST_MISMATCH', message, retriable: true, cause });
}
