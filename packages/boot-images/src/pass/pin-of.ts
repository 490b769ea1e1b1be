import type { BootImage, Infrastructure } from '@drydock/api';
import { keyOf } from '@drydock/kube';
import { BootImageError } from '../errors.ts';
import { idOf, type KeptSet, setText } from '../observe/kept-set.ts';
import { isObject } from '../observe/stream.ts';
import type { World } from '../observe/world.ts';
import type { Platform } from '../platform.ts';
import { imageOf as bootImageFor } from '../status/boot-image-store.ts';
import { type FoundPin, livePin, pinFault, pinnedName, samePin } from '../way-back/pin.ts';

/** What the pin of a set is read from. */
export interface PinSources {
  readonly world: Pick<World, 'bootImage' | 'bootImages' | 'machineSet' | 'infrastructure'>;
  readonly now: () => Date;
}

/**
 * The pin that a set obeys: its own, or that of another set under the same name, which one image serves (swap mode). Throws `PinConflict` where two pins want different images
 * under one name, and `PinInvalid` for one that names no image.
 */
export function pinOf(set: KeptSet, platform: Platform | undefined, sources: PinSources): FoundPin | undefined {
  const { world } = sources;
  const now = sources.now().getTime();
  const own = livePin(world.bootImage(keyOf(bootImageFor(set))), now);
  const fault = own === undefined ? undefined : pinFault(own);
  if (fault !== undefined)
    throw new BootImageError('PinInvalid', `the pin of ${setText(set)} ${fault}`, {
      ...{ retriable: false, nextStep: `drydock image release ${idOf(set)}, or drydock image revert ${idOf(set)}` },
    });
  const others = sharing(set, platform, sources, now);
  const [other] = others;
  const different = others.filter(({ pin }) => !samePin(pin, own ?? other?.pin));
  if (different.length === 0) return own === undefined ? other : { pin: own };
  const all = [...(own === undefined ? [] : [{ pin: own, of: idOf(set) }]), ...others];
  const said = all.map(({ pin, of = '' }) => `${of} to ${pinnedName(pin)}`).join(', ');
  throw new BootImageError(
    'PinConflict',
    `${setText(set)}: sets under one name are pinned to different images (${said}), and one name has one image`,
    { retriable: false, nextStep: `drydock image release ${all.at(-1)?.of ?? idOf(set)}` },
  );
}

/** Pins of other sets whose machines are made from what bears the same name. */
function sharing(set: KeptSet, platform: Platform | undefined, { world }: PinSources, now: number): FoundPin[] {
  const infrastructure = world.infrastructure();
  const name = nameIn(set, platform, infrastructure);
  if (name === undefined) return [];
  const found: FoundPin[] = [];
  for (const image of world.bootImages()) {
    const pin = livePin(image, now);
    const other = pin === undefined ? undefined : setOf(image, world);
    if (pin === undefined || other === undefined || idOf(other) === idOf(set)) continue;
    if (nameIn(other, platform, infrastructure) === name) found.push({ pin, of: idOf(other) });
  }
  return found;
}

/** Names are shared on vSphere alone, where control planes are never kept. */
function setOf({ metadata: { namespace }, spec }: BootImage, world: PinSources['world']): KeptSet | undefined {
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
