import { keyOf } from '@drydock/kube';
import { permitted } from '../decide/control-plane.ts';
import { decideSet, type Skip } from '../decide/decide.ts';
import { BootImageError, orBootImageError, withFacts } from '../errors.ts';
import { factsOf } from '../image-facts.ts';
import { cloudAuthorities } from '../observe/cloud-config.ts';
import type { KeptSet } from '../observe/kept-set.ts';
import type { Stream } from '../observe/stream.ts';
import type { World } from '../observe/world.ts';
import type { ByPolicy, Platform, PlatformInput, PlatformPlan } from '../platform.ts';
import { heldByPolicy, type Waiting } from '../policy/held.ts';
import { streamBy } from '../policy/image-source.ts';
import { followedOn, policyOn, type SetPolicy } from '../policy/set-policy.ts';
import { wayOf } from '../shared-names/name.ts';
import { checkSharedName } from '../shared-names/policies.ts';
import { imageOf as bootImageFor, originsIn } from '../status/boot-image-store.ts';
import type { PassPorts } from './pass-state.ts';
import { pinOf } from './pin-of.ts';

/** What the platform of a set is asked. */
export interface Question {
  readonly kind: 'question';
  readonly platform: Platform;
  readonly input: PlatformInput;
  /** The policy that decides about the set; absent where none does. */
  readonly policy?: SetPolicy;
}

/** What is read to ask about a set. */
export type AskPorts = Pick<PassPorts, 'world' | 'platforms' | 'architecture' | 'now'>;

/** Decides what can be decided about a set without its platform: why it is left alone, or what the platform is asked. Throws `BootImageError` for what must be reported. */
export function questionAbout(set: KeptSet, stream: Stream | BootImageError, ports: AskPorts): Skip | Question {
  const asked = questionOf(set, stream, ports);
  return asked.kind === 'skip' ? asked : byPolicy(asked, ports);
}

/** The same without the policies. `pinned`: how its pin is found. */
export function questionOf(
  set: KeptSet,
  stream: Stream | BootImageError,
  ports: AskPorts,
  pinned: typeof pinOf = pinOf,
): Skip | Question {
  const { world, platforms, architecture } = ports;
  const decision = decideSet({
    set,
    clusterVersion: world.clusterVersion(),
    infrastructure: world.infrastructure(),
    stream,
    fallbackArchitecture: architecture,
    platforms,
  });
  if (decision.kind === 'error') throw decision.error;
  if (decision.kind === 'skip') return decision;
  const platform = platforms.get(decision.platform);
  if (platform === undefined)
    throw new BootImageError('NotReady', `what is known of platform ${decision.platform} is not loaded yet`);
  const { infrastructure } = decision;
  const { pin } = pinned(set, platform, ports) ?? {};
  const authorities = cloudAuthorities(world.cloudConfig());
  const origins = originsIn(world.bootImage(keyOf(bootImageFor(set))), set);
  return {
    kind: 'question',
    platform,
    input: {
      set,
      spec: decision.spec,
      architecture: decision.architecture,
      stream: decision.stream,
      infrastructure,
      cluster: world.clusterVersion()?.spec?.clusterID ?? infrastructure.status?.infrastructureName ?? '',
      secret: world.secret,
      installConfig: world.installConfig(),
      ...(authorities === undefined ? {} : { authorities }),
      ...(pin === undefined ? {} : { pin }),
      ...(origins.length === 0 ? {} : { origins }),
    },
  };
}

/** Why a set cannot be asked about, with what its machines start from all the same: what a name that it shares bears changes without it. */
export async function withPlace(
  error: unknown,
  set: KeptSet,
  stream: Stream | BootImageError,
  ports: AskPorts,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<unknown> {
  if (!(error instanceof BootImageError) || error.facts !== undefined) return error;
  try {
    const asked = questionOf(set, stream, ports, () => undefined);
    if (asked.kind === 'skip') return error;
    const { current, template } = factsOf(await planOf(asked, ports, call));
    return withFacts(error, {
      ...(current === undefined ? {} : { current }),
      ...(template === undefined ? {} : { template }),
    });
  } catch {
    call.signal?.throwIfAborted();
    // Its place cannot be looked at either: the first error is what has to be put right.
    return error;
  }
}

/** The question as the policy of the set changes it, or why that leaves the set alone. Of a set that is pinned it says how, and no more. */
export function byPolicy(question: Question, ports: AskPorts): Skip | Question {
  const { platform, input } = question;
  const policy = input.pin === undefined ? policyOn(input.set, ports) : followedOn(input.set, ports);
  if (policy !== undefined && 'kind' in policy) return policy;
  if (input.pin === undefined) checkSharedName(input.set, platform, ports);
  if (policy === undefined) return question;
  const by = wishesOf(policy, platform, input);
  if (input.pin !== undefined) return { ...question, policy, input: { ...input, by } };
  const { set, architecture } = input;
  const stream = streamBy(input.stream, policy, { set, platform: platform.type, architecture });
  return { ...question, policy, input: { ...input, stream, by } };
}

function wishesOf({ spec }: SetPolicy, platform: Platform, { stream, architecture }: PlatformInput): ByPolicy {
  const { publication, retention, image } = spec;
  const way = wayOf(publication);
  const own = stream.release(architecture, platform.type === 'VSphere' ? 'vmware' : platform.name);
  return {
    ...(way === undefined ? {} : { publication: way }),
    ...(retention?.keep === undefined ? {} : { keep: retention.keep }),
    ...(image?.release === undefined || image.release === own ? {} : { pinned: true }),
  };
}

/** What the platform plans for a set, as far as it may be carried out now. */
export async function planOf(
  { platform, input, policy }: Question,
  { world: { clusterVersion }, now }: { readonly world: Pick<World, 'clusterVersion'> } & Pick<PassPorts, 'now'>,
  call: { readonly signal?: AbortSignal | undefined } = {},
): Promise<PlatformPlan | Waiting> {
  const planned = await platform.plan(input, call);
  const plan = permitted(input.set, input.pin === undefined ? planned : { ...planned, pinned: true }, clusterVersion());
  if (plan.kind !== 'switch' && plan.kind !== 'publish') return plan;
  const held = heldByPolicy({ input, ...(policy === undefined ? {} : { policy }) }, now());
  return held === undefined ? plan : { ...factsOf(plan), ...held };
}

/** Lets the platform know of all sets that it is about to be asked about. What is wrong with one is told when it is asked about by itself. */
export function foresee(sets: readonly KeptSet[], stream: Stream | BootImageError, ports: AskPorts): void {
  const platform = ports.platforms.get(ports.world.infrastructure()?.status?.platformStatus?.type ?? '');
  if (platform?.foresee === undefined) return;
  const inputs: PlatformInput[] = [];
  for (const set of sets) {
    const asked = orBootImageError(() => questionAbout(set, stream, ports));
    if (!(asked instanceof BootImageError) && asked.kind === 'question') inputs.push(asked.input);
  }
  platform.foresee(inputs);
}
