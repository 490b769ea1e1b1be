/** What is read of an image that may be chosen. */
export interface MarketplaceImage {
  readonly id: string;
  readonly description: string;
  /** RFC 3339 in UTC, so that texts compare as times. */
  readonly created: string;
}

/** Major and minor of a version of RHCOS, which since 4.19 is RHEL's. */
export type VersionToken = readonly [major: number, minor: number];

/** The image of a product that suits a release, or none. */
export type MarketplaceChoice =
  | { readonly kind: 'image'; readonly id: string; readonly version: string }
  /** `legacyOnly`: there are images, all of them of before 4.19, whose versions cannot be compared. */
  | { readonly kind: 'none'; readonly legacyOnly: boolean };

/** Account of Red Hat that publishes images of releases, and AWS's account of the marketplace. */
export const redHatOwner = '531415883065';
/** See {@link redHatOwner}. */
export const marketplaceOwner = '679593333241';

/** Products by their ids, for people; other products of the marketplace are served as well (boot-images.md §3.3). */
const PRODUCTS: Readonly<Record<string, string>> = {
  '34850061-abaf-402d-92df-94325c9e947f': 'ROSA',
  '59ead7de-2540-4653-a8b0-fa7926d5c845': 'OCP',
  '963b36c3-de6f-48ed-b802-2b38b2a2cdeb': 'OKE',
  'f5da01a6-d046-487c-9072-42fe53b1cad4': 'OPP',
  'abc249f8-7440-45f7-a4b1-c026baff64c1': 'OCP',
  'd2d3ebcd-c1ca-43d8-bf0a-530433200f35': 'OKE',
  'be6d3e94-c8dc-4a3e-9218-4b449b11f06f': 'OPP',
  '962791c7-3ae5-46d1-ba62-c7a5ebac54fd': 'OCP in EMEA',
  '7026c8d7-392c-4010-b93c-f93f7bc5495f': 'OKE in EMEA',
  '628c9df3-0254-4f91-bc1f-8619d1b8eaa8': 'OPP in EMEA',
};

const PRODUCT = /(?:^|-)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;
const VERSION = /(\d+\.\d+)\.(?:\d{12}|\d{8})-\d+/;

/** A product for people. */
export function productText(product: string): string {
  const name = Object.hasOwn(PRODUCTS, product) ? PRODUCTS[product] : undefined;
  return name === undefined ? product : `${product} (${name})`;
}

/** The id of the product with which the name of an image of the marketplace ends; undefined where it does not. */
export function productOf(name: string): string | undefined {
  return PRODUCT.exec(name)?.[1]?.toLowerCase();
}

/** The first two parts of a release; undefined where it has no two. */
export function tokenOf(release: string): VersionToken | undefined {
  const [major = '', minor = ''] = release.split('.');
  return /^\d{1,6}$/.test(major) && /^\d{1,6}$/.test(minor) ? [Number(major), Number(minor)] : undefined;
}

/** The version in the description of an image, whole. */
export function versionIn(description: string): string | undefined {
  // What is longer is no description of EC2.
  return VERSION.exec(description.slice(0, 1024))?.[0];
}

/** Negative, zero or positive as in a sort. */
export function compareTokens(a: VersionToken, b: VersionToken): number {
  return a[0] - b[0] || a[1] - b[1];
}

/** Whether a version is of before RHCOS took RHEL's, as 418.94. */
export function isLegacy([major]: VersionToken): boolean {
  return major > 100;
}

/** The newest image that is not newer than the release: by version, then by when it was made. */
export function chooseImage(images: readonly MarketplaceImage[], target: VersionToken): MarketplaceChoice {
  const known = images.flatMap(({ id, description, created }) => {
    const version = versionIn(description);
    const token = version === undefined ? undefined : tokenOf(version);
    return version === undefined || token === undefined ? [] : [{ id, version, token, created }];
  });
  const [best] = known
    .filter(({ token }) => compareTokens(token, target) <= 0)
    .toSorted((a, b) => compareTokens(b.token, a.token) || (a.created < b.created ? 1 : -1));
  if (best !== undefined) return { kind: 'image', id: best.id, version: best.version };
  return { kind: 'none', legacyOnly: known.length > 0 && known.every(({ token }) => isLegacy(token)) };
}
