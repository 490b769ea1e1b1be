import type { BootImage } from '@drydock/api';
import { keyOf, keyText } from '@drydock/kube';
import type { KeptSet } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import { imageOf as bootImageFor } from '../status/boot-image-store.ts';
import type { Pin } from '../way-back/pin.ts';

/** The world as it were if these sets had this pin, or none. */
export function pinnedWorld(world: World, sets: readonly KeptSet[], pin: Pin | undefined): World {
  const changed = new Map(
    sets.map((set) => {
      const fresh = bootImageFor(set);
      const image = world.bootImage(keyOf(fresh)) ?? fresh;
      const { pin: _, ...spec } = image.spec ?? {};
      return [keyText(keyOf(fresh)), { ...image, spec: pin === undefined ? spec : { ...spec, pin } }];
    }),
  );
  const others = (images: readonly BootImage[]): readonly BootImage[] =>
    images.filter((image) => !changed.has(keyText(keyOf(image))));
  const pinned = [...others(world.pinnedImages()), ...(pin === undefined ? [] : changed.values())];
  return {
    ...world,
    pinnedImages: () => pinned,
    bootImage: (key) => changed.get(keyText(key)) ?? world.bootImage(key),
    bootImages: () => [...others(world.bootImages()), ...changed.values()],
  };
}
