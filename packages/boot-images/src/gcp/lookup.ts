import { oneLine } from '@drydock/api/text';
import { type Clock, systemClock } from '@drydock/kube';
import type { Answer, Availability } from '../cloud/availability.ts';
import { eachLookup, type Place } from '../cloud/lookup.ts';
import type { ImageLook } from '../cloud/stream-platform.ts';
import { nonEmpty, object } from '../observe/json.ts';
import type { PlatformInput } from '../platform.ts';
import { type ComputeClient, type ComputeImage, computeHost } from './client.ts';
import { type GcpCredentials, gcpCredentials } from './credentials.ts';
import { type ImageName, imagePath, parseImage } from './image-name.ts';

interface Account extends Place {
  readonly credentials: GcpCredentials;
}

/** Images are the same in all regions, so a place is an account alone. */
export function computeLook(client: ComputeClient, clock: Clock = systemClock): ImageLook<ImageName> {
  const ask = async ({ credentials }: Account, path: string, signal: AbortSignal): Promise<Answer<ComputeImage>> => {
    const name = parseImage(path, '');
    return name === undefined ? { kind: 'absent' } : client.image(credentials, name, signal);
  };
  const images = eachLookup(ask, isGood, clock);
  return {
    look: async (input, image, { signal }) => {
      const credentials = gcpCredentials(input);
      if ('missing' in credentials) return credentials;
      const account = { key: credentials.version, host: computeHost, credentials };
      return availabilityOf(await images.of(account, imagePath(image), { signal }), image, needsOf(input));
    },
  };
}

/** Whether machines start from it, if it is of their kind. */
function isGood({ status, deprecation = '' }: ComputeImage): boolean {
  return status === 'READY' && !WITHDRAWN.has(deprecation);
}

/** What the machines of a set ask of an image. */
export interface Needs {
  /** RPM name. */
  readonly architecture: string;
  /** Features of `guestOsFeatures`, each with what asks for it. */
  readonly features: ReadonlyMap<string, string>;
}

/** States of `deprecated` in which no machine starts. */
const WITHDRAWN: ReadonlySet<string> = new Set(['OBSOLETE', 'DELETED']);
const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: 'X86_64', aarch64: 'ARM64' };
/** Values of `confidentialCompute` of machine-api's GCPMachineProviderSpec, and the feature that Compute Engine asks for. */
const CONFIDENTIAL: Readonly<Record<string, string>> = {
  Enabled: 'SEV_CAPABLE',
  AMDEncryptedVirtualization: 'SEV_CAPABLE',
  AMDEncryptedVirtualizationNestedPaging: 'SEV_SNP_CAPABLE',
  IntelTrustedDomainExtensions: 'TDX_CAPABLE',
};
/** Members of `shieldedInstanceConfig`. */
const SHIELDS = ['secureBoot', 'virtualizedTrustedPlatformModule', 'integrityMonitoring'] as const;

/** What a spec asks of its image. */
export function needsOf({ spec, architecture }: Pick<PlatformInput, 'spec' | 'architecture'>): Needs {
  const features = new Map<string, string>();
  const shielded = object(spec['shieldedInstanceConfig']);
  const shield = SHIELDS.find((one) => shielded[one] === 'Enabled');
  if (shield !== undefined) features.set('UEFI_COMPATIBLE', `shieldedInstanceConfig.${shield}`);
  const confidential = nonEmpty(spec['confidentialCompute']) ?? '';
  const feature = Object.hasOwn(CONFIDENTIAL, confidential) ? CONFIDENTIAL[confidential] : undefined;
  if (feature !== undefined) features.set(feature, `confidentialCompute: ${confidential}`);
  return { architecture, features };
}

/** Judges an answer by what the machines need. Pure. */
export function availabilityOf(answer: Answer<ComputeImage>, asked: ImageName, needs: Needs): Availability {
  const path = imagePath(asked);
  const wait = 'wait until it is published, or opt the set out; it is looked at again by itself';
  switch (answer.kind) {
    case 'unverified':
      return answer;
    case 'absent':
      return {
        ...{ kind: 'unusable', reason: 'ImageNotPublished', nextStep: wait },
        message: `there is no image ${path} in Compute Engine, or none that these credentials may see`,
      };
    case 'found':
      return judged(answer.found, path, needs, wait);
  }
}

function judged(image: ComputeImage, path: string, needs: Needs, wait: string): Availability {
  if (image.status !== 'READY') {
    const going = image.status === 'FAILED' || image.status === 'DELETING';
    return {
      ...{ kind: 'unusable', reason: going ? 'ImageWithdrawn' : 'ImageNotReady', nextStep: wait },
      message: `image ${path} is ${oneLine(image.status).slice(0, 40)}, and no machine starts from it`,
    };
  }
  const instead = image.replacement === undefined ? '' : `; its owner names ${oneLine(image.replacement)} instead`;
  if (!isGood(image)) {
    return {
      ...{ kind: 'unusable', reason: 'ImageWithdrawn' },
      message: `image ${path} was withdrawn (${image.deprecation}), and no machine starts from it${instead}`,
      nextStep: 'use a release whose image is published, or opt the set out',
    };
  }
  const architecture = Object.hasOwn(ARCHITECTURES, needs.architecture) ? ARCHITECTURES[needs.architecture] : undefined;
  if (image.architecture !== undefined && architecture !== undefined && image.architecture !== architecture) {
    return {
      ...{ kind: 'unusable', reason: 'ImageIncompatible' },
      message: `image ${path} is for ${oneLine(image.architecture).slice(0, 40)}, the machines are ${architecture}`,
      nextStep: 'correct the architecture in the annotation of the set, or the stream',
    };
  }
  for (const [feature, why] of needs.features) {
    if (image.features.has(feature)) continue;
    return {
      ...{ kind: 'unusable', reason: 'ImageIncompatible' },
      message: `image ${path} is not ${feature}, which ${why} of the set asks for`,
      nextStep: `take ${why} out of the set, or use a release whose image is ${feature}`,
    };
  }
  if (image.deprecation !== 'DEPRECATED') return { kind: 'available' };
  const until = image.until === undefined ? '' : ` and will be withdrawn on ${oneLine(image.until).slice(0, 40)}`;
  return { kind: 'available', note: `is deprecated${until}${instead}` };
}
