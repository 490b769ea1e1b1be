import { keyOf } from '@drydock/kube';
import { recordedOf } from '../canary/canaries.ts';
import { groupOf } from '../canary/machine.ts';
import {
  type Conclusion,
  conclusionOf,
  conclusionOfError,
  type ExplainPorts,
  type Explanation,
  type Look,
  lookAtSet,
} from '../explain.ts';
import { idOf, type KeptSet } from '../observe/kept-set.ts';
import { streamOf } from '../observe/stream.ts';
import { foresee } from '../pass/question.ts';
import type { ForeseenPublication, PlatformPlan, PointedImage } from '../platform.ts';
import { failureDomainOf } from '../policy/set-policy.ts';
import { eachOf } from '../pool.ts';
import { imageOf } from '../status/boot-image-store.ts';
import { foreseeUserData, stubSecretOf, userDataSecret, wayBackOf } from '../user-data/user-data.ts';
import { addFor, type ClusterStep, type StepOf } from './cluster-step.ts';
import { collectionsOf } from './collections.ts';

/** What the operator would do about sets now. */
export interface ClusterPlan {
  readonly version: 1;
  /** `ClusterVersion.spec.clusterID`. */
  readonly cluster: string;
  /** The sets that it is about; absent: all. */
  readonly sets?: readonly string[];
  /** Release of the golden images; absent where the ConfigMap says none. */
  readonly release?: string;
  readonly steps: readonly ClusterStep[];
  /** What could not be looked at although no set depends on it. */
  readonly notes?: readonly string[];
  /** The sets that are not moved, and why. */
  readonly rest: readonly (Pick<Explanation, 'set' | 'step' | 'why' | 'nextStep'> & { readonly current?: string })[];
}

/** Options of {@link planCluster}. */
export interface ClusterPlanOptions {
  readonly signal?: AbortSignal | undefined;
  /** Sets that are looked at together. Default 4. */
  readonly concurrency?: number;
  /** These were asked about, and not all that there are. */
  readonly some?: boolean;
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
  { signal, concurrency = 4, some = false }: ClusterPlanOptions = {},
): Promise<ClusterPlan> {
  const looks = new Map<KeptSet, Look>();
  // Platforms tell the sets of one look the same: what was so for those before is asked anew.
  const stream = streamOf(ports.world.golden());
  if (stream !== undefined) foresee(sets, stream, ports);
  await eachOf(sets, concurrency, async (set) => void looks.set(set, await lookAtSet(set, ports, { signal })));
  const moved: Moved[] = [];
  const rest: ClusterPlan['rest'][number][] = [];
  const stay = (set: KeptSet, why: Conclusion, current: string | undefined): void => {
    const { edits: _, ...words } = why;
    rest.push({ set: idOf(set), ...words, ...(current === undefined ? {} : { current }) });
  };
  for (const set of sets) {
    const look = looks.get(set);
    if (look === undefined) continue;
    const conclusion = conclusionOf(look);
    const { plan } = look;
    const moves = conclusion.step === 'publish' || conclusion.step === 'switch';
    if (moves && (plan?.kind === 'publish' || plan?.kind === 'switch')) moved.push({ set, look, plan });
    else stay(set, conclusion, (plan ?? look.outcome)?.current);
  }
  const images = await imagesOf(moved, concurrency, { signal });
  const canaries = new Map<string, StepOf<'canary'>>();
  const stubs = new Map<string, StepOf<'stub'>>();
  const points: StepOf<'point'>[] = [];
  for (const one of moved) {
    const { set, plan, look } = one;
    const image = plan.kind === 'switch' ? undefined : images.get(plan.publication.key);
    if (image instanceof Error) {
      stay(set, conclusionOfError(set, image), plan.current);
      continue;
    }
    const pointed = plan.kind === 'switch' ? plan.image : plan.publication.pointing(image?.step.name ?? '');
    // A name that nobody bears is taken at once: no machine can be made until somebody does.
    const tried = image?.beside ?? (pointed.edits.length === 0 ? undefined : pointed);
    const canary = tried === undefined ? undefined : canaryFor(one, tried, ports);
    if (canary?.failed !== undefined) {
      const why = `the canary ${canary.step.machine} failed: ${canary.failed}`;
      stay(set, { step: 'blocked', why }, plan.current);
      continue;
    }
    if (canary !== undefined) addFor(canaries, canary.step.machine, { ...canary.step, sets: [idOf(set)] });
    const secret = userDataSecret(set);
    const stubSecret = stubSecretOf(set, ports.stubSecret);
    const wayBack = wayBackOf(set, ports.world.bootImage(keyOf(imageOf(set)))?.status, look.asked?.input.pin);
    const stub =
      secret === undefined
        ? {}
        : await foreseeUserData(ports.client, { secret, stubSecret, wayBack, now: ports.now(), signal });
    if (stub.converts !== undefined)
      addFor(stubs, stub.converts, { kind: 'stub', secret: stub.converts, sets: [idOf(set)] });
    const more = stub.edit === undefined ? [] : [stub.edit];
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
  const made = [...images.values()].flatMap((image) => (image instanceof Error ? [] : [image.step]));
  const collected = await collectionsOf(looks.values(), usedBy(moved, made), ports, { signal });
  const release = world.golden()?.data?.['releaseVersion'];
  return {
    version: 1,
    cluster: world.clusterVersion()?.spec?.clusterID ?? '',
    ...(some ? { sets: sets.map(idOf) } : {}),
    ...(release === undefined ? {} : { release }),
    steps: [...made, ...canaries.values(), ...stubs.values(), ...points, ...collected.steps],
    ...(collected.notes.length === 0 ? {} : { notes: collected.notes }),
    rest,
  };
}

/** Names of what the plan makes, touches and points at. */
function usedBy(moved: readonly Moved[], made: readonly StepOf<'image'>[]): ReadonlySet<string> {
  const pointed = moved.flatMap(({ plan, look }) => {
    const { reference, template } = plan.kind === 'switch' ? plan.image : {};
    const named = reference === undefined ? undefined : look.asked?.platform.nameOf(reference);
    return [named, template?.name, plan.template?.name].filter((name) => name !== undefined);
  });
  const touched = made.flatMap(({ name, steps }) => [name, ...steps.flatMap(({ machine }) => machine ?? [])]);
  return new Set([...pointed, ...touched]);
}

/** The machine that tries the image before the set is pointed at it, where its policy wants one, and what it failed with; undefined where none is wanted, or where one has passed. */
function canaryFor(
  { set, look }: Moved,
  image: PointedImage,
  { world, platforms }: ExplainPorts,
): { readonly step: Omit<StepOf<'canary'>, 'sets'>; readonly failed: string | undefined } | undefined {
  const { policy, input } = look.asked ?? {};
  if (policy?.spec.canary?.mode !== 'Machine' || input === undefined || input.pin !== undefined) return undefined;
  const failureDomain = failureDomainOf(set, world, platforms);
  const group = groupOf(set, policy, image, { failureDomain, architecture: input.architecture });
  const said = recordedOf(group.id, world.bootImages());
  const step = { kind: 'canary', machine: group.machine, image: group.image, policy: policy.name } as const;
  return said?.verdict === 'Passed' ? undefined : { step, failed: said?.message };
}

/** An image that is made. */
interface MadeImage {
  readonly step: StepOf<'image'>;
  readonly beside: ForeseenPublication['beside'];
}

/** The images that are made, each once, whichever of its sets comes first; or why one cannot be. */
async function imagesOf(
  moved: readonly Moved[],
  concurrency: number,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<ReadonlyMap<string, MadeImage | Error>> {
  const made = moved.flatMap(({ set, plan }) => (plan.kind === 'publish' ? [{ set, plan }] : []));
  const groups = [...Map.groupBy(made, ({ plan }) => plan.publication.key)].entries();
  // In the order of their sets, however long each took.
  const found: [key: string, image: MadeImage | Error][] = [];
  await eachOf([...groups], concurrency, async ([at, [key, of]]) => {
    const [first] = of;
    if (first === undefined) return;
    try {
      const { beside, ...foreseen } = await first.plan.publication.foresee(call);
      const release = first.plan.target ?? first.plan.hotLoopValue;
      found[at] = [
        key,
        { step: { kind: 'image', ...foreseen, release, sets: of.map(({ set }) => idOf(set)) }, beside },
      ];
    } catch (error) {
      call.signal?.throwIfAborted();
      found[at] = [key, error instanceof Error ? error : new Error(String(error))];
    }
  });
  return new Map(found);
}
