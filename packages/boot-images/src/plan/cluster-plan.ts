import { recordedOf } from '../canary/canaries.ts';
import { groupOf } from '../canary/machine.ts';
import { conclusionOf, type ExplainPorts, type Explanation, type Look, lookAtSet } from '../explain.ts';
import { idOf, type KeptSet } from '../observe/kept-set.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import { eachOf } from '../pass/pool.ts';
import type { ForeseenPublication, PlatformPlan, PointedImage, Verified } from '../platform.ts';
import { failureDomainOf } from '../policy/set-policy.ts';
import { foreseeUserData, stubSecretOf, userDataSecret } from '../user-data/user-data.ts';

/**
 * One thing that changes something, in the order in which the operator does it: an image is made, a stub converted, a set pointed at its image. Steps of different
 * images and sets may be under way at the same time; those of one set are one after the other.
 */
export type ClusterStep =
  | ({ readonly kind: 'image' } & ForeseenPublication & { readonly release: string; readonly sets: readonly string[] })
  | {
      readonly kind: 'canary';
      /** Name of the machine that tries the image; it goes again when it was a Ready node. */
      readonly machine: string;
      readonly image: string;
      readonly policy: string;
      readonly sets: readonly string[];
    }
  | { readonly kind: 'stub'; readonly secret: string; readonly sets: readonly string[] }
  | {
      readonly kind: 'point';
      readonly set: string;
      /** None where the image takes over the name that the set has already. */
      readonly edits: readonly LeafEdit[];
      readonly from?: string;
      readonly to: string;
      readonly verified?: Verified;
    };

/** What the operator would do about all sets now. */
export interface ClusterPlan {
  readonly version: 1;
  /** `ClusterVersion.spec.clusterID`. */
  readonly cluster: string;
  /** Release of the golden images; absent where the ConfigMap says none. */
  readonly release?: string;
  readonly steps: readonly ClusterStep[];
  /** The sets that are not moved, and why. */
  readonly rest: readonly (Pick<Explanation, 'set' | 'step' | 'why' | 'nextStep'> & { readonly current?: string })[];
}

/** Options of {@link planCluster}. */
export interface ClusterPlanOptions {
  readonly signal?: AbortSignal;
  /** Sets that are looked at together. Default 4. */
  readonly concurrency?: number;
}

interface Moved {
  readonly set: KeptSet;
  readonly look: Look;
  readonly plan: Extract<PlatformPlan, { readonly kind: 'publish' | 'switch' }>;
}

/** Asks about each set what a pass asks, by the same functions, and of each image that would be made the calls that make it. It writes nothing. */
export async function planCluster(
  sets: readonly KeptSet[],
  ports: ExplainPorts,
  { signal, concurrency = 4 }: ClusterPlanOptions = {},
): Promise<ClusterPlan> {
  const call = signal === undefined ? {} : { signal };
  const looks = new Map<KeptSet, Look>();
  await eachOf(sets, concurrency, async (set) => void looks.set(set, await lookAtSet(set, ports, call)));
  const moved: Moved[] = [];
  const rest: ClusterPlan['rest'][number][] = [];
  for (const set of sets) {
    const look = looks.get(set);
    if (look === undefined) continue;
    const { step, why, nextStep } = conclusionOf(look);
    const { plan } = look;
    if ((step === 'publish' || step === 'switch') && (plan?.kind === 'publish' || plan?.kind === 'switch')) {
      moved.push({ set, look, plan });
      continue;
    }
    const current = (plan ?? look.outcome)?.current;
    rest.push({
      set: idOf(set),
      step,
      why,
      ...(nextStep === undefined ? {} : { nextStep }),
      ...(current === undefined ? {} : { current }),
    });
  }
  const images = await imagesOf(moved, call);
  const canaries = new Map<string, CanaryStep>();
  const stubs = new Map<string, string[]>();
  const points: ClusterStep[] = [];
  for (const one of moved) {
    const { set, plan } = one;
    const pointed =
      plan.kind === 'switch' ? plan.image : plan.publication.pointing(images.get(plan.publication.key)?.name ?? '');
    const canary = canaryFor(one, pointed, ports);
    if (canary?.failed !== undefined) {
      const why = `the canary ${canary.step.machine} failed: ${canary.failed}`;
      rest.push({
        set: idOf(set),
        step: 'blocked',
        why,
        ...(plan.current === undefined ? {} : { current: plan.current }),
      });
      continue;
    }
    if (canary !== undefined) {
      const { sets: before = [] } = canaries.get(canary.step.machine) ?? {};
      canaries.set(canary.step.machine, { ...canary.step, sets: [...before, idOf(set)] });
    }
    const secret = userDataSecret(set);
    const stubSecret = stubSecretOf(set, ports.stubSecret);
    const stub =
      secret === undefined
        ? 'current'
        : await foreseeUserData(ports.client, { secret, stubSecret, now: ports.now(), ...call });
    if (stub === 'convert' && secret !== undefined) stubs.set(secret, [...(stubs.get(secret) ?? []), idOf(set)]);
    const more = typeof stub === 'string' ? [] : [stub];
    points.push({
      kind: 'point',
      set: idOf(set),
      edits: [...pointed.edits, ...more],
      ...(plan.current === undefined ? {} : { from: plan.current }),
      to: plan.target ?? plan.hotLoopValue,
      ...(plan.verified === undefined ? {} : { verified: plan.verified }),
    });
  }
  const { world } = ports;
  const release = world.golden()?.data?.['releaseVersion'];
  return {
    version: 1,
    cluster: world.clusterVersion()?.spec?.clusterID ?? '',
    ...(release === undefined ? {} : { release }),
    steps: [
      ...images.values(),
      ...canaries.values(),
      ...[...stubs].map(([secret, of]): ClusterStep => ({ kind: 'stub', secret, sets: of })),
      ...points,
    ],
    rest,
  };
}

type CanaryStep = Extract<ClusterStep, { readonly kind: 'canary' }>;

/** The machine that tries the image before the set is pointed at it, where its policy wants one, and what it failed with; undefined where none is wanted, or where one has passed. */
function canaryFor(
  { set, look }: Moved,
  image: PointedImage,
  { world, platforms }: ExplainPorts,
): { readonly step: Omit<CanaryStep, 'sets'>; readonly failed: string | undefined } | undefined {
  const { policy, input } = look.asked ?? {};
  if (policy?.spec.canary?.mode !== 'Machine' || input === undefined || input.pin !== undefined) return undefined;
  const failureDomain = failureDomainOf(set, world, platforms);
  const group = groupOf(set, policy, image, { failureDomain, architecture: input.architecture });
  const said = recordedOf(group.id, world.bootImages());
  const step = { kind: 'canary', machine: group.machine, image: group.image, policy: policy.name } as const;
  return said?.verdict === 'Passed' ? undefined : { step, failed: said?.message };
}

type ImageStep = Extract<ClusterStep, { readonly kind: 'image' }>;

/** The images that are made, each once, whichever of its sets comes first. */
async function imagesOf(
  moved: readonly Moved[],
  call: { readonly signal?: AbortSignal },
): Promise<ReadonlyMap<string, ImageStep>> {
  const images = new Map<string, ImageStep>();
  const made = moved.flatMap(({ set, plan }) => (plan.kind === 'publish' ? [{ set, plan }] : []));
  for (const [key, of] of Map.groupBy(made, ({ plan }) => plan.publication.key)) {
    const [first] = of;
    if (first === undefined) continue;
    const foreseen = await first.plan.publication.foresee(call);
    const release = first.plan.target ?? first.plan.hotLoopValue;
    images.set(key, { kind: 'image', ...foreseen, release, sets: of.map(({ set }) => idOf(set)) });
  }
  return images;
}
