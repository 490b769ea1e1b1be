import { oneLine } from '@drydock/api/text';
import type { Availability } from '../cloud/availability.ts';
import type { Ec2Image, ImageAnswer, TypeAnswer } from './client.ts';
import type { Needs } from './target.ts';

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
  answer: ImageAnswer,
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
      return judged(answer.image, what, needs, known);
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
