import type { BootImagePolicySpecImageCatalogueItem } from '@drydock/api';
import { libraryLocation } from '@drydock/templates';
import { BootImageError } from '../errors.ts';
import { type KeptSet, setText } from '../observe/kept-set.ts';
import type { DiskArtifact, Stream } from '../observe/stream.ts';
import type { SetPolicy } from './set-policy.ts';

/** RPM names of the architectures that a catalogue names. */
const ARCHITECTURES: Readonly<Record<string, string>> = { amd64: 'x86_64', arm64: 'aarch64' };

/** What an image is wanted for. */
export interface Wanted {
  readonly set: KeptSet;
  /** `Infrastructure.status.platformStatus.type`. */
  readonly platform: string;
  /** RPM name. */
  readonly architecture: string;
}

/**
 * The stream as a policy changes it: another release is wanted, or its image comes from somewhere else. Where the policy asks for a release whose image nobody names, only one that is in the
 * place already will do. Throws `NotInCatalogue` and `ReleaseNotOffered` for what cannot be had.
 */
export function streamBy(stream: Stream, policy: SetPolicy | undefined, wanted: Wanted): Stream {
  const { release, catalogue } = policy?.spec.image ?? {};
  if (policy === undefined || (release === undefined && catalogue === undefined)) return stream;
  const { platform, architecture } = wanted;
  if (platform !== 'VSphere') return offered(stream, policy, wanted);
  const own = stream.release(architecture, 'vmware');
  const version = release ?? own;
  // There is nothing that an entry could be for.
  if (version === undefined) return stream;
  const disk = catalogue === undefined ? undefined : diskIn(catalogue, version, policy, wanted);
  const missing = disk === undefined && version !== own ? notOffered(version, own, policy, wanted) : undefined;
  return {
    ...stream,
    release: (of, artifact) => (of === architecture && artifact === 'vmware' ? version : stream.release(of, artifact)),
    disk: (of, artifact, format) => {
      if (of !== architecture || artifact !== 'vmware' || format !== 'ova') return stream.disk(of, artifact, format);
      return missing === undefined ? (disk ?? stream.disk(of, artifact, format)) : undefined;
    },
    ...(missing === undefined ? {} : { inPlaceOnly: missing }),
  };
}

/** Clouds look up what the stream names, and nothing else. */
function offered(stream: Stream, policy: SetPolicy, wanted: Wanted): Stream {
  const { platform, architecture } = wanted;
  const { release, catalogue } = policy.spec.image ?? {};
  if (catalogue !== undefined)
    throw new BootImageError(
      'PolicyRefused',
      `bootimagepolicy ${policy.name} has a catalogue of OVAs, and ${setText(wanted.set)} is on ${platform}, where images are those that the release names`,
      { retriable: false, nextStep: `take spec.image.catalogue off: kubectl edit bootimagepolicy ${policy.name}` },
    );
  const own = stream.release(architecture, platform.toLowerCase());
  if (release === undefined || release === own) return stream;
  throw notOffered(release, own, policy, wanted);
}

function diskIn(
  catalogue: readonly BootImagePolicySpecImageCatalogueItem[],
  version: string,
  policy: SetPolicy,
  { set, architecture }: Wanted,
): DiskArtifact {
  const where = `the catalogue of bootimagepolicy ${policy.name}`;
  const entry = catalogue.find(
    (one) => one.version === version && ARCHITECTURES[one.architecture ?? 'amd64'] === architecture,
  );
  const nextStep = `add url and sha256 of its OVA for ${architecture}: kubectl edit bootimagepolicy ${policy.name}`;
  if (entry === undefined)
    throw new BootImageError('NotInCatalogue', `${where} has no image of ${version} for ${setText(set)}`, {
      retriable: false,
      nextStep,
    });
  const { url, sha256, contentLibraryItem } = entry;
  if (contentLibraryItem === undefined && url === undefined)
    throw new BootImageError(
      'NotInCatalogue',
      `${where} has ${version} as an image of a cloud, of which no template of a machine set is made`,
      { retriable: false, nextStep },
    );
  if (sha256 === undefined)
    throw new BootImageError(
      'CatalogueUnusable',
      `${where} has ${version} as ${contentLibraryItem ?? 'an address'} without a digest, which nothing could be held against`,
      { retriable: false, nextStep: `put its digest into sha256: kubectl edit bootimagepolicy ${policy.name}` },
    );
  const digest = sha256.toLowerCase();
  if (contentLibraryItem === undefined) return { location: url ?? '', sha256: digest };
  return { location: libraryLocation(contentLibraryItem), sha256: digest, libraryItem: true };
}

function notOffered(
  version: string,
  own: string | undefined,
  policy: SetPolicy,
  { set, platform }: Wanted,
): BootImageError {
  const makes = platform === 'VSphere';
  const there = makes ? ', and no template of it is in the place' : '';
  return new BootImageError(
    'ReleaseNotOffered',
    `bootimagepolicy ${policy.name} asks for ${version} for ${setText(set)}; the release of the cluster names ${own ?? 'no image'}${there}: its image stays as it is`,
    {
      retriable: false,
      nextStep: makes
        ? `name where it is in spec.image.catalogue, or another release: kubectl edit bootimagepolicy ${policy.name}`
        : `name another release: kubectl edit bootimagepolicy ${policy.name}`,
    },
  );
}
