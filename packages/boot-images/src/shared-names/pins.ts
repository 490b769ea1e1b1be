import type { BootImage, BootImagePolicy, Infrastructure } from '@drydock/api';
import { idOf, type KeptSet } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import type { PolicyPorts } from '../policy/set-policy.ts';
import { endOf, type FoundPin, livePin, type Pin, samePin } from '../way-back/pin.ts';
import { type NamingPlatform, sharedNameOf } from './name.ts';
import { WantedByName } from './wanted.ts';

/** What shared pins are read from. */
export interface SharedPinSources extends PolicyPorts {
  readonly world: PolicyPorts['world'] & Pick<World, 'pinnedImages' | 'machineSet' | 'machineSets'>;
}

/** The pins of all sets by the name that they share, as long as nothing that they follow from has changed. */
interface SharedPins {
  readonly sets: ReturnType<World['machineSets']>;
  readonly policies: readonly BootImagePolicy[];
  readonly infrastructure: Infrastructure | undefined;
  readonly platform: NamingPlatform;
  /** The time (ms) for which it holds, its end excluded. */
  readonly from: number;
  readonly until: number;
  readonly wanted: WantedByName<Pin>;
}

const known = new WeakMap<readonly BootImage[], SharedPins>();

/** Pins of other sets whose machines are made from what bears the same name, one for each image that they want. All sets together cost one look at each pin. */
export function sharedPins(
  set: KeptSet,
  platform: NamingPlatform | undefined,
  ports: SharedPinSources,
  now: number,
): readonly FoundPin[] {
  if (platform?.sharedName === undefined) return [];
  const pinned = ports.world.pinnedImages();
  if (pinned.length === 0) return [];
  const name = sharedNameOf(set, platform, ports);
  if (name === undefined) return [];
  const others = pinsOf(pinned, platform, ports, now).wanted.byOthers(name, idOf(set));
  return others.map(({ wish, of }) => ({ pin: wish, of }));
}

function pinsOf(
  pinned: readonly BootImage[],
  platform: NamingPlatform,
  ports: SharedPinSources,
  now: number,
): SharedPins {
  const { world } = ports;
  const from = {
    sets: world.machineSets(),
    policies: world.bootImagePolicies(),
    infrastructure: world.infrastructure(),
  };
  const before = known.get(pinned);
  if (
    before !== undefined &&
    before.sets === from.sets &&
    before.policies === from.policies &&
    before.infrastructure === from.infrastructure &&
    before.platform === platform &&
    now >= before.from &&
    now < before.until
  )
    return before;
  const wanted = new WantedByName<Pin>(samePin);
  let until = Number.POSITIVE_INFINITY;
  for (const image of pinned) {
    const pin = livePin(image, now);
    const set = pin === undefined ? undefined : setOf(image, world);
    const name = set && sharedNameOf(set, platform, ports);
    if (pin === undefined || set === undefined || name === undefined) continue;
    until = Math.min(until, endOf(pin) ?? until);
    wanted.add(name, pin, idOf(set));
  }
  const made = { ...from, platform, from: now, until, wanted };
  known.set(pinned, made);
  return made;
}

/** Names are shared on vSphere alone, where control planes are never kept. */
function setOf({ metadata: { namespace }, spec }: BootImage, world: Pick<World, 'machineSet'>): KeptSet | undefined {
  const { kind, name } = spec?.machineSet ?? {};
  if (kind !== 'MachineSet' || name === undefined || namespace === undefined) return undefined;
  return world.machineSet({ namespace, name });
}
