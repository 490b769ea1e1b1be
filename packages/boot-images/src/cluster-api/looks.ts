import type { BootImageStatus } from '@drydock/api';
import type { ImageThere } from '../image-facts.ts';
import type { SetOutcome } from '../status/subject.ts';
import { imageIn, platformOf } from './image-leaf.ts';
import type { ImageQuestion, RotationImages } from './rotate.ts';
import type { Rotation } from './rotation.ts';
import { idOfRotated, type RotatedSet } from './set.ts';
import type { VSphereImages } from './vsphere-images.ts';

/** What {@link createLooks} needs. */
export interface LooksOptions {
  readonly images: VSphereImages;
  readonly placeText: (rotation: Rotation) => string | undefined;
  /** Monotonic ms. Default: the machine's. */
  readonly elapsed?: (() => number) | undefined;
}

/** What was seen of the images of sets, as their BootImages tell it. */
export interface Looks {
  /** The images, with what is seen of them remembered. */
  readonly images: RotationImages;
  readonly platform: (set: RotatedSet) => string;
  /** What the template of a set names, and where its machines are made, by the last look. */
  readonly facts: (set: RotatedSet) => { readonly image?: string; readonly place?: string };
  /**
   * The outcome with what of a history is there to go back to, by the rule by which a pin is obeyed, where it is time to look: something was not looked at yet, the set was moved, or an hour has passed. Where
   * nobody can look, what was said stays said.
   */
  readonly told: (
    set: RotatedSet,
    outcome: SetOutcome,
    said: BootImageStatus | undefined,
    call?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<SetOutcome>;
}

/** Nothing that is watched tells of vCenter. */
const LOOK_AGAIN_MS = 3_600_000;

interface Seen {
  readonly about: Pick<ImageQuestion, 'rotation' | 'leaf'>;
  readonly image: string | undefined;
  readonly place: string | undefined;
  back: number | undefined;
}

/** Nothing was seen yet. */
export function createLooks({ images, placeText, elapsed = () => performance.now() }: LooksOptions): Looks {
  const seen = new Map<string, Seen>();

  async function reached(
    { about }: Seen,
    names: readonly string[],
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<ReadonlySet<string> | undefined> {
    const there = new Set<string>();
    try {
      for (const name of names) if (await images.reaches(about, name, call)) there.add(name);
    } catch {
      call.signal?.throwIfAborted();
      return undefined;
    }
    return there;
  }

  return {
    images: {
      ...images,
      look: async (about, call) => {
        const there = await images.look(about, call);
        const { rotation, leaf } = about;
        const { set, template } = rotation;
        const id = idOfRotated(set);
        const image = template === undefined ? undefined : imageIn(template, leaf);
        const place = placeText(rotation);
        seen.set(id, { about: { rotation, leaf }, image, place, back: seen.get(id)?.back });
        return there;
      },
    },
    platform: (set) => seen.get(idOfRotated(set))?.about.leaf.platform ?? platformOf(set.reference),
    facts: (set) => {
      const { image, place } = seen.get(idOfRotated(set)) ?? {};
      return { ...(image === undefined ? {} : { image }), ...(place === undefined ? {} : { place }) };
    },
    told: async (set, outcome, said, call = {}) => {
      const one = seen.get(idOfRotated(set));
      const { history = [] } = said ?? {};
      if (one === undefined || outcome.kind === 'step') return outcome;
      const before = history.filter(({ until, image }) => until !== undefined || image !== one.image);
      const known = before.every(({ until, revertable }) => until !== undefined && revertable !== undefined);
      const now = elapsed();
      if (before.length === 0 || (known && one.back !== undefined && now - one.back < LOOK_AGAIN_MS)) return outcome;
      const found = await reached(one, [...new Set(before.flatMap(({ image }) => image ?? []))], call);
      if (found === undefined) return outcome;
      one.back = now;
      const there = before.flatMap(({ image, release = '' }): ImageThere[] =>
        image === undefined || !found.has(image) ? [] : [{ image, release }],
      );
      return { ...outcome, there };
    },
  };
}
