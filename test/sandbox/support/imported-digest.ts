import { BIRTH_KEY, CONTENT_KEY } from '@drydock/templates';

/** SHA-256 of the image that a finished import has, as its extraConfig says; undefined where there is no finished import. */
export function importedDigest(extraConfig: Readonly<Record<string, string>>): string | undefined {
  if (extraConfig[CONTENT_KEY] === undefined) return undefined;
  return (JSON.parse(extraConfig[BIRTH_KEY] ?? '{}') as { readonly digest?: string }).digest;
}
