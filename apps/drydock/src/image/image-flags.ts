import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { imageMirrors, mirrorPairs } from '../image-mirrors.ts';
import { type MarkKeyFlags, markKeyFlags, markKeySecret } from '../mark-keys.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';

/** Where images are, who leads, and what proves marks: as the operator is told it. */
export interface ImageFlags extends MarkKeyFlags {
  readonly imageMirror?: readonly string[];
  readonly imageMirrorsFile?: string;
  readonly cacheDir: string;
  readonly leaseNamespace: string;
  readonly vsphereProviderNamespace: string;
}

/** The same, once it was looked at. */
export interface ImagesTold
  extends Pick<ImageFlags, 'cacheDir' | 'leaseNamespace' | 'markKeySecret' | 'vsphereProviderNamespace'> {
  readonly locate: (location: string) => string;
}

/** Adds the flags. */
export function imageFlags(command: Command): Command {
  return markKeyFlags(command)
    .option('--image-mirror <from=to...>', 'read images whose address begins with from at to, http(s) or file')
    .option(
      '--image-mirrors-file <file>',
      'the same, one a line, also with user:password (or set DRYDOCK_IMAGE_MIRRORS)',
    )
    .option('--cache-dir <folder>', 'where downloaded images are kept', join(homedir(), '.cache', 'drydock', 'images'))
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .option(
      '--vsphere-provider-namespace <name>',
      'where Cluster API keeps the Secrets of VSphereClusterIdentities',
      'capv-system',
    );
}

/** Looks at the flags. Throws `UsageError`. */
export async function imagesOf(flags: ImageFlags): Promise<ImagesTold> {
  const { imageMirror, imageMirrorsFile: file, cacheDir, leaseNamespace, vsphereProviderNamespace } = flags;
  markKeySecret(flags.markKeySecret);
  const pairs = await mirrorPairs({ arguments: imageMirror, file, env: process.env });
  const { markKeySecret: secret } = flags;
  return { cacheDir, leaseNamespace, markKeySecret: secret, vsphereProviderNamespace, locate: imageMirrors(pairs) };
}
