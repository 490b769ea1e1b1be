import type { ImportedDescriptor } from './imports.ts';

/** Reads a descriptor as the server does. */
export function importedDescriptor(text: string): ImportedDescriptor {
  const attributeOf = (tag: string, name: string): string | undefined =>
    new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
  const disks = new Set([...text.matchAll(/<Disk\b[^>]*>/g)].map(([tag]) => attributeOf(tag, 'ovf:fileRef')));
  const version = /<Version>([^<]*)<\/Version>/.exec(text)?.[1];
  return {
    networks: [...text.matchAll(/<Network\b[^>]*>/g)].map(([tag]) => attributeOf(tag, 'ovf:name') ?? ''),
    ...(version === undefined ? {} : { productVersion: version }),
    secureBoot: /efiSecureBootEnabled"[^>]*="true"|efiSecureBootEnabled" vmw:value="true"/.test(text),
    files: [...text.matchAll(/<File\b[^>]*>/g)].map(([tag]) => {
      const size = attributeOf(tag, 'ovf:size');
      return {
        path: attributeOf(tag, 'ovf:href') ?? '',
        ...(size === undefined ? {} : { size: Number(size) }),
        isDisk: disks.has(attributeOf(tag, 'ovf:id')),
      };
    }),
  };
}
