import { shownText } from '@drydock/api/text';
import { type Skip, skip } from '../decide/decide.ts';
import { BootImageError } from '../errors.ts';
import type { ImageOrigin } from '../image-facts.ts';
import { isObject, type JsonObject, nonEmpty } from '../observe/json.ts';
import { setText } from '../observe/kept-set.ts';
import { invalidSpec, specText } from '../observe/provider-spec.ts';
import type { PlatformInput } from '../platform.ts';
import { isRegion } from './endpoints.ts';
import { marketplaceOwner, productOf, redHatOwner, tokenOf, type VersionToken } from './marketplace.ts';

/** What a set starts its machines from. */
export interface CurrentAmi {
  readonly kind: 'ami';
  /** The member of the spec, whole. */
  readonly ami: JsonObject;
  readonly id: string;
  readonly region: string;
}

/** What is to become of a set, by who published its image. */
export type AwsDecision =
  | Skip
  /** The image of the stream. */
  | { readonly kind: 'stream'; readonly target: string }
  /** The newest image of a product of the marketplace that is not newer than the stream's. */
  | { readonly kind: 'product'; readonly product: string; readonly newest: VersionToken };

/** Who published an image. */
export type Origin = Omit<ImageOrigin, 'image'>;

/** The origin of an image by its account, and the name that the account gave it. */
export function originOf({ owner, name }: { readonly owner: string; readonly name: string }): Origin {
  const product = owner === marketplaceOwner ? productOf(name) : undefined;
  return { owner, ...(product === undefined ? {} : { product }) };
}

const AMI = /^ami-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;

/** Whether a text is the id of an image. */
export function isAmi(text: string): boolean {
  return AMI.test(text);
}

/** Longest id, region or type of instances that is taken. */
const LONGEST = 256;

/** The image of a set by its spec alone, or why there is none that could be looked up. Throws `ProviderSpecInvalid` for a spec that machine-api could not read either. */
export function currentAmi({ set, spec }: Pick<PlatformInput, 'set' | 'spec'>): CurrentAmi | Skip {
  const text = setText(set);
  const ami = objectAt(spec, 'ami');
  const region = specText(objectAt(spec, 'placement')['region'], 'placement.region', LONGEST);
  const id = specText(ami['id'], 'ami.id', LONGEST);
  if (id === '') {
    const other = ['arn', 'filters'].find((key) => ami[key] !== undefined && ami[key] !== null);
    const what = other === undefined ? 'names no image' : `names its image by ami.${other}`;
    return skip(true, 'CustomImage', 'no ami.id', `${text} ${what}; only ami.id can be kept current`, {
      nextStep: 'to have it kept current, put the id of an image of Red Hat into ami.id',
    });
  }
  if (!AMI.test(id)) {
    const message = `${text}: ami.id is ${shownText(id)}, which is no id of an image`;
    return skip(true, 'CustomImage', 'no id of an image', message, { nextStep: 'correct ami.id of the set' });
  }
  if (!isRegion(region)) {
    const what = region === '' ? 'names no region' : `has region ${shownText(region)}, which is none`;
    return skip(true, 'RegionUnknown', 'no region', `${text} ${what}`, {
      nextStep: 'correct placement.region of the set',
    });
  }
  return { kind: 'ami', ami, id, region };
}

/** The image that the stream has for an architecture in a region; undefined where it has none. Throws `StreamInvalid` for what names none. */
export function streamAmi(
  { stream, architecture }: Pick<PlatformInput, 'stream' | 'architecture'>,
  region: string,
): string | undefined {
  const image = stream.object(architecture, 'images', 'aws', 'regions', region)?.['image'];
  if (image === undefined) return undefined;
  if (typeof image === 'string' && AMI.test(image)) return image;
  throw new BootImageError('StreamInvalid', `${stream.name}/${architecture}: image 'aws' of ${region} is no id`, {
    ...{ retriable: false, nextStep: 'use a stream whose images.aws has ids of images, or opt the set out' },
  });
}

/** Decides by who published the current image (boot-images.md §3.3). Throws `StreamInvalid` where the release of the stream is needed and cannot be read. */
export function decideByOrigin(
  input: Pick<PlatformInput, 'set' | 'stream' | 'architecture'>,
  { id, region }: CurrentAmi,
  { owner, product }: Origin,
): AwsDecision {
  const { set, stream, architecture } = input;
  const text = setText(set);
  const target = streamAmi(input, region);
  if (owner === redHatOwner) {
    if (target !== undefined) return { kind: 'stream', target };
    return skip(
      true,
      'NotInStream',
      `no image in ${region}`,
      `${text}: ${stream.name} has no ${architecture} image in ${region}`,
      { nextStep: 'nothing is published there: keep the image of this set current by hand' },
    );
  }
  if (owner !== marketplaceOwner || product === undefined) {
    const instead = target === undefined ? '' : ` to ${target}`;
    return skip(
      true,
      'CustomImage',
      'custom image',
      `${text}: image ${id} belongs to ${owner === marketplaceOwner ? 'no known product of the marketplace' : `account ${shownText(owner)}`}, not to Red Hat`,
      { nextStep: `to have it kept current, set ami.id${instead || ' to an image of Red Hat'}` },
    );
  }
  const release = nonEmpty(stream.object(architecture, 'artifacts', 'aws')?.['release']) ?? '';
  const newest = tokenOf(release);
  if (newest !== undefined) return { kind: 'product', product, newest };
  throw new BootImageError(
    'StreamInvalid',
    `${stream.name}/${architecture}: release '${shownText(release)}' of artifact 'aws' has no major and minor version`,
    { retriable: false, nextStep: 'use a stream with artifacts.aws.release for this architecture, or opt the set out' },
  );
}

/** What the machines of a set ask of an image. */
export interface Needs {
  /** RPM name. */
  readonly architecture: string;
  /** Undefined where it is none that could be asked about. */
  readonly instanceType: string | undefined;
  /** What in the spec asks for UEFI. */
  readonly uefi: string | undefined;
}

const TYPE = /^[a-z0-9-]{1,40}\.[a-z0-9-]{1,40}$/;

/** Needs of a spec. AMD SEV-SNP starts with UEFI alone (EC2 user guide, requirements of AMD SEV-SNP). */
export function needsOf({ spec, architecture }: Pick<PlatformInput, 'spec' | 'architecture'>): Needs {
  const { instanceType, cpuOptions } = spec;
  const confidential = isObject(cpuOptions) ? cpuOptions['confidentialCompute'] : undefined;
  return {
    architecture,
    instanceType: typeof instanceType === 'string' && TYPE.test(instanceType) ? instanceType : undefined,
    uefi:
      confidential === 'AMDEncryptedVirtualizationNestedPaging'
        ? `cpuOptions.confidentialCompute: ${confidential}`
        : undefined,
  };
}

/** Null is absent: upstream's reader takes both. */
function objectAt(spec: JsonObject, member: string): JsonObject {
  const value = spec[member];
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw invalidSpec(member, 'an object');
}
