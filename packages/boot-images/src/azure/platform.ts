import { systemClock } from '@drydock/kube';
import { type Availability, verifiedCurrent, verifiedTarget } from '../cloud/availability.ts';
import { type CloudHttpsOptions, cloudHttps } from '../cloud/https.ts';
import { notAnImage, pinnedPlan } from '../cloud/pinned.ts';
import { BootImageError, orBootImageError, orUndefined } from '../errors.ts';
import type { ImageFacts } from '../image-facts.ts';
import type { JsonObject } from '../observe/provider-spec.ts';
import { nonEmpty } from '../observe/stream.ts';
import type { Platform, PlatformInput, PlatformPlan } from '../platform.ts';
import { azureClient } from './client.ts';
import { type AzureImage, imageFrom, imageIn, referenceOf, shortName } from './image.ts';
import { type ImageLook, resourceLook } from './lookup.ts';
import { azureDecision, wantedImage } from './target.ts';
import { azureTokens } from './tokens.ts';

/** Machine sets on Azure; `unasked`: see `cloudPlatforms`. */
export function azurePlatform(how: CloudHttpsOptions | 'unasked'): Platform {
  if (how === 'unasked') return platformWith(undefined);
  const https = cloudHttps(how);
  const { clock = systemClock } = how;
  const client = azureClient({ https, tokens: azureTokens({ https, clock }) });
  return {
    ...platformWith(resourceLook(client, clock)),
    [Symbol.asyncDispose]: () => https[Symbol.asyncDispose](),
  };
}

/** The platform with a way to look at images, or none. */
export function platformWith(looking: ImageLook | undefined): Platform {
  async function plan(input: PlatformInput, { signal }: { readonly signal?: AbortSignal } = {}): Promise<PlatformPlan> {
    const facts = factsFor(input);
    const { pin } = input;
    if (pin !== undefined) {
      const image = imageFrom(pin.image ?? pin.release ?? '');
      if (image === undefined) throw notAnImage(input, pin, 'the URN or the resource id of an image');
      const reference = referenceOf(image);
      const from = (input.spec['image'] ?? {}) as JsonObject;
      return pinnedPlan({
        ...{ input, reference, signal, facts: { ...facts, target: shortName(reference) } },
        edits: reference === imageOf(input.spec) ? [] : [{ path: ['image'], from, to: { ...image } }],
        look: looking === undefined ? undefined : () => looking.look(input, image, { signal }),
      });
    }
    const decision = azureDecision(input);
    if (decision.kind === 'target' && decision.edit !== undefined) {
      const { target, generation, edit } = decision;
      const reference = referenceOf(target);
      const verified =
        looking === undefined
          ? undefined
          : verifiedTarget(reference, await looking.look(input, target, { generation, signal }), facts);
      return {
        ...{ kind: 'switch', image: { edits: [edit], reference }, hotLoopValue: reference },
        ...facts,
        ...(verified === undefined ? {} : { verified }),
      };
    }
    const current = currentOf(input);
    const look = (image: AzureImage): Promise<Availability> =>
      looking?.look(input, image, { signal }) ?? Promise.reject(new TypeError('nobody is asked'));
    const verified =
      looking === undefined || current === undefined
        ? undefined
        : await verifiedCurrent(referenceOf(current), () => look(current), signal);
    const told = { ...facts, ...(verified === undefined ? {} : { verified }) };
    return decision.kind === 'skip' ? { ...decision, ...told } : { kind: 'current', ...told };
  }

  return {
    type: 'Azure',
    name: 'azure',
    imageLeaf: ['image'],
    imageOf,
    nameOf: shortName,
    placeOf: ({ location }) => nonEmpty(location),
    failureDomainOf: ({ zone }) => nonEmpty(zone),
    target: targetOf,
    plan,
  };
}

function imageOf(spec: JsonObject): string | undefined {
  const reference = orUndefined(() => referenceOf(imageIn(spec)));
  return reference === '' ? undefined : reference;
}

function currentOf({ spec }: PlatformInput): AzureImage | undefined {
  return imageOf(spec) === undefined ? undefined : imageIn(spec);
}

function targetOf(input: PlatformInput): string | undefined {
  const target = orBootImageError(() => wantedImage(input));
  return target === undefined || target instanceof BootImageError ? undefined : referenceOf(target);
}

function factsFor(input: PlatformInput): ImageFacts {
  const [reference, target] = [imageOf(input.spec), targetOf(input)];
  return {
    ...(target === undefined ? {} : { target }),
    ...(reference === undefined ? {} : { current: shortName(reference) }),
  };
}
