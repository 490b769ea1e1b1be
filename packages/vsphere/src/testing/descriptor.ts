import { readOvf } from '../import/ovf.ts';
import type { ImportedDescriptor } from './imports.ts';

/** Reads a descriptor as the server does. */
export function importedDescriptor(text: string): ImportedDescriptor {
  const ovf = readOvf(text);
  const disks = new Set(ovf.disks.map((disk) => disk.file?.id));
  return {
    networks: ovf.networks,
    ...(ovf.product?.version === undefined ? {} : { productVersion: ovf.product.version }),
    secureBoot: ovf.secureBoot ?? false,
    files: ovf.files.map((file) => ({
      path: file.href,
      ...(file.size === undefined ? {} : { size: file.size }),
      isDisk: disks.has(file.id),
    })),
  };
}
