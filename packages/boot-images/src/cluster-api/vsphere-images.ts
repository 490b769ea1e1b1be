import { addressText } from '@drydock/api/text';
import type { HolderIsLive, Placement, TemplateState, TemplateWish } from '@drydock/templates';
import { BootImageError } from '../errors.ts';
import type { BootImageMetrics } from '../metrics.ts';
import { leafName } from '../vsphere/names.ts';
import type { ImageStore } from '../vsphere/options.ts';
import { IMAGE_GONE } from '../way-back/history.ts';
import type { WantedImage } from './catalogue.ts';
import { baseOf } from './clone.ts';
import { imageIn } from './image-leaf.ts';
import type { PlaceFault } from './places.ts';
import type { ImageQuestion, RotationImages } from './rotate.ts';
import type { Rotation } from './rotation.ts';

/** What {@link vsphereImages} needs. */
export interface VSphereImagesOptions {
  readonly store: ImageStore;
  /** Who owns what is made: a UID that lasts as long as the cluster. */
  readonly owner: string;
  /** Identity under which this process leads. */
  readonly holder: string;
  readonly holderIsLive: HolderIsLive;
  /** Where machines of a set are made. */
  readonly places: (rotation: Rotation) => Promise<readonly Placement[] | PlaceFault>;
  /** Where an image is read from, given where the catalogue says that it is. Default: there. */
  readonly locate?: (location: string) => string;
  readonly metrics?: Pick<BootImageMetrics, 'templateAbsent' | 'uploaded'>;
  /** Monotonic ms. Default: the machine's. */
  readonly elapsed?: (() => number) | undefined;
}

/** See {@link vsphereImages}. */
export interface VSphereImages extends RotationImages {
  /** Whether a set may be pointed at an image that has this name: the one rule by which a pin is obeyed, and by which a history says what can be gone back to. */
  readonly reaches: (
    about: Pick<ImageQuestion, 'rotation' | 'leaf'>,
    name: string,
    call: { readonly signal?: AbortSignal | undefined },
  ) => Promise<boolean>;
}

type Ova = Extract<WantedImage, { readonly kind: 'ova' }>;

/** How long (ms) an answer about one template counts: many sets ask for the same. */
const FRESH_MS = 5_000;
/** Answers that are remembered at a time. */
const MOST = 4_096;

/**
 * Images of machines of Cluster API. In vCenters they are templates: of a set whose machines are made in one folder, under a name that no other has; of one whose machines are made in several, under
 * one name that is the same in all, because its infrastructure template has one. Elsewhere they are there already.
 */
export function vsphereImages(options: VSphereImagesOptions): VSphereImages {
  const { store, metrics, elapsed = () => performance.now() } = options;
  const made = new Map<string, string>();
  const answers = new Map<string, { readonly at: number; readonly state: Promise<TemplateState> }>();

  function inspect(
    place: Placement,
    name: string,
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<TemplateState> {
    const key = JSON.stringify([folderOf(place), name]);
    const now = elapsed();
    const known = answers.get(key);
    if (known !== undefined && now - known.at < FRESH_MS) return known.state;
    if (answers.size >= MOST) answers.clear();
    const state = store.inspect(place, name, call);
    answers.set(key, { at: now, state });
    // A failure is no answer.
    state.catch(() => answers.delete(key));
    return state;
  }

  async function everywhere(
    places: readonly Placement[],
    name: string,
    release: string | undefined,
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<boolean> {
    for (const place of places) {
      const state = await inspect(place, name, call);
      if (state.kind !== 'present' || !state.isTemplate) return false;
      if (release !== undefined && (state.version !== release || !state.ours)) return false;
    }
    return true;
  }

  const reaches: VSphereImages['reaches'] = async ({ rotation, leaf }, name, call) => {
    if (leaf.platform !== 'vsphere') return true;
    const { template } = rotation;
    const places = await placesFor(rotation, options);
    if (template !== undefined && imageIn(template, leaf) === name) return true;
    return everywhere(places, name, undefined, call);
  };

  return {
    reaches,
    look: async ({ rotation, leaf, image }, call) => {
      if (image.kind === 'named') {
        if (await reaches({ rotation, leaf }, image.image, call)) return { image: image.image };
        throw new BootImageError('ImageNotPublished', `template ${image.image} is not where the machines are made`, {
          retriable: false,
          nextStep: 'pin an image that is there: drydock template list',
          facts: { because: IMAGE_GONE },
        });
      }
      if (leaf.platform !== 'vsphere') throw new TypeError('an OVA is wanted where none is imported');
      const places = await placesFor(rotation, options);
      const [first] = places;
      const { template } = rotation;
      const named = template === undefined ? undefined : imageIn(template, leaf);
      if (named !== undefined && first !== undefined) {
        const state = await inspect(first, named, call);
        if (state.kind === 'absent') metrics?.templateAbsent();
        if (await everywhere(places, named, image.release, call)) return { image: named, current: image.release };
        const current = state.kind === 'present' && state.ours ? state.version : undefined;
        const there = await published(places, image, call);
        return { image: there, ...(current === undefined ? {} : { current }) };
      }
      return { image: await published(places, image, call) };
    },
    foresee: async ({ rotation, image }, call) => {
      if (image.kind !== 'ova') return [];
      const places = await placesFor(rotation, options);
      const { holderIsLive } = options;
      return Promise.all(
        wishesFor(places, image, rotation, options).map(async (wish) => {
          const plan = await store.plan({ kind: 'publish', wish }, { holderIsLive, ...call });
          const { server, folder, target: name, steps, amounts, world } = plan;
          const { location, sha256 } = wish.image;
          const from = { location: addressText(location), sha256 };
          return { from, server, folder, name, steps, ...(amounts === undefined ? {} : { amounts }), world };
        }),
      );
    },
    publish: async ({ rotation, image }, hooks) => {
      if (image.kind !== 'ova') return;
      const places = await placesFor(rotation, options);
      for (const wish of wishesFor(places, image, rotation, options)) {
        const { server } = wish.placement;
        let uploaded = 0;
        const { name } = await store.publish(wish, {
          announce: hooks.announce,
          onProgress: (progress) => {
            hooks.onProgress(progress);
            if (progress.step !== 'Uploading' || progress.bytes === undefined) return;
            // Less than before: the upload began anew.
            metrics?.uploaded(server, progress.bytes - (progress.bytes < uploaded ? 0 : uploaded));
            uploaded = progress.bytes;
          },
          holderIsLive: options.holderIsLive,
          signal: hooks.signal,
        });
        answers.clear();
        made.set(keyOf(places, image), name);
      }
    },
  };

  /** The name under which it was published by this process, while it is still there. Another process publishes again, which uploads nothing. */
  async function published(
    places: readonly Placement[],
    image: Ova,
    call: { readonly signal?: AbortSignal | undefined },
  ): Promise<string | undefined> {
    const name = made.get(keyOf(places, image));
    if (name === undefined || !(await everywhere(places, name, image.release, call))) return undefined;
    return name;
  }
}

function keyOf(places: readonly Placement[], { release, sha256 }: Ova): string {
  return JSON.stringify([places, release, sha256]);
}

/** What is wished for a set: one template for each folder in which its machines are made. */
export function wishesFor(
  places: readonly Placement[],
  image: Ova,
  { set, template }: Pick<Rotation, 'set' | 'template'>,
  { owner, holder, locate = (location) => location }: Pick<VSphereImagesOptions, 'owner' | 'holder' | 'locate'>,
): readonly TemplateWish[] {
  const folders = [...Map.groupBy(places, folderOf).values()].flatMap(([first]) => first ?? []);
  const name = stableName(image.release, `${set.namespace}-${template === undefined ? set.name : baseOf(template)}`);
  return folders.map((placement) => ({
    ...{ cluster: owner, placement, holder, tagIds: [] },
    base: `kube-${placement.failureDomain}`,
    image: { release: image.release, location: locate(image.url), sha256: image.sha256 },
    ...(folders.length === 1 ? {} : { publication: { kind: 'swap', name } as const }),
  }));
}

/** The name that a template has in several folders, cut to what vCenter takes. */
function stableName(release: string, whose: string): string {
  const tail = `-${release}`;
  return `kube-${whose}`.slice(0, 80 - tail.length).replace(/[^a-z0-9]+$/, '') + tail;
}

function folderOf({ server, datacenter, folder }: Placement): string {
  return [server, leafName(datacenter), folder].join('|');
}

async function placesFor(
  rotation: ImageQuestion['rotation'],
  { places }: Pick<VSphereImagesOptions, 'places'>,
): Promise<readonly Placement[]> {
  const found = await places(rotation);
  if (!('message' in found)) return found;
  throw new BootImageError('WorkspaceIncomplete', found.message, { retriable: false, nextStep: found.nextStep });
}
