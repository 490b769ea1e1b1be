import { oneLine } from '@drydock/api/text';
import { type CallOptions, type Clock, systemClock } from '@drydock/kube';
import type { Answer, Availability, Unverified } from '../cloud/availability.ts';
import { eachLookup, KEPT_MS, lookup, putNewest } from '../cloud/lookup.ts';
import { BootImageError, orBootImageError } from '../errors.ts';
import type { PlatformInput } from '../platform.ts';
import { authoritiesReader } from './authorities.ts';
import type { Account, Ec2Client, Ec2Image, TypeAnswer } from './client.ts';
import { awsCredentials } from './credentials.ts';
import { endpointOf, isRegion } from './endpoints.ts';
import { chooseImage, type MarketplaceChoice, type VersionToken } from './marketplace.ts';
import { type CurrentAmi, currentAmi, type Needs, needsOf, type Origin, originOf, streamAmi } from './target.ts';

/** Who published an image, or why that is not known. */
export type OriginAnswer =
  | ({ readonly kind: 'known' } & Origin)
  | Exclude<Answer<Ec2Image>, { readonly kind: 'found' }>;

/** What is asked of EC2 about the images of sets. Rejects where EC2 does not answer. */
export interface Ec2Look {
  /** Remembered for as long as the process lives, and in the BootImage of the set: an image that is gone, or may no longer be looked at, has still been published by whom it was. */
  readonly origin: (input: PlatformInput, current: CurrentAmi, call: CallOptions) => Promise<OriginAnswer>;
  /** Whether the machines of a set can start from an image. */
  readonly look: (input: PlatformInput, ami: string, region: string, call: CallOptions) => Promise<Availability>;
  /** The newest image of a product for a set. */
  readonly newest: (
    input: PlatformInput,
    product: { readonly id: string; readonly newest: VersionToken; readonly region: string },
    call: CallOptions,
  ) => Promise<MarketplaceChoice | Unverified>;
  readonly foresee: (inputs: readonly PlatformInput[]) => void;
}

/** Ids that DescribeImages takes at once without pages, and types that DescribeInstanceTypes takes at all. */
const BATCH = 100;
/** Origins that are remembered. */
const REMEMBERED = 20_000;

/** Looks at images through a client, with a memory. */
export function ec2Look(client: Ec2Client, clock: Clock = systemClock): Ec2Look {
  const origins = new Map<string, Origin>();
  const authorities = authoritiesReader();
  const images = lookup<Account, Answer<Ec2Image>>({
    ...{ clock, batch: BATCH },
    keepMs: (answer) => KEPT_MS[answer.kind === 'found' && !isGood(answer.found) ? 'absent' : answer.kind],
    ask: async (account, ids, signal) => {
      const answers = await client.images(account, ids, signal);
      for (const answer of answers.values()) if (answer.kind === 'found') remember(account.region, answer.found);
      return answers;
    },
  });
  const types = lookup<Account, TypeAnswer>({
    ...{ clock, batch: BATCH, ask: client.types },
    keepMs: ({ kind }) => KEPT_MS[kind === 'absent' ? 'found' : kind],
  });
  const products = eachLookup<Account, readonly Ec2Image[]>(
    async (account, key, signal) => {
      const [id = '', architecture = ''] = key.split('/');
      const answer = await client.products(account, { id, architecture }, signal);
      for (const image of answer.kind === 'found' ? answer.found : []) {
        remember(account.region, image);
        images.learn(account, image.id, { kind: 'found', found: image });
      }
      return answer;
    },
    (found) => found.length > 0,
    clock,
  );

  function remember(region: string, { id, owner, name }: Ec2Image): void {
    putNewest(origins, `${region} ${id}`, originOf({ owner, name }), REMEMBERED);
  }

  async function imageOf(
    input: PlatformInput,
    ami: string,
    region: string,
    call: CallOptions,
  ): Promise<Answer<Ec2Image>> {
    const account = accountOf(input, region, authorities);
    return account.kind === 'unverified' ? account : images.of(account, ami, call);
  }

  return {
    origin: async (input, { id, region }, call) => {
      const answer = await imageOf(input, id, region, call);
      if (answer.kind === 'found') return { kind: 'known', ...originOf(answer.found) };
      const origin = origins.get(`${region} ${id}`) ?? input.origins?.find(({ image }) => image === id);
      if (origin === undefined) return answer;
      const { owner, product } = origin;
      return { kind: 'known', owner, ...(product === undefined ? {} : { product }) };
    },
    look: async (input, ami, region, call) => {
      const answer = await imageOf(input, ami, region, call);
      const needs = needsOf(input);
      const account = accountOf(input, region, authorities);
      // Other images start in either way.
      const strict = answer.kind === 'found' && STRICT.has(answer.found.bootMode ?? '');
      const type =
        strict && account.kind !== 'unverified' && needs.instanceType !== undefined
          ? await types.of(account, needs.instanceType, call)
          : undefined;
      return availabilityOf(answer, { ami, region }, needs, { type, now: clock.date() });
    },
    newest: async (input, { id, newest, region }, call) => {
      const account = accountOf(input, region, authorities);
      if (account.kind === 'unverified') return account;
      const architecture = imageArchitecture(input.architecture);
      if (architecture === undefined) return { kind: 'none', legacyOnly: false };
      const answer = await products.of(account, `${id}/${architecture}`, call);
      if (answer.kind === 'unverified') return answer;
      return chooseImage(
        (answer.kind === 'found' ? answer.found : []).filter(
          (image) => isGood(image) && image.architecture === architecture,
        ),
        newest,
      );
    },
    foresee: (inputs) => {
      for (const input of inputs) {
        const found = orBootImageError(() => foreseen(input));
        if (found === undefined || found instanceof BootImageError) continue;
        const account = accountOf(input, found.region, authorities);
        if (account.kind === 'unverified') continue;
        for (const ami of found.amis) images.foresee(account, ami);
        const { instanceType } = needsOf(input);
        if (instanceType !== undefined) types.foresee(account, instanceType);
      }
    },
  };
}

/** What a set is going to be asked about; what is wrong with it is told when that is done. */
function foreseen(input: PlatformInput): { readonly region: string; readonly amis: readonly string[] } | undefined {
  const current = currentAmi(input);
  if (current.kind === 'skip') return undefined;
  const { id, region } = current;
  return { region, amis: [id, streamAmi(input, region) ?? id] };
}

function accountOf(
  input: PlatformInput,
  region: string,
  readAuthorities: ReturnType<typeof authoritiesReader>,
): ({ readonly kind: 'account' } & Account) | Unverified {
  const credentials = awsCredentials(input);
  if ('missing' in credentials) return credentials;
  const authorities = readAuthorities(input.authorities);
  if (authorities.kind === 'unverified') return authorities;
  const { infrastructure } = input;
  const ec2 = endpointOf('ec2', region, infrastructure);
  const own = infrastructure.status?.platformStatus?.aws?.region ?? '';
  // The session counts in all regions of the partition; the cluster's own is the one that it can reach.
  const stsRegion = isRegion(own) ? own : region;
  const sts = endpointOf('sts', stsRegion, infrastructure);
  return {
    kind: 'account',
    key: `${region} ${credentials.version} ${ec2} ${sts} ${authorities.version}`,
    ca: authorities.pem,
    host: new URL(ec2).host,
    region,
    ec2,
    stsRegion,
    sts,
    credentials,
    version: credentials.version,
  };
}

/** Names of EC2 by those of RPM. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: 'x86_64', aarch64: 'arm64' };
/** States in which an image is on its way. */
const COMING: ReadonlySet<string> = new Set(['pending', 'transient']);
const WAIT = 'wait until it is published, or opt the set out; it is looked at again by itself';
const OTHER = 'use a release whose image is published, or opt the set out';

/** What EC2 calls an architecture; undefined where it has no such machines. */
export function imageArchitecture(architecture: string): string | undefined {
  return Object.hasOwn(ARCHITECTURES, architecture) ? ARCHITECTURES[architecture] : undefined;
}

/** Whether machines start from it, if it is of their kind. */
export function isGood({ state }: Pick<Ec2Image, 'state'>): boolean {
  return state === 'available';
}

/** Judges an answer by what the machines need. Pure. */
export function availabilityOf(
  answer: Answer<Ec2Image>,
  asked: { readonly ami: string; readonly region: string },
  needs: Needs,
  known: { readonly type: TypeAnswer | undefined; readonly now: Date },
): Availability {
  const what = `${asked.ami} in ${asked.region}`;
  switch (answer.kind) {
    case 'unverified':
      return answer;
    case 'absent':
      return {
        ...{ kind: 'unusable', reason: 'ImageNotPublished', nextStep: WAIT },
        message: `there is no image ${what}, or it is not shared with the account of these credentials`,
      };
    case 'found':
      return judged(answer.found, what, needs, known);
  }
}

function judged(
  image: Ec2Image,
  what: string,
  needs: Needs,
  { type, now }: { readonly type: TypeAnswer | undefined; readonly now: Date },
): Availability {
  if (!isGood(image)) {
    const why = image.stateReason === undefined ? '' : ` (${word(image.stateReason)})`;
    const coming = COMING.has(image.state);
    return {
      ...{ kind: 'unusable', reason: coming ? 'ImageNotReady' : 'ImageWithdrawn', nextStep: coming ? WAIT : OTHER },
      message: `image ${what} is ${word(image.state)}${why}, and no machine starts from it`,
    };
  }
  const architecture = imageArchitecture(needs.architecture);
  if (architecture !== undefined && image.architecture !== architecture) {
    return {
      ...{ kind: 'unusable', reason: 'ImageIncompatible' },
      message: `image ${what} is for ${word(image.architecture)}, the machines are ${architecture}`,
      nextStep: 'correct the architecture in the annotation of the set, or the stream',
    };
  }
  const { bootMode = '' } = image;
  if (needs.uefi !== undefined && bootMode !== 'uefi' && bootMode !== 'uefi-preferred') {
    return {
      ...{ kind: 'unusable', reason: 'ImageIncompatible' },
      message: `image ${what} does not start with UEFI, which ${needs.uefi} of the set asks for`,
      nextStep: `take ${needs.uefi} out of the set, or use a release whose image starts with UEFI`,
    };
  }
  if (type?.kind === 'found' && type.bootModes.size > 0 && STRICT.has(bootMode) && !type.bootModes.has(bootMode)) {
    return {
      ...{ kind: 'unusable', reason: 'ImageIncompatible' },
      message: `image ${what} starts with ${bootMode} alone, and machines of type ${needs.instanceType} with ${[...type.bootModes].map(word).join(', ')}`,
      nextStep: 'give the set another instanceType, or use a release whose image starts there',
    };
  }
  const end = Date.parse(image.deprecated ?? '');
  // Every public image has an end from the beginning, two years away.
  return Number.isNaN(end) || end > now.getTime()
    ? { kind: 'available' }
    : { kind: 'available', note: `is deprecated since ${new Date(end).toISOString()}: its owner may withdraw it` };
}

const STRICT: ReadonlySet<string> = new Set(['uefi', 'legacy-bios']);

function word(text: string): string {
  return oneLine(text).slice(0, 80);
}
