import { keyOf } from '@drydock/kube';
import { BootImageError } from '../errors.ts';
import { idOf, type KeptSet, setText } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import type { Platform } from '../platform.ts';
import { type SharedPinSources, sharedPins } from '../shared-names/pins.ts';
import { imageOf as bootImageFor } from '../status/boot-image-store.ts';
import { type FoundPin, livePin, pinFault, pinnedName, samePin } from '../way-back/pin.ts';

/** What the pin of a set is read from. */
export interface PinSources extends SharedPinSources {
  readonly world: Pick<World, 'bootImage'> & SharedPinSources['world'];
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
  const others = sharedPins(set, platform, sources, now);
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
