import { quotedPhrase } from '@drydock/api/text';
import type { Answer, Unverified } from '../cloud/availability.ts';
import { type CloudAnswer, type CloudHttps, invalidAnswer, quoted } from '../cloud/https.ts';
import { type TokenRefused, type Tokens, withToken } from '../cloud/tokens.ts';
import { isObject, type JsonObject, list, nonEmpty, object, parsedJson } from '../observe/json.ts';
import type { UploadedImage } from './image.ts';
import type { AzureAccount } from './tokens.ts';

/** One image of a marketplace, in a location. */
export interface MarketplaceName {
  readonly location: string;
  readonly publisher: string;
  readonly offer: string;
  readonly sku: string;
  readonly version: string;
}

/** What is read of a platform image (Microsoft.Compute 2023-09-01, VirtualMachineImage). */
export interface MarketplaceImage {
  /** V1 or V2; undefined where the image does not say. */
  readonly generation: string | undefined;
  /** x64, Arm64; undefined where the image does not say. */
  readonly architecture: string | undefined;
  /** Whether machines must name the plan by which it is bought. */
  readonly plan: boolean;
  /** Active, ScheduledForDeprecation or Deprecated; undefined where the image does not say. */
  readonly state: string | undefined;
  readonly until: string | undefined;
  readonly replacement: string | undefined;
}

/** What is read of a version in a gallery (GalleryImageVersion), or of a managed image (Image). */
export interface UploadedFacts {
  /** Succeeded, Creating, Updating, Failed, Deleting; undefined where it does not say. */
  readonly state: string | undefined;
  /** Locations in which it is, without blanks and in lower case. */
  readonly locations: ReadonlySet<string>;
  readonly endOfLife: string | undefined;
}

/** Whether the terms of a plan are accepted in the subscription. */
export interface Terms {
  readonly accepted: boolean;
}

/** Reads images and terms. Every call rejects as {@link CloudHttps.ask} does. */
export interface AzureClient {
  readonly image: (
    account: AzureAccount,
    name: MarketplaceName,
    signal: AbortSignal,
  ) => Promise<Answer<MarketplaceImage>>;
  readonly uploaded: (
    account: AzureAccount,
    image: UploadedImage,
    signal: AbortSignal,
  ) => Promise<Answer<UploadedFacts>>;
  readonly terms: (account: AzureAccount, name: MarketplaceName, signal: AbortSignal) => Promise<Answer<Terms>>;
}

interface Question<T> {
  readonly path: string;
  readonly version: string;
  /** The action of Azure's access control that allows it. */
  readonly right: string;
  readonly action: string;
  /** Undefined where the answer is not what was asked for. */
  readonly read: (body: JsonObject) => T | 'absent' | undefined;
  /** What is missing where Azure has nothing there to be read; else the image is absent. */
  readonly nothing?: string;
}

/** Not the newest: national clouds come later to every version. */
const COMPUTE = '2023-09-01';
const GALLERY = '2023-07-03';
/** Not 2021-01-01, which says of accepted terms that they are not (azure-rest-api-specs, issue 14108). */
const ORDERING = '2015-06-01';
/** Codes of answers that say nothing of the image (learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-register-resource-provider). */
const UNREGISTERED: ReadonlySet<string> = new Set(['MissingSubscriptionRegistration', 'NoRegisteredProviderFound']);

/** A client of the Resource Manager, as far as it is asked for images. */
export function azureClient({
  https,
  tokens,
}: {
  readonly https: CloudHttps;
  readonly tokens: Tokens<AzureAccount>;
}): AzureClient {
  function ask<T>(account: AzureAccount, question: Question<T>, signal: AbortSignal): Promise<Answer<T>> {
    const { resourceManager } = account.cloud;
    const { action, right } = question;
    const url = `${resourceManager}${question.path}?api-version=${question.version}`;
    const { host } = new URL(url);
    return withToken(
      tokens,
      account,
      'Azure',
      async (token): Promise<Answer<T> | TokenRefused> => {
        const answer = await https.ask({
          ...{ method: 'GET', url, action, signal },
          headers: { authorization: `Bearer ${token}` },
        });
        const { status } = answer;
        if (status === 200) {
          const body = parsedJson(answer.text);
          const found = isObject(body) ? question.read(body) : undefined;
          if (found === undefined) throw invalidAnswer(host, action, 'the answer is not what was asked for');
          return found === 'absent' ? { kind: 'absent' } : { kind: 'found', found };
        }
        const { code, message } = errorIn(answer);
        const subscription = decodeURIComponent(question.path.split('/')[2] ?? '');
        const missing = (what: string): Unverified => ({ kind: 'unverified', missing: what, message });
        // Credentials for another account are no proof that an image is absent.
        if (status === 404 && code.startsWith('Subscription')) return missing(`access to subscription ${subscription}`);
        if (question.nothing !== undefined && (status === 404 || status === 400)) return missing(question.nothing);
        if (status === 404) return { kind: 'absent' };
        if (status === 401) return { kind: 'tokenRefused', message };
        if (UNREGISTERED.has(code))
          return missing(`provider ${right.split('/')[0]}, registered in subscription ${subscription}`);
        if (status === 403) return missing(`permission ${right} on subscription ${subscription}`);
        throw invalidAnswer(host, action, `HTTP ${status}: ${message}`);
      },
      signal,
    );
  }

  return {
    image: (account, name, signal) => ask(account, imageQuestion(account, name), signal),
    uploaded: (account, image, signal) => ask(account, uploadedQuestion(account, image), signal),
    terms: (account, name, signal) => ask(account, termsQuestion(account, name), signal),
  };
}

const path = (...parts: readonly string[]): string => parts.map((part) => `/${encodeURIComponent(part)}`).join('');

function imageQuestion({ credentials }: AzureAccount, name: MarketplaceName): Question<MarketplaceImage> {
  const { location, publisher, offer, sku, version } = name;
  return {
    path:
      path('subscriptions', credentials.subscription, 'providers', 'Microsoft.Compute', 'locations', location) +
      path('publishers', publisher, 'artifacttypes', 'vmimage', 'offers', offer, 'skus', sku, 'versions', version),
    ...{ version: COMPUTE, action: `get image ${[publisher, offer, sku, version].join(':')} in ${location}` },
    right: 'Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read',
    read: ({ name: named, properties }) => {
      if (named !== version || !isObject(properties)) return undefined;
      const status = object(properties['imageDeprecationStatus']);
      const instead = object(status['alternativeOption']);
      return {
        ...{ generation: nonEmpty(properties['hyperVGeneration']), architecture: nonEmpty(properties['architecture']) },
        ...{ plan: isObject(properties['plan']), state: nonEmpty(status['imageState']) },
        ...{ until: nonEmpty(status['scheduledDeprecationTime']), replacement: nonEmpty(instead['value']) },
      };
    },
  };
}

function uploadedQuestion({ credentials }: AzureAccount, image: UploadedImage): Question<UploadedFacts> {
  const { subscription, resourceGroup, gallery, name, version } = image;
  const base =
    path('subscriptions', subscription === '' ? credentials.subscription : subscription) +
    path('resourceGroups', resourceGroup, 'providers', 'Microsoft.Compute');
  if (gallery === undefined)
    return {
      ...{ path: base + path('images', name), version: COMPUTE, action: `get image ${name}` },
      right: 'Microsoft.Compute/images/read',
      read: ({ location, properties }) =>
        isObject(properties) && typeof location === 'string'
          ? { state: nonEmpty(properties['provisioningState']), locations: placesOf([location]), endOfLife: undefined }
          : undefined,
    };
  const latest = version.toLowerCase() === 'latest';
  const versions = base + path('galleries', gallery, 'images', name, 'versions');
  return {
    ...{ path: latest ? versions : versions + path(version), version: GALLERY },
    action: `get image ${gallery}/${name}/${version}`,
    right: 'Microsoft.Compute/galleries/images/versions/read',
    read: (body) => (latest ? newestIn(body['value']) : versionIn(body)),
  };
}

/** The version of which machines start that name none: the highest that its owner has not excepted (GalleryArtifactPublishingProfileBase.excludeFromLatest). */
function newestIn(of: unknown): UploadedFacts | 'absent' | undefined {
  if (!Array.isArray(of)) return undefined;
  const named = of.filter(isObject).filter((one) => profileOf(one)['excludeFromLatest'] !== true);
  const ordered = named.toSorted((a, b) => String(a['name']).localeCompare(String(b['name']), 'en', { numeric: true }));
  const newest = ordered.at(-1);
  return newest === undefined ? 'absent' : versionIn(newest);
}

function profileOf({ properties }: JsonObject): JsonObject {
  return object(object(properties)['publishingProfile']);
}

function versionIn(body: JsonObject): UploadedFacts | undefined {
  const { properties } = body;
  if (!isObject(properties)) return undefined;
  const profile = profileOf(body);
  return {
    state: nonEmpty(properties['provisioningState']),
    locations: placesOf(list(profile['targetRegions']).map((one) => object(one)['name'])),
    endOfLife: nonEmpty(profile['endOfLifeDate']),
  };
}

function termsQuestion({ credentials }: AzureAccount, name: MarketplaceName): Question<Terms> {
  const { publisher, offer, sku } = name;
  return {
    path:
      path('subscriptions', credentials.subscription, 'providers', 'Microsoft.MarketplaceOrdering') +
      path('offerTypes', 'virtualmachine', 'publishers', publisher, 'offers', offer, 'plans', sku) +
      path('agreements', 'current'),
    ...{ version: ORDERING, action: `get the terms of plan ${[publisher, offer, sku].join(':')}` },
    right: 'Microsoft.MarketplaceOrdering/offertypes/publishers/offers/plans/agreements/read',
    read: ({ properties }) => {
      const { accepted } = object(properties);
      return typeof accepted === 'boolean' ? { accepted } : undefined;
    },
    // Neither of every plan, nor in every cloud; offers that nobody in the subscription can buy are bad requests.
    nothing: `whether the terms of plan ${[publisher, offer, sku].join(':')} are accepted`,
  };
}

/** `West US 2` and `westus2` are one location. */
export function placeOf(location: string): string {
  return location.replaceAll(/\s/g, '').toLowerCase();
}

function placesOf(names: readonly unknown[]): ReadonlySet<string> {
  return new Set(names.filter((name) => typeof name === 'string').map(placeOf));
}

/** `{error: {code, message}}`, and of some providers `{code, message}` (ARM's error contract). */
function errorIn({ status, text }: CloudAnswer): { readonly code: string; readonly message: string } {
  const body = object(parsedJson(text));
  const error = isObject(body['error']) ? body['error'] : body;
  const code = nonEmpty(error['code']);
  const said = nonEmpty(error['message']) ?? code;
  return {
    code: code === undefined ? '' : quotedPhrase(code),
    message: said === undefined ? `HTTP ${status}` : quoted(said),
  };
}
