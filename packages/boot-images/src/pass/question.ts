import { keyOf } from '@drydock/kube';
import { permitted } from '../decide/control-plane.ts';
import { decideSet, type Skip } from '../decide/decide.ts';
import { BootImageError } from '../errors.ts';
import type { KeptSet } from '../observe/kept-set.ts';
import type { Stream } from '../observe/stream.ts';
import type { World } from '../observe/world.ts';
import type { Platform, PlatformInput, PlatformPlan } from '../platform.ts';
import { imageOf as bootImageFor, originsIn } from '../status/boot-image-store.ts';
import type { PassPorts } from './pass-state.ts';
import { pinOf } from './pin-of.ts';

/** What the platform of a set is asked. */
export interface Question {
  readonly kind: 'question';
  readonly platform: Platform;
  readonly input: PlatformInput;
}

/** What is read to ask about a set. */
export type AskPorts = Pick<PassPorts, 'world' | 'platforms' | 'architecture' | 'now'>;

/** Decides what can be decided about a set without its platform: why it is left alone, or what the platform is asked. Throws `BootImageError` for what must be reported. */
export function questionAbout(set: KeptSet, stream: Stream | BootImageError, ports: AskPorts): Skip | Question {
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
  const { pin } = pinOf(set, platform, ports) ?? {};
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
      ...(pin === undefined ? {} : { pin }),
      ...(origins.length === 0 ? {} : { origins }),
    },
  };
}

/** What the platform plans for a set, as far as it may be carried out. */
export async function planOf(
  { platform, input }: Question,
  { clusterVersion }: Pick<World, 'clusterVersion'>,
  call: { readonly signal?: AbortSignal } = {},
): Promise<PlatformPlan> {
  const plan = await platform.plan(input, call);
  return permitted(input.set, input.pin === undefined ? plan : { ...plan, pinned: true }, clusterVersion());
}

/** Lets the platform know of all sets that it is about to be asked about. What is wrong with one is told when it is asked about by itself. */
export function foresee(sets: readonly KeptSet[], stream: Stream | BootImageError, ports: AskPorts): void {
  const platform = ports.platforms.get(ports.world.infrastructure()?.status?.platformStatus?.type ?? '');
  if (platform?.foresee === undefined) return;
  const inputs: PlatformInput[] = [];
  for (const set of sets) {
    try {
      const asked = questionAbout(set, stream, ports);
      if (asked.kind === 'question') inputs.push(asked.input);
    } catch (error) {
      if (!(error instanceof BootImageError)) throw error;
    }
  }
  platform.foresee(inputs);
}
