import type { BootImagePolicySpec } from '@drydock/api';

/** Failures of an image that whoever says where it is can put right. */
const OF_THE_ENTRY: ReadonlySet<string> = new Set([
  ...['DownloadFailed', 'DigestMismatch', 'OvaInvalid', 'OvaUnsupported'],
  ...['LibraryItemMissing', 'LibraryItemAmbiguous', 'LibraryItemUnusable'],
]);

/**
 * What to do next about an image that could not be had, where the catalogue of a policy says where it is: the advice of who looked for it, and where the entry is. Without a
 * catalogue, and for other failures, the advice as it is.
 */
export function entryAdvice(
  reason: string,
  nextStep: string | undefined,
  policy: { readonly name: string; readonly spec: BootImagePolicySpec | undefined } | undefined,
): string | undefined {
  if (policy?.spec?.image?.catalogue === undefined || !OF_THE_ENTRY.has(reason)) return nextStep;
  const entry = `The entry is in spec.image.catalogue: kubectl edit bootimagepolicy ${policy.name}`;
  return nextStep === undefined ? entry : `${nextStep} ${entry}`;
}
