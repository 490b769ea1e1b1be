import { isObject, type JsonObject } from '../observe/json.ts';
import { invalidSpec, specText } from '../observe/provider-spec.ts';

/** `image` of machine-api's AzureMachineProviderSpec; what is absent is ''. */
export interface AzureImage {
  readonly publisher: string;
  readonly offer: string;
  readonly sku: string;
  readonly version: string;
  readonly resourceID: string;
  /** ID, MarketplaceWithPlan, MarketplaceNoPlan, or '' for the last but one of them. */
  readonly type: string;
}

/** Longest text of an image that is taken; resource ids of Azure have at most a few hundred characters. */
const LONGEST = 2048;
const FIELDS = ['publisher', 'offer', 'sku', 'version', 'resourceID', 'type'] as const;

/** The image of a spec. Throws `ProviderSpecInvalid`, and `NameUnusable` for texts that can name nothing. */
export function imageIn({ image = {} }: JsonObject): AzureImage {
  // Null is an empty image: upstream's reader takes both.
  if (image !== null && !isObject(image)) throw invalidSpec('image', 'an object');
  const found: Record<string, string> = {};
  for (const field of FIELDS) found[field] = specText(image?.[field], `image.${field}`, LONGEST);
  return found as unknown as AzureImage;
}

/** Whether two images are the same in all that machine-api reads. */
export function sameImage(a: AzureImage, b: AzureImage): boolean {
  return FIELDS.every((field) => a[field] === b[field]);
}

/** How people and `az --urn` name an image: `publisher:offer:sku:version`, or the id of a resource; '' where it names nothing. */
export function referenceOf({ publisher, offer, sku, version, resourceID }: AzureImage): string {
  if (resourceID !== '') return resourceID;
  const urn = [publisher, offer, sku, version];
  return urn.every((part) => part === '') ? '' : urn.join(':');
}

/** The image of a reference, with the type that machine-api needs to find it; undefined for what is none. */
export function imageFrom(reference: string): AzureImage | undefined {
  const none = { publisher: '', offer: '', sku: '', version: '', resourceID: '', type: '' };
  if (uploadedImage(reference) !== undefined) return { ...none, resourceID: reference };
  const [publisher = '', offer = '', sku = '', version = '', ...more] = reference.split(':');
  if (more.length > 0 || ![publisher, offer, sku, version].every((part) => PART.test(part))) return undefined;
  // Images of OpenShift itself are the ones without a plan.
  const type = publisher === 'azureopenshift' ? 'MarketplaceNoPlan' : 'MarketplaceWithPlan';
  return { ...none, publisher, offer, sku, version, type };
}

/** Publishers, offers, SKUs and versions, as Azure has them: they become parts of addresses. */
export const PART: RegExp = /^[A-Za-z0-9][\w.-]{0,127}$/;

/** A version in a gallery, or a managed image, by its resource id. */
export interface UploadedImage {
  /** '' where the id begins below the subscription of the cluster. */
  readonly subscription: string;
  readonly resourceGroup: string;
  /** Undefined for a managed image. */
  readonly gallery: string | undefined;
  readonly name: string;
  /** Of the image in the gallery, or `latest`; '' for a managed image. */
  readonly version: string;
}

/** Names of resources, in the widest form that any of them may have. */
const NAME = '[\\w.()-]{1,90}';
const UPLOADED = new RegExp(
  `^(?:/subscriptions/(?<subscription>[\\w-]{1,64}))?/resourceGroups/(?<resourceGroup>${NAME})/providers/Microsoft\\.Compute/` +
    `(?:galleries/(?<gallery>${NAME})/)?images/(?<name>${NAME})(?:/versions/(?<version>${NAME}))?$`,
  'i',
);

/** Reads the id of a gallery's version or of a managed image; undefined for every other one. Azure compares ids without case. */
export function uploadedImage(resourceID: string): UploadedImage | undefined {
  const groups = UPLOADED.exec(resourceID)?.groups;
  if (groups === undefined) return undefined;
  const { subscription = '', resourceGroup = '', gallery, name = '', version = '' } = groups;
  if ((gallery === undefined) !== (version === '')) return undefined;
  return { subscription, resourceGroup, gallery, name, version };
}

/**
 * The Hyper-V generation of an image that an installer uploaded for the cluster, by its naming (boot-images.md §3.4): gallery `gallery_<infrastructure>` with `_` for
 * `-`, or a managed image, each with image `<infrastructure>` or `<infrastructure>-gen2`, in any resource group. Undefined for everybody else's.
 */
export function installerGeneration(resourceID: string, infrastructure: string): HyperVGeneration | undefined {
  const image = uploadedImage(resourceID);
  if (image === undefined || infrastructure === '') return undefined;
  const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
  const { gallery, name } = image;
  if (gallery !== undefined && !same(gallery, `gallery_${infrastructure.replaceAll('-', '_')}`)) return undefined;
  if (same(name, `${infrastructure}-gen2`)) return 'V2';
  return same(name, infrastructure) ? 'V1' : undefined;
}

/** As Azure names the two. */
export type HyperVGeneration = 'V1' | 'V2';

/** What people call an image: the URN, or the names in a resource id. */
export function shortName(reference: string): string {
  const { gallery, name = '', version = '' } = uploadedImage(reference) ?? {};
  if (name === '') return reference;
  return gallery === undefined ? name : `${gallery}/${name}/${version}`;
}
