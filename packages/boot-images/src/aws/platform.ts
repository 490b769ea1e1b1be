import type { BootImageStatus } from '@drydock/api';
import { verifiedBy, verifiedCurrent, verifiedTarget } from '../cloud/availability.ts';
import type { CloudHttpsOptions } from '../cloud/https.ts';
import { notAnImage, pinnedPlan } from '../cloud/pinned.ts';
import { lookingPlatform } from '../cloud/stream-platform.ts';
import { skip } from '../decide/decide.ts';
import { BootImageError } from '../errors.ts';
import type { ImageFacts, ImageOrigin, Verified } from '../image-facts.ts';
import { isObject, type JsonObject, nonEmpty } from '../observe/json.ts';
import { setText } from '../observe/kept-set.ts';
import type { Platform, PlatformInput, PlatformPlan } from '../platform.ts';
import type { Pin } from '../way-back/pin.ts';
import { ec2Client } from './client.ts';
import { type Ec2Look, ec2Look, type OriginAnswer } from './lookup.ts';
import { marketplaceOwner, productText, redHatOwner } from './marketplace.ts';
import { awsSessions } from './sessions.ts';
import { type CurrentAmi, currentAmi, decideByOrigin, isAmi, streamAmi } from './target.ts';

/** Machine sets on AWS; `unasked`: see `cloudPlatforms`. */
export function awsPlatform(how: CloudHttpsOptions | 'unasked'): Platform {
  return lookingPlatform(
    how,
    (https, clock) => ec2Look(ec2Client({ https, clock, sessions: awsSessions({ https, clock }) }), clock),
    platformWith,
  );
}

/** What is planned for a set whose target is known. */
interface Aim {
  readonly target: string;
  /** Of a product of the marketplace. */
  readonly product?: { readonly id: string; readonly version: string };
}

/** The platform with a way to look at images, or none. */
export function platformWith(looking: Ec2Look | undefined): Platform {
  async function plan(
    input: PlatformInput,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<PlatformPlan> {
    const current = currentAmi(input);
    if (current.kind === 'skip') return { ...current, ...factsFor(input) };
    const byStream = factsFor(input);
    if (input.pin !== undefined) return pinned(input, input.pin, current, signal);
    // The release names it.
    const released = { owner: redHatOwner };
    if (byStream.target === current.id) {
      const told = { ...byStream, origins: [{ image: current.id, ...released }] };
      return stays(input, current, { target: current.id }, told, signal);
    }
    // Who published it decides, and that only EC2 tells.
    if (looking === undefined) throw unasked(current);
    const origin = await looking.origin(input, current, { signal });
    if (origin.kind !== 'known') return unknownOrigin(input, current, origin, byStream);
    const { kind: _kind, ...own } = origin;
    const facts: ImageFacts = { ...byStream, origins: [{ image: current.id, ...own }] };
    const decision = decideByOrigin(input, current, origin);
    if (decision.kind === 'skip') {
      const verified = await look(looking, input, current, signal);
      return { ...decision, ...facts, verified };
    }
    if (decision.kind === 'stream') {
      const { target } = decision;
      return moves(looking, input, current, { target }, withOrigin(facts, { image: target, ...released }), signal);
    }
    const { product, newest } = decision;
    const found = await looking.newest(input, { id: product, newest, region: current.region }, { signal });
    if (found.kind === 'image') {
      const aim = { target: found.id, product: { id: product, version: found.version } };
      const sold = { image: found.id, owner: marketplaceOwner, product };
      const told = { ...withOrigin(facts, sold), target: found.id, marketplaceVersion: found.version };
      return found.id === current.id
        ? stays(input, current, aim, told, signal)
        : moves(looking, input, current, aim, told, signal);
    }
    const { target: _, ...without } = facts;
    const text = setText(input.set);
    const which = `product ${productText(product)} of the marketplace in ${current.region}`;
    if (found.kind === 'unverified') {
      const message = `${text}: which images ${which} has is not known: ${found.message}; missing: ${found.missing}`;
      const nextStep = `give the credentials what they lack: ${found.missing}`;
      const verified = verifiedBy(named(current.id, current), found);
      return {
        ...skip(true, 'MarketplaceUnknown', 'marketplace unknown', message, { nextStep }),
        ...without,
        verified,
      };
    }
    const why = found.legacyOnly ? ': all that it has are of before 4.19, which cannot be compared' : '';
    const message = `${text}: ${which} has no ${input.architecture} image for a release up to ${newest.join('.')}${why}`;
    const nextStep = 'wait until the product has one; until then keep the image of this set current by hand';
    const verified = await look(looking, input, current, signal);
    return {
      ...skip(true, 'NotInMarketplace', 'no image in marketplace', message, { nextStep }),
      ...without,
      verified,
    };
  }

  async function pinned(
    input: PlatformInput,
    pin: Pin,
    current: CurrentAmi,
    signal: AbortSignal | undefined,
  ): Promise<PlatformPlan> {
    const wanted = pin.image ?? pin.release ?? '';
    if (!isAmi(wanted)) throw notAnImage(input, pin, 'the id of an AMI');
    return pinnedPlan({
      ...{ input, reference: wanted, signal, facts: { current: current.id, target: wanted } },
      edits: wanted === current.id ? [] : [{ path: ['ami'], from: current.ami, to: { id: wanted } }],
      look: looking === undefined ? undefined : () => looking.look(input, wanted, current.region, { signal }),
    });
  }

  async function stays(
    input: PlatformInput,
    current: CurrentAmi,
    { product }: Aim,
    facts: ImageFacts,
    signal: AbortSignal | undefined,
  ): Promise<PlatformPlan> {
    if (looking === undefined) return { kind: 'current', ...facts };
    const verified = withProduct(await look(looking, input, current, signal), product, named(current.id, current));
    return { kind: 'current', ...facts, verified };
  }

  return {
    type: 'AWS',
    name: 'aws',
    imageLeaf: ['ami', 'id'],
    imageOf,
    nameOf: (reference) => reference,
    placeOf: ({ placement }) => (isObject(placement) ? nonEmpty(placement['region']) : undefined),
    failureDomainOf: ({ placement }) => (isObject(placement) ? nonEmpty(placement['availabilityZone']) : undefined),
    target: targetOf,
    stands,
    ...(looking === undefined ? {} : { foresee: looking.foresee }),
    plan,
  };
}

function withOrigin(facts: ImageFacts, origin: ImageOrigin): ImageFacts {
  return { ...facts, origins: [...(facts.origins ?? []).filter(({ image }) => image !== origin.image), origin] };
}

async function moves(
  looking: Ec2Look,
  input: PlatformInput,
  current: CurrentAmi,
  { target, product }: Aim,
  facts: ImageFacts,
  signal: AbortSignal | undefined,
): Promise<PlatformPlan> {
  const what = named(target, current);
  const availability = await looking.look(input, target, current.region, { signal });
  const told = verifiedTarget(what, availability, facts, target);
  return {
    kind: 'switch',
    // `arn` and `filters` would go before the id.
    image: { edits: [{ path: ['ami'], from: current.ami, to: { id: target } }], reference: target },
    hotLoopValue: target,
    ...facts,
    verified: withProduct(told, product, what),
  };
}

/** The current image, of a set that stays. */
function look(
  looking: Ec2Look,
  input: PlatformInput,
  current: CurrentAmi,
  signal: AbortSignal | undefined,
): Promise<Verified> {
  const { id, region } = current;
  return verifiedCurrent(named(id, current), () => looking.look(input, id, region, { signal }), signal);
}

/** A set whose image nobody can ascribe is left alone: it may be somebody's own. */
function unknownOrigin(
  input: PlatformInput,
  current: CurrentAmi,
  origin: Exclude<OriginAnswer, { readonly kind: 'known' }>,
  facts: ImageFacts,
): PlatformPlan {
  const text = setText(input.set);
  const { id } = current;
  const what = named(id, current);
  const instead = facts.target ?? 'an image that is published in its region';
  if (origin.kind === 'absent') {
    // Upstream's texts.
    const message =
      origin.refusal === undefined ? `AMI ${id} not found` : `DescribeImages failed for ${id}: ${origin.refusal}`;
    const verified: Verified = {
      ...{ status: 'False', reason: 'CurrentWithdrawn' },
      message: `image ${what} is gone, or not shared with the account of these credentials`,
    };
    const nextStep = `no new machine of ${text} starts: set ami.id to ${instead}`;
    throw new BootImageError('ImageWithdrawn', message, { retriable: false, nextStep, facts: { ...facts, verified } });
  }
  const { missing } = origin;
  const message = `${text}: who published image ${id} is not known, so it is left as it is; missing: ${missing}`;
  const nextStep = `give the credentials what they lack (${missing}), or set ami.id to ${instead} by hand`;
  const verified = verifiedBy(what, origin);
  return { ...skip(true, 'OwnerUnknown', 'owner unknown', message, { nextStep }), ...facts, verified };
}

function named(ami: string, { region }: CurrentAmi): string {
  return `${ami} in ${region}`;
}

/** That an image is one of a product is said where there is nothing worse to say of it. */
function withProduct(verified: Verified, product: Aim['product'], what: string): Verified {
  if (product === undefined || verified.reason !== 'Verified') return verified;
  const { id, version } = product;
  const message = `image ${what} is there (product ${productText(id)} of the marketplace, RHCOS ${version}), and machines can start from it`;
  return { status: 'True', reason: marketplaceReason, message };
}

const marketplaceReason = 'Marketplace';
/** Reasons to skip a set that hang on who published its image, and on what the stream has. */
const BY_OWNER: ReadonlySet<string> = new Set(['CustomImage', 'NotInStream', 'OwnerUnknown']);
/** Those that hang on what a product has. */
const BY_PRODUCT: ReadonlySet<string> = new Set(['MarketplaceUnknown', 'NotInMarketplace']);

/** Targets in the marketplace, and most reasons to skip a set, are known from EC2 alone. */
function stands({ phase, reason = '', target, conditions = [] }: BootImageStatus, wanted: string | undefined): boolean {
  if (phase === 'Skipped') return BY_PRODUCT.has(reason) || (BY_OWNER.has(reason) && target === wanted);
  return phase === 'Current' && conditions.some((one) => one.type === 'Verified' && one.reason === marketplaceReason);
}

function imageOf(spec: JsonObject): string | undefined {
  return isObject(spec['ami']) ? nonEmpty(spec['ami']['id']) : undefined;
}

function targetOf(input: PlatformInput): string | undefined {
  const current = currentAmi(input);
  return current.kind === 'skip' ? undefined : streamAmi(input, current.region);
}

function factsFor(input: PlatformInput): ImageFacts {
  const [id, target] = [imageOf(input.spec), targetOf(input)];
  return { ...(id === undefined ? {} : { current: id }), ...(target === undefined ? {} : { target }) };
}

function unasked({ id }: CurrentAmi): BootImageError {
  return new BootImageError(
    'CloudUnavailable',
    `who published image ${id} is known to EC2 alone, which is not asked here`,
  );
}
