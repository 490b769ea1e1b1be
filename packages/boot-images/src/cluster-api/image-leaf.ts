import { orUndefined } from '../errors.ts';
import { at, canonical, type JsonPath, nonEmpty, object, specPath, withLeaf } from '../observe/json.ts';
import { type ClusterApiObject, INFRASTRUCTURE } from './kinds.ts';
import type { Reference } from './set.ts';

/** Where an infrastructure template of some kind names its image. */
export interface ImageLeaf {
  readonly path: JsonPath;
  /** As `BootImage.status.platform` has it. */
  readonly platform: 'vsphere' | 'aws' | 'azure' | 'gcp' | 'other';
}

/** A kind that Drydock does not know, and where it names its image, as a policy says. */
export interface NamedPath {
  readonly group?: string;
  readonly kind?: string;
  /** RFC 6901, below `/spec/`. */
  readonly path?: string;
}

const machine: JsonPath = ['spec', 'template', 'spec'];

const known: Readonly<Record<string, ImageLeaf>> = {
  VSphereMachineTemplate: { path: [...machine, 'template'], platform: 'vsphere' },
  AWSMachineTemplate: { path: [...machine, 'ami', 'id'], platform: 'aws' },
  AzureMachineTemplate: { path: [...machine, 'image'], platform: 'azure' },
  GCPMachineTemplate: { path: [...machine, 'image'], platform: 'gcp' },
};

/** Where the template names its image; undefined where nobody said it, 'bad' where what was said cannot be a path. */
export function imageLeafOf(
  { group, kind }: Pick<Reference, 'group' | 'kind'>,
  paths: readonly NamedPath[],
): ImageLeaf | 'bad' | undefined {
  const own = group === INFRASTRUCTURE && Object.hasOwn(known, kind) ? known[kind] : undefined;
  if (own !== undefined) return own;
  const named = paths.find((one) => one.group === group && one.kind === kind);
  if (named === undefined) return undefined;
  const path = specPath(named.path ?? '');
  return path === undefined ? 'bad' : { path, platform: 'other' };
}

/** Of which platform the machines are that a template makes, as `BootImage.status.platform` has it. */
export function platformOf(reference: Reference | undefined): string {
  const leaf = reference === undefined ? undefined : imageLeafOf(reference, []);
  return typeof leaf === 'object' ? leaf.platform : 'unknown';
}

/** The image that a template names, as text; undefined where it names none. */
export function imageIn(template: ClusterApiObject, leaf: ImageLeaf): string | undefined {
  const value = at(template, leaf.path);
  if (leaf.platform === 'azure' && value !== undefined) return nonEmpty(object(value)['id']) ?? canonical(value);
  return nonEmpty(value);
}

/** An image of a template as people call it: of a marketplace by its URN. */
export function imageName(image: string | undefined): string | undefined {
  const marketplace = image === undefined ? undefined : object(marketplaceImage(image)?.['marketplace']);
  const parts = ['publisher', 'offer', 'sku', 'version'].map((key) => nonEmpty(marketplace?.[key]));
  return parts.every((part) => part !== undefined) ? parts.join(':') : image;
}

/** An image that is more than a text, as {@link imageIn} writes it; undefined for every other text. */
function marketplaceImage(image: string): Readonly<Record<string, unknown>> | undefined {
  return image.startsWith('{') ? orUndefined(() => object(JSON.parse(image))) : undefined;
}

/** Whether what stands where the image is named can be exchanged: an image's own kind of value, or nothing. */
export function imageFault(template: ClusterApiObject, leaf: ImageLeaf): string | undefined {
  const value = at(template, leaf.path);
  const wanted = leaf.platform === 'azure' ? 'object' : 'string';
  const found = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`;
  return value === undefined || (found === `a ${wanted}` && value !== null)
    ? undefined
    : `${leaf.path.join('.')} is ${found}, where ${wanted === 'object' ? 'an object' : 'a text'} is expected`;
}

/** The template's spec with this image, and nothing else changed. */
export function specWithImage(template: ClusterApiObject, leaf: ImageLeaf, image: string): ClusterApiObject['spec'] {
  const value = leaf.platform === 'azure' ? (marketplaceImage(image) ?? { id: image }) : image;
  return object(withLeaf(template.spec, leaf.path.slice(1), value));
}
