import { systemClock } from '@drydock/kube';
import { type Availability, verifiedCurrent, verifiedTarget } from '../cloud/availability.ts';
import { type CloudHttpsOptions, cloudHttps } from '../cloud/https.ts';
import { notAnImage, pinnedPlan } from '../cloud/pinned.ts';
import { orUndefined } from '../errors.ts';
import type { ImageFacts } from '../image-facts.ts';
import type { JsonObject } from '../observe/provider-spec.ts';
import { nonEmpty } from '../observe/stream.ts';
import type { Platform, PlatformInput, PlatformPlan } from '../platform.ts';
import { computeClient } from './client.ts';
import { type ImageName, imagePath, parseImage, shortName } from './image-name.ts';
import { computeLook, type ImageLook } from './lookup.ts';
import { bootDisks, bootEdits, gcpDecision, streamImage } from './target.ts';
import { gcpTokens } from './tokens.ts';

/** Machine sets on Google Cloud; `unasked`: see `cloudPlatforms`. */
export function gcpPlatform(how: CloudHttpsOptions | 'unasked'): Platform {
  if (how === 'unasked') return platformWith(undefined);
  const https = cloudHttps(how);
  const { clock = systemClock } = how;
  const client = computeClient({ https, tokens: gcpTokens({ https, clock }) });
  return {
    ...platformWith(computeLook(client, clock)),
    [Symbol.asyncDispose]: () => https[Symbol.asyncDispose](),
  };
}

/** The platform with a way to look at images, or none. */
export function platformWith(looking: ImageLook | undefined): Platform {
  async function plan(input: PlatformInput, { signal }: { readonly signal?: AbortSignal } = {}): Promise<PlatformPlan> {
    const facts = factsFor(input);
    const look = (image: ImageName): Promise<Availability> =>
      looking?.look(input, image, { signal }) ?? Promise.reject(new TypeError('nobody is asked'));
    const { pin } = input;
    if (pin !== undefined) {
      const { projectID } = input.spec;
      const image = parseImage(pin.image ?? pin.release ?? '', nonEmpty(projectID) ?? '');
      if (image === undefined) throw notAnImage(input, pin, 'the path of an image of Compute Engine');
      const reference = imagePath(image);
      return pinnedPlan({
        ...{ input, reference, signal, facts: { ...facts, target: shortName(reference) } },
        edits: bootEdits(bootDisks(input.spec), reference),
        look: looking === undefined ? undefined : () => look(image),
      });
    }
    const decision = gcpDecision(input);
    if (decision.kind === 'target' && decision.edits.length > 0) {
      const { target, edits } = decision;
      const reference = imagePath(target);
      const verified = looking === undefined ? undefined : verifiedTarget(reference, await look(target), facts);
      const image = { edits, reference };
      return {
        kind: 'switch',
        image,
        hotLoopValue: reference,
        ...facts,
        ...(verified === undefined ? {} : { verified }),
      };
    }
    const current = currentOf(input);
    const verified =
      looking === undefined || current === undefined
        ? undefined
        : await verifiedCurrent(imagePath(current), () => look(current), signal);
    const told = { ...facts, ...(verified === undefined ? {} : { verified }) };
    return decision.kind === 'skip' ? { ...decision, ...told } : { kind: 'current', ...told };
  }

  return {
    type: 'GCP',
    name: 'gcp',
    imageLeaf: ['disks'],
    imageOf,
    nameOf: shortName,
    placeOf: ({ projectID }) => nonEmpty(projectID),
    regionOf: ({ region }) => nonEmpty(region),
    failureDomainOf: ({ zone }) => nonEmpty(zone),
    target: targetOf,
    plan,
  };
}

/** All boot disks of one machine have one image as a rule. */
function imageOf(spec: JsonObject): string | undefined {
  const disks = orUndefined(() => bootDisks(spec)) ?? [];
  const images = new Set(disks.map(({ image }) => image));
  images.delete('');
  return images.size === 0 ? undefined : [...images].join(', ');
}

/** The one image of a set; undefined where there are several, or where it is in no form that Compute Engine knows. */
function currentOf({ spec }: PlatformInput): ImageName | undefined {
  const { projectID } = spec;
  return parseImage(imageOf(spec) ?? '', typeof projectID === 'string' ? projectID : '');
}

function targetOf(input: PlatformInput): string | undefined {
  const target = streamImage(input);
  return typeof target === 'string' ? undefined : target.name;
}

function factsFor(input: PlatformInput): ImageFacts {
  const [reference, target] = [imageOf(input.spec), targetOf(input)];
  return {
    ...(target === undefined ? {} : { target }),
    ...(reference === undefined ? {} : { current: shortName(reference) }),
  };
}
