import { shownText } from '@drydock/api/text';
import { type Skip, skip } from '../decide/decide.ts';
import { BootImageError, orBootImageError } from '../errors.ts';
import { isObject, type JsonObject } from '../observe/json.ts';
import { setText } from '../observe/kept-set.ts';
import { invalidSpec, type LeafEdit } from '../observe/provider-spec.ts';
import type { PlatformInput } from '../platform.ts';
import {
  type AzureImage,
  type HyperVGeneration,
  imageIn,
  installerGeneration,
  PART,
  referenceOf,
  sameImage,
} from './image.ts';

/** What is to become of the image of a set, by its spec and the stream alone. */
export type AzureDecision =
  | Skip
  /** Without an edit it has the image already. */
  | {
      readonly kind: 'target';
      readonly target: AzureImage;
      readonly generation: HyperVGeneration;
      readonly edit: LeafEdit | undefined;
    };

type Input = Pick<PlatformInput, 'set' | 'spec' | 'architecture' | 'stream' | 'infrastructure'>;

/**
 * On a set: its `image.resourceID` was uploaded by an installer, although it is not named as installers name what they upload. Value `Installer`. It is then
 * moved to the images that Red Hat publishes, as upstream moves every set with a `resourceID`.
 */
export const imageOriginAnnotation = 'drydock.dev/boot-image-origin';

const UNPAID = 'no-purchase-plan';
/** Keys of the stream for what is bought in a marketplace; each again with `-emea` for Europe, the Middle East and Africa. */
const PAID: Readonly<Record<string, string>> = {
  'rh-ocp-worker': 'ocp',
  'rh-opp-worker': 'opp',
  'rh-oke-worker': 'oke',
};
const REGIONS: Readonly<Record<string, string>> = { redhat: '', 'redhat-limited': '-emea' };
const ON_NO_CLOUD: ReadonlySet<string> = new Set(['ppc64le', 's390x']);

/**
 * Decides by boot-images.md §3.4, with what is custom, unknown or not in the stream skipped and never an error. Throws `StreamInvalid` where the stream lacks the architecture or has an image that
 * names none, and `ProviderSpecInvalid` for a spec that machine-api could not read either.
 */
export function azureDecision(input: Input): AzureDecision {
  const { set, spec, architecture } = input;
  const text = setText(set);
  if (ON_NO_CLOUD.has(architecture))
    return skip(
      false,
      'ArchitectureUnsupported',
      `no ${architecture} on Azure`,
      `${text}: Azure has no ${architecture} machines`,
    );
  const security = securityType(spec);
  if (security !== '')
    return skip(
      true,
      'SecurityType',
      `security type ${security}`,
      `${text} makes machines of security type ${security}, for which the release names no image`,
      { nextStep: `set image of ${text} by hand, to one that is made for ${security} machines` },
    );
  const image = imageIn(spec);
  const kind = kindOf(image, input);
  if (kind === undefined) return foreign(image, input);
  const found = streamImage(input, kind);
  if ('reason' in found) return found;
  return {
    ...{ kind: 'target', target: found, generation: kind.generation },
    edit: sameImage(image, found)
      ? undefined
      : { path: ['image'], from: (spec['image'] ?? {}) as JsonObject, to: { ...found } },
  };
}

/** What the stream asks for where it has something for the set; undefined where the set is none of those that are moved. */
export function wantedImage(input: Input): AzureImage | undefined {
  if (ON_NO_CLOUD.has(input.architecture) || securityType(input.spec) !== '') return undefined;
  const kind = kindOf(imageIn(input.spec), input);
  if (kind === undefined) return undefined;
  const found = streamImage(input, kind);
  return 'reason' in found ? undefined : found;
}

interface Kind {
  /** Key of the stream. */
  readonly variant: string;
  readonly generation: HyperVGeneration;
}

/** Which of the stream's images takes the place of this one; undefined where none does. */
function kindOf(image: AzureImage, { set, architecture, infrastructure }: Input): Kind | undefined {
  const { publisher, offer, sku, resourceID, type } = image;
  // There are no machines of generation 1 with these processors.
  const arm = architecture === 'aarch64';
  if (resourceID !== '') {
    const named = installerGeneration(resourceID, infrastructure.status?.infrastructureName ?? '');
    const declared = set.metadata.annotations?.[imageOriginAnnotation] === 'Installer';
    const generation = named ?? (declared ? (resourceID.includes('gen2') ? 'V2' : 'V1') : undefined);
    return generation === undefined ? undefined : { variant: UNPAID, generation: arm ? 'V2' : generation };
  }
  const paid = own(PAID, offer);
  const region = own(REGIONS, publisher);
  const variant =
    publisher === 'azureopenshift' ? UNPAID : paid === undefined || region === undefined ? undefined : paid + region;
  if (variant === undefined) return undefined;
  // The names of images without a plan tell generation 2, those of others generation 1.
  const second = type === 'MarketplaceNoPlan' ? /v2|gen2/.test(sku) : !sku.includes('gen1');
  return { variant, generation: arm || second ? 'V2' : 'V1' };
}

function own(table: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** `securityProfile.settings.securityType`, on one line; '' where there is none. Throws `ProviderSpecInvalid`. */
function securityType({ securityProfile }: JsonObject): string {
  const profile = securityProfile ?? {};
  if (!isObject(profile)) throw invalidSpec('securityProfile', 'an object');
  const settings = profile['settings'] ?? {};
  if (!isObject(settings)) throw invalidSpec('securityProfile.settings', 'an object');
  const type = settings['securityType'] ?? '';
  if (typeof type !== 'string') throw invalidSpec('securityProfile.settings.securityType', 'a text');
  return shownText(type);
}

function foreign(image: AzureImage, input: Input): Skip {
  const text = setText(input.set);
  const found = offered(input);
  const instead = found === undefined ? undefined : `to have it kept current, set image to ${JSON.stringify(found)}`;
  const reference = referenceOf(image);
  if (image.resourceID === '') {
    const what = reference === '' ? 'names no image' : `has image ${shownText(reference)}`;
    return skip(
      true,
      'CustomImage',
      reference === '' ? 'no image named' : 'unknown marketplace image',
      `${text} ${what}, which is none that a release names: could not determine azure marketplace variant`,
      instead === undefined ? {} : { nextStep: instead },
    );
  }
  const uploaded = `annotate it ${imageOriginAnnotation}=Installer if an installer uploaded that image`;
  return skip(
    true,
    'CustomImage',
    'custom image',
    `${text} has image ${shownText(reference)}, which is not named as an installer names what it uploads`,
    { nextStep: instead === undefined ? uploaded : `${instead}; or ${uploaded}` },
  );
}

/** What a set could be moved to that somebody else has to do with, where the stream has it. */
function offered(input: Input): AzureImage | undefined {
  const found = orBootImageError(() => streamImage(input, { variant: UNPAID, generation: 'V2' }));
  // Nothing of the stream is needed for a set that stays as it is.
  return found instanceof BootImageError || 'reason' in found ? undefined : found;
}

const MARKETPLACE = ['rhel-coreos-extensions', 'marketplace', 'azure'] as const;
const GENERATIONS: Readonly<Record<HyperVGeneration, { readonly key: string; readonly name: string }>> = {
  V1: { key: 'hyperVGen1', name: 'Gen1' },
  V2: { key: 'hyperVGen2', name: 'Gen2' },
};

/** The image that the stream has of a kind, or why the set stays as it is. */
function streamImage({ set, stream, architecture }: Input, { variant, generation }: Kind): AzureImage | Skip {
  if (stream.object(architecture) === undefined)
    throw new BootImageError('StreamInvalid', `${stream.name}: stream has no architecture ${architecture}`, {
      ...{ retriable: false, nextStep: 'use a stream with this architecture, or opt the set out' },
    });
  const missing = (why: string, nextStep: string): Skip =>
    skip(true, 'NotInStream', 'not in the stream', `${setText(set)}: ${why}`, { nextStep });
  if (stream.object(architecture, ...MARKETPLACE) === undefined)
    return missing(
      `stream ${stream.name} has no marketplace images of Azure for ${architecture}`,
      'set the image by hand: this release names none',
    );
  if (stream.object(architecture, ...MARKETPLACE, variant) === undefined)
    return missing(
      `no Azure marketplace images available for variant ${variant}`,
      'set the image by hand, or to one of another variant: this release names none of this one',
    );
  const { key: member, name } = GENERATIONS[generation];
  const image = stream.object(architecture, ...MARKETPLACE, variant, member);
  if (image === undefined)
    return missing(
      `no ${name} Azure marketplace image available for architecture ${architecture}`,
      `move the set to an image and a VM size of ${generation === 'V1' ? 'generation 2' : 'the other generation'}: this release names none of this one`,
    );
  const part = (field: string): string => {
    const value = image[field];
    if (typeof value === 'string' && PART.test(value)) return value;
    const at = `${architecture}.${MARKETPLACE.join('.')}.${variant}.${member}.${field}`;
    throw new BootImageError('StreamInvalid', `${stream.name}: ${at} names no image`, {
      ...{ retriable: false, nextStep: 'restore the stream of the release, or opt the set out' },
    });
  };
  return {
    ...{ publisher: part('publisher'), offer: part('offer'), sku: part('sku'), version: part('version') },
    ...{ resourceID: '', type: variant === UNPAID ? 'MarketplaceNoPlan' : 'MarketplaceWithPlan' },
  };
}
