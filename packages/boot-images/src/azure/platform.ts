import type { CloudHttpsOptions } from '../cloud/https.ts';
import { type ImageLook, lookingPlatform, type StreamCloud, streamPlatform } from '../cloud/stream-platform.ts';
import { BootImageError, orBootImageError, orUndefined } from '../errors.ts';
import { type JsonObject, nonEmpty } from '../observe/json.ts';
import type { Platform, PlatformInput } from '../platform.ts';
import { azureClient } from './client.ts';
import { type AzureImage, type HyperVGeneration, imageFrom, imageIn, referenceOf, shortName } from './image.ts';
import { resourceLook } from './lookup.ts';
import { azureDecision, wantedImage } from './target.ts';
import { azureTokens } from './tokens.ts';

/** Machine sets on Azure; `unasked`: see `cloudPlatforms`. */
export function azurePlatform(how: CloudHttpsOptions | 'unasked'): Platform {
  return lookingPlatform(
    how,
    (https, clock) => resourceLook(azureClient({ https, tokens: azureTokens({ https, clock }) }), clock),
    platformWith,
  );
}

/** The platform with a way to look at images, or none. */
export function platformWith(
  looking: ImageLook<AzureImage, { readonly generation?: HyperVGeneration }> | undefined,
): Platform {
  return streamPlatform(azure, looking);
}

const azure: StreamCloud<AzureImage, { readonly generation: HyperVGeneration }> = {
  platform: {
    ...{ type: 'Azure', name: 'azure', imageLeaf: ['image'] },
    placeOf: ({ location }) => nonEmpty(location),
    failureDomainOf: ({ zone }) => nonEmpty(zone),
  },
  ...{ referenceOf, shortName, imageOf, targetOf },
  currentOf: ({ spec }) => (imageOf(spec) === undefined ? undefined : imageIn(spec)),
  decide: (input) => {
    const decision = azureDecision(input);
    if (decision.kind === 'skip') return decision;
    const { target, generation, edit } = decision;
    return { kind: 'target', target, edits: edit === undefined ? [] : [edit], options: { generation } };
  },
  pinned: ({ spec }, name) => {
    const image = imageFrom(name);
    if (image === undefined) return undefined;
    const from = (spec['image'] ?? {}) as JsonObject;
    return { image, edits: referenceOf(image) === imageOf(spec) ? [] : [{ path: ['image'], from, to: { ...image } }] };
  },
  pinForm: 'the URN or the resource id of an image',
};

function imageOf(spec: JsonObject): string | undefined {
  const reference = orUndefined(() => referenceOf(imageIn(spec)));
  return reference === '' ? undefined : reference;
}

function targetOf(input: PlatformInput): string | undefined {
  const target = orBootImageError(() => wantedImage(input));
  return target === undefined || target instanceof BootImageError ? undefined : referenceOf(target);
}
