import type { BootImage, Infrastructure } from '@drydock/api';
import { idOf, type KeptSet } from '../observe/kept-set.ts';
import { isObject } from '../observe/stream.ts';
import type { World } from '../observe/world.ts';
import type { Platform } from '../platform.ts';
import { endOf, type FoundPin, livePin, type Pin, samePin } from '../way-back/pin.ts';

/** What shared pins are read from. */
export type SharedPinSources = Pick<World, 'pinnedImages' | 'machineSet' | 'machineSets' | 'infrastructure'>;

/** So many images that are wanted under one name are told apart: two are too many already. */
const TOLD_APART = 8;

/** An image that pins under one name want, and who wants it. */
interface Wanted {
  readonly pin: Pin;
  /** The first two sets: one is another one than whoever asks. */
  readonly of: string[];
}

/** The pins of all sets by the name that they share, as long as nothing that they follow from has changed. */
interface SharedPins {
  readonly sets: ReturnType<World['machineSets']>;
  readonly infrastructure: Infrastructure | undefined;
  readonly platform: Pick<Platform, 'sharedName'>;
  /** The time (ms) for which it holds, its end excluded. */
  readonly from: number;
  readonly until: number;
  readonly byName: ReadonlyMap<string, readonly Wanted[]>;
}

const known = new WeakMap<readonly BootImage[], SharedPins>();

/** Pins of other sets whose machines are made from what bears the same name, one for each image that they want. All sets together cost one look at each pin. */
export function sharedPins(
  set: KeptSet,
  platform: Pick<Platform, 'sharedName'> | undefined,
  world: SharedPinSources,
  now: number,
): readonly FoundPin[] {
  if (platform?.sharedName === undefined) return [];
  const pinned = world.pinnedImages();
  if (pinned.length === 0) return [];
  const name = nameIn(set, platform, world.infrastructure());
  if (name === undefined) return [];
  const id = idOf(set);
  const wanted = pinsOf(pinned, platform, world, now).byName.get(name) ?? [];
  return wanted.flatMap(({ pin, of }) =>
    of
      .filter((other) => other !== id)
      .slice(0, 1)
      .map((other) => ({ pin, of: other })),
  );
}

function pinsOf(
  pinned: readonly BootImage[],
  platform: Pick<Platform, 'sharedName'>,
  world: SharedPinSources,
  now: number,
): SharedPins {
  const [sets, infrastructure] = [world.machineSets(), world.infrastructure()];
  const before = known.get(pinned);
  const same = before?.sets === sets && before.infrastructure === infrastructure && before.platform === platform;
  if (before !== undefined && same && now >= before.from && now < before.until) return before;
  const byName = new Map<string, Wanted[]>();
  let until = Number.POSITIVE_INFINITY;
  for (const image of pinned) {
    const pin = livePin(image, now);
    const set = pin === undefined ? undefined : setOf(image, world);
    const name = set && nameIn(set, platform, infrastructure);
    if (pin === undefined || set === undefined || name === undefined) continue;
    until = Math.min(until, endOf(pin) ?? until);
    const wanted = byName.get(name) ?? [];
    byName.set(name, wanted);
    const found = wanted.find((one) => samePin(one.pin, pin));
    if (found === undefined && wanted.length < TOLD_APART) wanted.push({ pin, of: [idOf(set)] });
    else if (found !== undefined && found.of.length < 2) found.of.push(idOf(set));
  }
  const made = { sets, infrastructure, platform, from: now, until, byName };
  known.set(pinned, made);
  return made;
}

/** Names are shared on vSphere alone, where control planes are never kept. */
function setOf({ metadata: { namespace }, spec }: BootImage, world: SharedPinSources): KeptSet | undefined {
  const { kind, name } = spec?.machineSet ?? {};
  if (kind !== 'MachineSet' || name === undefined || namespace === undefined) return undefined;
  return world.machineSet({ namespace, name });
}

/** What a set shares with others under one name; undefined where it has its image to itself. */
export function nameIn(
  set: KeptSet,
  platform: Pick<Platform, 'sharedName'> | undefined,
  infrastructure: Infrastructure | undefined,
): string | undefined {
  const spec: unknown = set.spec?.template?.spec?.providerSpec?.value;
  if (platform?.sharedName === undefined || infrastructure === undefined || !isObject(spec)) return undefined;
  return platform.sharedName(spec, infrastructure);
}
