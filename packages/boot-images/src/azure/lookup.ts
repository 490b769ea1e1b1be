import { oneLine } from '@drydock/api/text';
import { type Clock, systemClock } from '@drydock/kube';
import type { Answer, Availability } from '../cloud/availability.ts';
import { eachLookup, type Lookup, type Place } from '../cloud/lookup.ts';
import type { ImageLook } from '../cloud/stream-platform.ts';
import type { PlatformInput } from '../platform.ts';
import { azureCloud } from './azure-cloud.ts';
import {
  type AzureClient,
  type MarketplaceImage,
  type MarketplaceName,
  placeOf,
  type Terms,
  type UploadedFacts,
} from './client.ts';
import { azureCredentials } from './credentials.ts';
import { type AzureImage, type HyperVGeneration, referenceOf, uploadedImage } from './image.ts';
import type { AzureAccount } from './tokens.ts';

type Account = AzureAccount & Place;

/** Marketplace images are looked up in the location of the set, terms in the subscription, uploads where their id says. */
export function resourceLook(
  client: AzureClient,
  clock: Clock = systemClock,
): ImageLook<AzureImage, { readonly generation?: HyperVGeneration }> {
  const each = <N, T>(
    ask: (account: AzureAccount, name: N, signal: AbortSignal) => Promise<Answer<T>>,
    isGood: (found: T) => boolean,
  ): Lookup<Account, Answer<T>> =>
    eachLookup((account, id, signal) => ask(account, JSON.parse(id) as N, signal), isGood, clock);
  const images = each(client.image, ({ state }) => state !== 'Deprecated');
  const uploads = each(client.uploaded, ({ state }) => state === undefined || state === 'Succeeded');
  const terms = each(client.terms, ({ accepted }) => accepted);

  return {
    look: async (input, image, { generation, signal }) => {
      const cloud = azureCloud(input.infrastructure);
      if (typeof cloud === 'string')
        return { kind: 'unverified', missing: 'a cloud of Azure that is known', message: cloud };
      const credentials = azureCredentials(input);
      if ('missing' in credentials) return credentials;
      const version = `${credentials.version} ${cloud.name} ${cloud.resourceManager}`;
      const account: Account = { cloud, credentials, version, key: version, host: new URL(cloud.resourceManager).host };
      const location = locationOf(input);
      if (location === undefined)
        return { kind: 'unverified', missing: 'location in the provider spec', message: 'the set names no location' };
      const reference = referenceOf(image);
      if (image.resourceID !== '') {
        const upload = uploadedImage(image.resourceID);
        if (upload === undefined) return unreadable('the id is neither of a gallery nor of a managed image');
        return uploadAvailability(await uploads.of(account, JSON.stringify(upload), { signal }), reference, location);
      }
      const { publisher, offer, sku, version: named } = image;
      if (named === 'latest' || [publisher, offer, sku, named].includes(''))
        return unreadable('it names no version, so that each machine may start from another one');
      const name: MarketplaceName = { location, publisher, offer, sku, version: named };
      const paid = image.type === PAID;
      const agreement = paid
        ? terms.of(account, JSON.stringify({ ...name, location: '', version: '' }), { signal })
        : undefined;
      agreement?.catch(() => undefined);
      const answer = await images.of(account, JSON.stringify(name), { signal });
      const needs = { architecture: input.architecture, generation, paid };
      const availability = imageAvailability(answer, name, needs);
      return availability.kind === 'unusable' || agreement === undefined
        ? availability
        : withTerms(availability, await agreement, name, credentials.subscription);
    },
  };
}

const PAID = 'MarketplaceWithPlan';
const LOCATION = /^[a-z0-9]{1,64}$/;

function locationOf({ spec }: Pick<PlatformInput, 'spec'>): string | undefined {
  const location = typeof spec['location'] === 'string' ? placeOf(spec['location']) : '';
  return LOCATION.test(location) ? location : undefined;
}

function unreadable(message: string): Availability {
  return { kind: 'unverified', missing: 'an image that can be looked up', message };
}

/** What the machines of a set ask of an image. */
export interface Needs {
  /** RPM name. */
  readonly architecture: string;
  readonly generation: HyperVGeneration | undefined;
  /** Whether they name the plan of the image. */
  readonly paid: boolean;
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: 'x64', aarch64: 'Arm64' };
const WAIT = 'wait until it is published there, or opt the set out; it is looked at again by itself';

/** Judges an image of a marketplace by what the machines need. Pure. */
export function imageAvailability(answer: Answer<MarketplaceImage>, name: MarketplaceName, needs: Needs): Availability {
  const { location, publisher, offer, sku, version } = name;
  const urn = [publisher, offer, sku, version].join(':');
  switch (answer.kind) {
    case 'unverified':
      return answer;
    case 'absent':
      return {
        ...{ kind: 'unusable', reason: 'ImageNotPublished', nextStep: WAIT },
        message: `there is no image ${urn} in location ${location} of Azure`,
      };
    case 'found':
      return judged(answer.found, urn, needs);
  }
}

function judged(image: MarketplaceImage, urn: string, needs: Needs): Availability {
  const shown = (text: string): string => oneLine(text).slice(0, 80);
  const instead = image.replacement === undefined ? '' : `; its publisher names ${shown(image.replacement)} instead`;
  if (image.state === 'Deprecated') {
    return {
      ...{ kind: 'unusable', reason: 'ImageWithdrawn' },
      message: `image ${urn} was withdrawn (Deprecated), and no machine starts from it${instead}`,
      nextStep: 'use a release whose image is published, or opt the set out',
    };
  }
  const incompatible = (what: string, nextStep: string): Availability => ({
    ...{ kind: 'unusable', reason: 'ImageIncompatible', message: `image ${urn} ${what}`, nextStep },
  });
  const architecture = Object.hasOwn(ARCHITECTURES, needs.architecture) ? ARCHITECTURES[needs.architecture] : undefined;
  if (image.architecture !== undefined && architecture !== undefined && image.architecture !== architecture)
    return incompatible(
      `is for ${shown(image.architecture)}, the machines are ${architecture}`,
      'correct the architecture in the annotation of the set, or the stream',
    );
  if (needs.generation !== undefined && image.generation !== undefined && image.generation !== needs.generation)
    return incompatible(
      `is of Hyper-V generation ${shown(image.generation)}, the machines are of ${needs.generation}`,
      'correct the stream, or opt the set out',
    );
  // Azure refuses machines that name a plan for an image without one, and the other way round (VMMarketplaceInvalidInput).
  if (image.plan !== needs.paid)
    return incompatible(
      image.plan
        ? 'is sold by a plan, which the machines do not name'
        : 'is sold by no plan, and the machines name one',
      `correct the stream, or set image.type of the set to Marketplace${image.plan ? 'With' : 'No'}Plan`,
    );
  if (image.state !== 'ScheduledForDeprecation') return { kind: 'available' };
  const until = image.until === undefined ? '' : ` and will be withdrawn on ${shown(image.until)}`;
  return { kind: 'available', note: `is deprecated${until}${instead}` };
}

/** The same with what is known of the terms, without which no machine is sold. Pure. */
export function withTerms(
  availability: Extract<Availability, { readonly kind: 'available' | 'unverified' }>,
  terms: Answer<Terms>,
  { publisher, offer, sku }: MarketplaceName,
  subscription: string,
): Availability {
  if (terms.kind === 'found' && !terms.found.accepted) {
    const accept = `az vm image terms accept --publisher ${publisher} --offer ${offer} --plan ${sku} --subscription ${subscription}`;
    return {
      ...{ kind: 'unusable', reason: 'ImageTermsNotAccepted' },
      message: `the terms of plan ${publisher}:${offer}:${sku} are not accepted in subscription ${subscription}`,
      nextStep: `read and accept them: ${accept}`,
    };
  }
  return terms.kind === 'unverified' && availability.kind === 'available' ? terms : availability;
}

/** Judges an image of a gallery, or a managed one. Pure. */
export function uploadAvailability(answer: Answer<UploadedFacts>, reference: string, location: string): Availability {
  switch (answer.kind) {
    case 'unverified':
      return answer;
    case 'absent':
      return {
        ...{ kind: 'unusable', reason: 'ImageNotPublished' },
        message: `there is no image ${reference} in Azure, or none that these credentials may see`,
        nextStep: 'upload it again, or set another image',
      };
    case 'found': {
      const { state, locations, endOfLife } = answer.found;
      if (state !== undefined && state !== 'Succeeded') {
        const going = state === 'Failed' || state === 'Deleting';
        return {
          ...{ kind: 'unusable', reason: going ? 'ImageWithdrawn' : 'ImageNotReady' },
          message: `image ${reference} is ${oneLine(state).slice(0, 40)}, and no machine starts from it`,
          nextStep: going ? 'upload it again, or set another image' : WAIT,
        };
      }
      if (locations.size > 0 && !locations.has(location))
        return {
          ...{ kind: 'unusable', reason: 'ImageNotPublished' },
          message: `image ${reference} is not in location ${location}`,
          nextStep: `copy it to ${location}, or set another image`,
        };
      return endOfLife === undefined
        ? { kind: 'available' }
        : { kind: 'available', note: `has its end of life on ${oneLine(endOfLife).slice(0, 40)}` };
    }
  }
}
