import type { KeptSet } from '../observe/kept-set.ts';
import { streamOf } from '../observe/stream.ts';
import type { SetFacts } from '../status/boot-image.ts';
import { imageOfSet } from '../wakes/foreign-writes.ts';
import type { PassPorts } from './pass-state.ts';
import { questionAbout } from './question.ts';

/** What the API objects alone say of a set's image: nothing is asked that could fail for long, and nothing is remembered. */
export function setFacts(set: KeptSet, ports: Pick<PassPorts, 'world' | 'platforms' | 'architecture'>): SetFacts {
  return { reference: referenceOf(set, ports), target: targetOf(set, ports) };
}

/** Without its folder, as templates are told by their names. */
function referenceOf(set: KeptSet, { world, platforms }: Pick<PassPorts, 'world' | 'platforms'>): string | undefined {
  const platform = platforms.get(known(() => world.infrastructure()?.status?.platformStatus?.type) ?? '');
  const reference = platform === undefined ? undefined : imageOfSet(set, platform);
  return reference === undefined ? undefined : platform?.nameOf(reference);
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
