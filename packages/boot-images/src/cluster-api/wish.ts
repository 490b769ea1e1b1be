import type { BootImage, BootImagePolicy } from '@drydock/api';
import { shortText } from '@drydock/api/text';
import { wantsCanary } from '../canary/rights.ts';
import { canarySpec } from '../canary/spec.ts';
import { optOutAnnotation, optOutReasonAnnotation } from '../decide/request.ts';
import { type PolicySubject, policyFor, readPolicy } from '../policy/policy-for.ts';
import { isPaced } from '../policy/turns.ts';
import { windowsAt } from '../policy/windows.ts';
import { livePin, pinFault } from '../way-back/pin.ts';
import { architectureOf, catalogueImage, type NoImage, type WantedImage } from './catalogue.ts';
import type { ImageLeaf } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';
import type { ReleaseImages } from './openshift.ts';
import type { RotationWish } from './rotation.ts';
import { type RotatedSet, setText } from './set.ts';

/** From what a wish is made. */
export interface WishSources {
  readonly policies: readonly BootImagePolicy[];
  /** The BootImage of the set. */
  readonly image: BootImage | undefined;
  readonly now: Date;
  /** Which right is missing for a canary; undefined where none is. */
  readonly canaryMissing?: (policy: BootImagePolicy) => string | undefined;
  /** Of the OpenShift cluster that this is; absent: it is none. */
  readonly release?: ReleaseImages | undefined;
  /** Why it is not the set's turn, by the pace of the policy that decides about it. */
  readonly turn?: (set: RotatedSet, policy: BootImagePolicy) => RotationWish['waits'];
}

/** Longest reason that a table cell shows, in UTF-16 units. */
const CELL = 60;

/** What is wanted for a set: a request to leave it alone comes first, then a pin, then the policy that selects it. */
export function wishFor(
  set: RotatedSet,
  { policies, image, now, turn, canaryMissing, release }: WishSources,
): RotationWish {
  const { policy, conflict } = policyOfRotated(set, policies);
  const spec = policy?.spec ?? {};
  const name = policy === undefined ? undefined : `bootimagepolicy ${policy.metadata.name}`;
  const leftAlone = asked(set) ?? (spec.optOut === undefined ? undefined : byPolicy(set, name, spec.optOut.reason));
  const pinned = livePin(image, now.getTime()) !== undefined;
  const { catalogue, release: named } = spec.image ?? {};
  const byRelease = catalogue === undefined || named === undefined ? release?.waits(set) : undefined;
  const waits = pinned
    ? undefined
    : policy === undefined
      ? byRelease
      : (waitsFor(policy, now) ?? byRelease ?? (isPaced(policy) ? turn?.(set, policy) : undefined));
  // A person who pinned a set has seen the image run.
  const canary =
    pinned || policy === undefined || !wantsCanary(policy)
      ? undefined
      : {
          policy: { name: policy.metadata.name, uid: policy.metadata.uid, generation: policy.metadata.generation },
          ...canarySpec(spec),
        };
  return {
    ...(leftAlone === undefined ? {} : { leftAlone }),
    ...(waits === undefined ? {} : { waits }),
    image: (leaf, template) => imageFor(set, leaf, { policy, conflict, image, now, canaryMissing, release, template }),
    rollout: spec.clusterAPI?.rollout === 'Allow',
    imagePaths: spec.clusterAPI?.imagePaths ?? [],
    classVariable: spec.clusterAPI?.classVariable,
    policy: name,
    ...(canary === undefined ? {} : { canary }),
  };
}

/** Which policy decides about a set of Cluster API. */
export function policyOfRotated(set: RotatedSet, policies: readonly BootImagePolicy[]): ReturnType<typeof policyFor> {
  return policyFor(policySubjectOf(set), policies);
}

function imageFor(
  set: RotatedSet,
  leaf: ImageLeaf,
  {
    policy,
    conflict,
    image,
    now,
    canaryMissing,
    release,
    template,
  }: Omit<WishSources, 'policies' | 'canaryMissing'> & {
    readonly canaryMissing: WishSources['canaryMissing'] | undefined;
    readonly policy: BootImagePolicy | undefined;
    readonly conflict: readonly string[] | undefined;
    readonly template: ClusterApiObject | undefined;
  },
): WantedImage | NoImage {
  const text = setText(set);
  const pin = livePin(image, now.getTime());
  if (pin !== undefined) {
    const fault = pin.image === undefined ? 'names no image' : pinFault(pin);
    if (pin.image !== undefined && fault === undefined)
      return { kind: 'named', release: pin.release ?? pin.image, image: pin.image, pinned: true };
    const { namespace = '', name = '' } = image?.metadata ?? {};
    return none(
      true,
      'PinInvalid',
      'pin is wrong',
      `the pin of ${text} ${fault}`,
      `name one in spec.pin.image, or take spec.pin off: kubectl -n ${namespace} edit bootimage ${name}`,
    );
  }
  if (conflict !== undefined)
    return none(
      true,
      'PolicyConflict',
      `policies ${conflict.join(', ')}`,
      `bootimagepolicies ${conflict.join(' and ')} select ${text} with the same priority`,
      `give one of them a higher spec.priority: kubectl edit bootimagepolicy ${conflict[0]}`,
    );
  const { catalogue, release: asked } = policy?.spec?.image ?? {};
  const by = { policy: policy && `bootimagepolicy ${policy.metadata.name}`, release: asked, template };
  const ofRelease = (): WantedImage | NoImage | undefined =>
    catalogue === undefined ? release?.image(set, leaf, by) : undefined;
  if (policy === undefined)
    return (
      ofRelease() ??
      none(
        false,
        'NoPolicy',
        'no policy selects it',
        `no BootImagePolicy selects ${text}, and without OpenShift nothing else says which image it is to have`,
        'apply a BootImagePolicy with spec.image.catalogue that selects it',
      )
    );
  const source = `bootimagepolicy ${policy.metadata.name}`;
  const { fault } = readPolicy(policy);
  if (fault !== undefined)
    return none(true, fault.reason, 'policy is wrong', `${source}: ${fault.message}`, `correct ${source}`);
  const missing = wantsCanary(policy) ? canaryMissing?.(policy) : undefined;
  if (missing !== undefined)
    return none(
      true,
      'PolicyRefused',
      'policy is refused',
      `${source} decides about ${text} and cannot be followed: ${missing}`,
      'grant it: kubectl apply -k deploy/rbac/cluster-api-canary',
    );
  const found = ofRelease();
  if (found !== undefined) return found;
  const followed = asked === undefined ? release?.release(set, leaf) : undefined;
  if (typeof followed === 'object') return followed;
  const wanted = asked ?? followed ?? set.version;
  if (wanted === undefined)
    return none(
      false,
      'NoVersion',
      'no version',
      `${text} names no version`,
      `name a version in ${text}, or spec.image.release in ${source}`,
    );
  const listed = catalogueImage({ source, entries: catalogue ?? [] }, wanted, architectureOf(set), leaf.platform);
  if (followed === undefined || listed.kind !== 'none' || listed.reason !== 'NotInCatalogue') return listed;
  const why = `${text} makes machines of the cluster itself, whose release asks for ${followed}`;
  return { ...listed, message: `${why}; ${listed.message}` };
}

function none(blocked: boolean, reason: string, brief: string, message: string, nextStep: string): NoImage {
  return { kind: 'none', blocked, reason, brief: shortText(brief, CELL), message, nextStep };
}

function waitsFor(policy: BootImagePolicy, now: Date): RotationWish['waits'] {
  const { metadata, spec = {} } = policy;
  const source = `bootimagepolicy ${metadata.name}`;
  const { windows, heldUntil = Number.POSITIVE_INFINITY } = readPolicy(policy);
  if (spec.hold !== undefined && heldUntil > now.getTime())
    return {
      ...{ reason: 'Held', brief: shortText(`held: ${spec.hold.reason ?? 'no reason given'}`, CELL) },
      message: `${source} holds it${spec.hold.until === undefined ? '' : ` until ${spec.hold.until}`}: ${spec.hold.reason ?? 'no reason given'}`,
      nextStep: `kubectl patch bootimagepolicy ${metadata.name} --type json -p '[{"op":"remove","path":"/spec/hold"}]'`,
    };
  const state = windowsAt(windows, now.getTime());
  if (state.open) return undefined;
  const opens = Number.isFinite(state.opens) ? new Date(state.opens).toISOString() : 'never';
  return {
    ...{ reason: 'WindowClosed', brief: `window opens ${opens}` },
    message: `no window of ${source} is open; the next one opens ${opens}`,
  };
}

function asked(set: RotatedSet): RotationWish['leftAlone'] {
  const { annotations = {} } = set.object.metadata;
  if (annotations[optOutAnnotation] === undefined) return undefined;
  const why = annotations[optOutReasonAnnotation]?.trim() ?? '';
  const reason = why === '' ? '' : `: ${why}`;
  return {
    ...{ reason: 'OptedOut', brief: shortText(`by request${reason}`, CELL) },
    message: `${setText(set)} is left alone by request, by annotation ${optOutAnnotation}${reason}`,
    nextStep: `to have it kept current, take annotation ${optOutAnnotation} off ${setText(set)}`,
  };
}

function byPolicy(set: RotatedSet, source = 'a policy', why: string | undefined): RotationWish['leftAlone'] {
  const reason = why === undefined || why === '' ? '' : `: ${why}`;
  return {
    ...{ reason: 'OptedOut', brief: shortText(`by policy${reason}`, CELL) },
    message: `${setText(set)} is left alone by ${source}${reason}`,
    nextStep: `to have it kept current, take spec.optOut out of ${source}`,
  };
}

/** A set of Cluster API as policies select it. */
export function policySubjectOf({ kind, object, failureDomains }: RotatedSet): PolicySubject {
  const [failureDomain, ...more] = failureDomains;
  const where = more.length > 0 || failureDomain === undefined ? {} : { failureDomain };
  return { kind, labels: object.metadata.labels, ...where };
}
