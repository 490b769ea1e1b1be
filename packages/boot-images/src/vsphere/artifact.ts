import { addressText } from '@drydock/api/text';
import { BootImageError } from '../errors.ts';
import type { DiskArtifact } from '../observe/stream.ts';
import type { PlatformInput } from '../platform.ts';

/** A release, and where its OVA is, or why none may be made of it. */
export interface WantedImage {
  readonly release: string;
  readonly disk: DiskArtifact | BootImageError;
}

/** What the stream asks for on vSphere. Throws `StreamInvalid`. */
export function artifactOf(input: PlatformInput): WantedImage {
  const { stream, architecture } = input;
  const prefix = `${stream.name}/${architecture}`;
  const nextStep = 'use a stream with a vmware OVA for this architecture (x86_64 only), or opt the set out';
  const release = stream.release(architecture, 'vmware');
  if (release === undefined) {
    throw new BootImageError('StreamInvalid', `${prefix}: artifact 'vmware' not found`, { retriable: false, nextStep });
  }
  if (stream.inPlaceOnly !== undefined) return { release, disk: stream.inPlaceOnly };
  const disk = stream.disk(architecture, 'vmware', 'ova');
  if (disk === undefined) {
    throw new BootImageError('StreamInvalid', `${prefix}: artifact 'vmware' has no ova disk`, {
      retriable: false,
      nextStep,
    });
  }
  // Whoever may write the ConfigMap says which file of the internet is read, and none of the operator's own.
  if (disk.libraryItem !== true && !/^https?:\/\//i.test(disk.location)) {
    throw new BootImageError(
      'StreamInvalid',
      `${prefix}: artifact 'vmware' is at ${addressText(disk.location)}, which is no address of http:// or https://`,
      {
        retriable: false,
        nextStep: 'use a stream whose images have addresses; files are read where --image-mirror says so',
      },
    );
  }
  return { release, disk };
}
