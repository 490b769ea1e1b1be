import type { KeptSet } from '../observe/kept-set.ts';
import { isObject, streamOf } from '../observe/stream.ts';
import type { SetFacts } from '../status/boot-image.ts';
import { imageOfSet } from '../wakes/foreign-writes.ts';
import type { PassPorts } from './pass-state.ts';
import { questionAbout } from './question.ts';

/** What the API objects alone say of a set's image: nothing is asked that could fail for long, and nothing is remembered. */
export function setFacts(set: KeptSet, ports: Pick<PassPorts, 'world' | 'platforms' | 'architecture'>): SetFacts {
  return { ...imageFacts(set, ports), target: targetOf(set, ports) };
}

function imageFacts(
  set: KeptSet,
  { world, platforms }: Pick<PassPorts, 'world' | 'platforms'>,
): Omit<SetFacts, 'target'> {
  const platform = platforms.get(known(() => world.infrastructure()?.status?.platformStatus?.type) ?? '');
  const reference = platform === undefined ? undefined : imageOfSet(set, platform);
  if (platform === undefined || reference === undefined) return { reference: undefined };
  const spec: unknown = set.spec?.template?.spec?.providerSpec?.value;
  const place = isObject(spec) ? platform.placeOf(spec) : undefined;
  return {
    reference: platform.nameOf(reference),
    image: platform.recordOf?.(reference) ?? reference,
    ...(place === undefined ? {} : { place }),
  };
}

function targetOf(set: KeptSet, ports: Pick<PassPorts, 'world' | 'platforms' | 'architecture'>): string | undefined {
  return known(() => {
    const stream = streamOf(ports.world.golden());
    if (stream === undefined) return undefined;
    const asked = questionAbout(set, stream, ports);
    return asked.kind === 'skip' ? undefined : asked.platform.target(asked.input);
  });
}

/** What cannot be read or does not parse is told where it is decided upon. */
function known<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
