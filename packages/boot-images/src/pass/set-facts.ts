import { orUndefined } from '../errors.ts';
import { type KeptSet, specOf } from '../observe/kept-set.ts';
import { streamOf } from '../observe/stream.ts';
import type { Platform } from '../platform.ts';
import { verdictOn } from '../policy/set-policy.ts';
import type { SetFacts } from '../status/subject.ts';
import { imageOfSet } from '../wakes/foreign-writes.ts';
import { pinnedName } from '../way-back/pin.ts';
import { pinOf } from './pin-of.ts';
import { type AskPorts, questionAbout } from './question.ts';

/** What the API objects alone say of a set's image: nothing is asked that could fail for long, and nothing is remembered. */
export function setFacts(set: KeptSet, ports: AskPorts): SetFacts {
  const platform = ports.platforms.get(
    orUndefined(() => ports.world.infrastructure()?.status?.platformStatus?.type) ?? '',
  );
  const pin = orUndefined(() => pinOf(set, platform, ports));
  const policy = orUndefined(() => verdictOn(set, ports).policy?.metadata.name);
  return {
    ...{ ...imageFacts(set, platform), target: targetOf(set, ports) },
    ...(pin === undefined ? {} : { pin }),
    ...(policy === undefined ? {} : { policy }),
  };
}

function imageFacts(set: KeptSet, platform: Platform | undefined): Omit<SetFacts, 'target'> {
  const reference = platform === undefined ? undefined : imageOfSet(set, platform);
  if (platform === undefined || reference === undefined) return { reference: undefined };
  const spec = specOf(set);
  const place = spec && platform.placeOf(spec);
  return {
    reference: platform.nameOf(reference),
    image: platform.recordOf?.(reference) ?? reference,
    ...(place === undefined ? {} : { place }),
  };
}

function targetOf(set: KeptSet, ports: AskPorts): string | undefined {
  return orUndefined(() => {
    const stream = streamOf(ports.world.golden());
    if (stream === undefined) return undefined;
    const asked = questionAbout(set, stream, ports);
    if (asked.kind === 'skip') return undefined;
    const { pin } = asked.input;
    return pin === undefined ? asked.platform.target(asked.input) : pinnedName(pin);
  });
}
