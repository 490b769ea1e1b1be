import type { CloudHttpsOptions } from '../cloud/https.ts';
import { type ImageLook, lookingPlatform, type StreamCloud, streamPlatform } from '../cloud/stream-platform.ts';
import { orUndefined } from '../errors.ts';
import { type JsonObject, nonEmpty } from '../observe/json.ts';
import type { Platform, PlatformInput } from '../platform.ts';
import { computeClient } from './client.ts';
import { type ImageName, imagePath, parseImage, shortName } from './image-name.ts';
import { computeLook } from './lookup.ts';
import { bootDisks, bootEdits, gcpDecision, streamImage } from './target.ts';
import { gcpTokens } from './tokens.ts';

/** Machine sets on Google Cloud; `unasked`: see `cloudPlatforms`. */
export function gcpPlatform(how: CloudHttpsOptions | 'unasked'): Platform {
  return lookingPlatform(
    how,
    (https, clock) => computeLook(computeClient({ https, tokens: gcpTokens({ https, clock }) }), clock),
    platformWith,
  );
}

/** The platform with a way to look at images, or none. */
export function platformWith(looking: ImageLook<ImageName> | undefined): Platform {
  return streamPlatform(gcp, looking);
}

const gcp: StreamCloud<ImageName, object> = {
  platform: {
    ...{ type: 'GCP', name: 'gcp', imageLeaf: ['disks'] },
    placeOf: ({ projectID }) => nonEmpty(projectID),
    regionOf: ({ region }) => nonEmpty(region),
    failureDomainOf: ({ zone }) => nonEmpty(zone),
  },
  ...{ referenceOf: imagePath, shortName, imageOf, targetOf },
  // Undefined where there are several, or where it is in no form that Compute Engine knows.
  currentOf: ({ spec }) => parseImage(imageOf(spec) ?? '', nonEmpty(spec['projectID']) ?? ''),
  decide: (input) => {
    const decision = gcpDecision(input);
    return decision.kind === 'skip' ? decision : { ...decision, options: {} };
  },
  pinned: ({ spec }, name) => {
    const image = parseImage(name, nonEmpty(spec['projectID']) ?? '');
    return image && { image, edits: bootEdits(bootDisks(spec), imagePath(image)) };
  },
  pinForm: 'the path of an image of Compute Engine',
};

/** All boot disks of one machine have one image as a rule. */
function imageOf(spec: JsonObject): string | undefined {
  const disks = orUndefined(() => bootDisks(spec)) ?? [];
  const images = new Set(disks.map(({ image }) => image));
  images.delete('');
  return images.size === 0 ? undefined : [...images].join(', ');
}

function targetOf(input: PlatformInput): string | undefined {
  const target = streamImage(input);
  return typeof target === 'string' ? undefined : target.name;
}
