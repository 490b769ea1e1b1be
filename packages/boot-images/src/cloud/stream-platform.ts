import { type Clock, systemClock } from '@drydock/kube';
import type { Skip } from '../decide/decide.ts';
import type { ImageFacts } from '../image-facts.ts';
import type { JsonObject } from '../observe/json.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import type { Platform, PlatformInput, PlatformPlan } from '../platform.ts';
import { type Availability, verifiedCurrent, verifiedTarget } from './availability.ts';
import { type CloudHttps, type CloudHttpsOptions, cloudHttps } from './https.ts';
import { notAnImage, pinnedPlan } from './pinned.ts';

/** A platform that looks at images over HTTPS, as `make` builds it from a look; `unasked`: see `cloudPlatforms`. */
export function lookingPlatform<L>(
  how: CloudHttpsOptions | 'unasked',
  look: (https: CloudHttps, clock: Clock) => L,
  make: (looking: L | undefined) => Platform,
): Platform {
  if (how === 'unasked') return make(undefined);
  const https = cloudHttps(how);
  const { clock = systemClock } = how;
  return { ...make(look(https, clock)), [Symbol.asyncDispose]: () => https[Symbol.asyncDispose]() };
}

/** Looks whether the machines of a set can start from an image `I`; `O`: what else the cloud asks. */
export interface ImageLook<I, O = object> {
  readonly look: (
    input: PlatformInput,
    image: I,
    options: O & { readonly signal?: AbortSignal | undefined },
  ) => Promise<Availability>;
}

/** A cloud in which the stream alone says which image a set is to have. */
export interface StreamCloud<I, O> {
  /** All that does not depend on how images are looked at. */
  readonly platform: Omit<Platform, 'imageOf' | 'nameOf' | 'target' | 'plan'>;
  /** As a spec refers to it. */
  readonly referenceOf: (image: I) => string;
  readonly shortName: (reference: string) => string;
  /** All that a spec refers to, for people. */
  readonly imageOf: (spec: JsonObject) => string | undefined;
  /** The one image of a set, where it can be looked at. */
  readonly currentOf: (input: PlatformInput) => I | undefined;
  readonly targetOf: (input: PlatformInput) => string | undefined;
  /** Without edits the set has its target already. `options`: for the look at it. */
  readonly decide: (
    input: PlatformInput,
  ) => Skip | { readonly kind: 'target'; readonly target: I; readonly edits: readonly LeafEdit[]; readonly options: O };
  /** The image that a pin names, and what gives it to the set; undefined where it is none of this cloud. */
  readonly pinned: (
    input: PlatformInput,
    name: string,
  ) => { readonly image: I; readonly edits: readonly LeafEdit[] } | undefined;
  /** What a pin must name, as a noun. */
  readonly pinForm: string;
}

/** The platform of such a cloud, with a way to look at images, or none. */
export function streamPlatform<I, O>(
  cloud: StreamCloud<I, O>,
  looking: ImageLook<I, Partial<O>> | undefined,
): Platform {
  const { referenceOf, shortName, imageOf, targetOf } = cloud;

  function factsFor(input: PlatformInput): ImageFacts {
    const [reference, target] = [imageOf(input.spec), targetOf(input)];
    return {
      ...(target === undefined ? {} : { target }),
      ...(reference === undefined ? {} : { current: shortName(reference) }),
    };
  }

  async function plan(
    input: PlatformInput,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<PlatformPlan> {
    const facts = factsFor(input);
    const lookAt = (image: I, options: Partial<O>): (() => Promise<Availability>) | undefined =>
      looking === undefined ? undefined : () => looking.look(input, image, { ...options, signal });
    const { pin } = input;
    if (pin !== undefined) {
      const pinned = cloud.pinned(input, pin.image ?? pin.release ?? '');
      if (pinned === undefined) throw notAnImage(input, pin, cloud.pinForm);
      const reference = referenceOf(pinned.image);
      return pinnedPlan({
        ...{ input, reference, signal, facts: { ...facts, target: shortName(reference) } },
        ...{ edits: pinned.edits, look: lookAt(pinned.image, {}) },
      });
    }
    const decision = cloud.decide(input);
    if (decision.kind === 'target' && decision.edits.length > 0) {
      const { target, edits, options } = decision;
      const reference = referenceOf(target);
      const availability = await lookAt(target, options)?.();
      return {
        ...{ kind: 'switch', image: { edits, reference }, hotLoopValue: reference, ...facts },
        ...(availability === undefined ? {} : { verified: verifiedTarget(reference, availability, facts) }),
      };
    }
    const current = cloud.currentOf(input);
    const look = current === undefined ? undefined : lookAt(current, {});
    const verified =
      current === undefined || look === undefined
        ? undefined
        : await verifiedCurrent(referenceOf(current), look, signal);
    const told = { ...facts, ...(verified === undefined ? {} : { verified }) };
    return decision.kind === 'skip' ? { ...decision, ...told } : { kind: 'current', ...told };
  }

  return { ...cloud.platform, imageOf, nameOf: shortName, target: targetOf, plan };
}
