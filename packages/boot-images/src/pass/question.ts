import type { MachineSet } from '@drydock/api';
import { decideSet, type Skip } from '../decide/decide.ts';
import type { BootImageError } from '../errors.ts';
import type { Stream } from '../observe/stream.ts';
import type { Platform, PlatformInput } from '../platform.ts';
import type { PassPorts } from './pass-state.ts';

/** What the platform of a set is asked. */
export interface Question {
  readonly kind: 'question';
  readonly platform: Platform;
  readonly input: PlatformInput;
}

/** Decides what can be decided about a set without its platform: why it is left alone, or what the platform is asked. Throws `BootImageError` for what must be reported. */
export function questionAbout(
  set: MachineSet,
  stream: Stream | BootImageError,
  { world, platforms, architecture }: Pick<PassPorts, 'world' | 'platforms' | 'architecture'>,
): Skip | Question {
  const decision = decideSet({
    set,
    clusterVersion: world.clusterVersion(),
    infrastructure: world.infrastructure(),
    stream,
    fallbackArchitecture: architecture,
    platforms: new Set(platforms.keys()),
  });
  if (decision.kind === 'error') throw decision.error;
  if (decision.kind === 'skip') return decision;
  const platform = platforms.get(decision.platform);
  if (platform === undefined) throw new TypeError(`no platform ${decision.platform}`);
  const { infrastructure } = decision;
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
    },
  };
}
