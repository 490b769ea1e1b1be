import { BootImage, bootImageName } from '@drydock/api';
import { apiVersionOf, type Key, keyOf } from '@drydock/kube';
import type { ImageOrigin } from '../image-facts.ts';
import { idOf, type KeptSet, kindOf } from '../observe/kept-set.ts';
import { bootImageStatus } from './boot-image.ts';
import { type BootImageWriterOptions, bootImageWriter } from './boot-image-writer.ts';
import type { SetFacts, SetOutcome } from './subject.ts';

/** Writes the BootImage of each set; see {@link createBootImages}. */
export interface BootImages {
  readonly report: (set: KeptSet, outcome: SetOutcome) => Promise<void>;
  /**
   * Writes once more what was reported last of the set of this BootImage: it may be taken now, or whole, or somebody deleted the BootImage. Nothing where
   * nothing was reported, or where the set is gone.
   */
  readonly repeat: (name: string) => Promise<void>;
  /** The BootImage as it was seen last, by a write or by the watch. */
  readonly latest: (key: Key) => BootImage | undefined;
}

/** What {@link createBootImages} needs. */
export interface BootImagesOptions extends BootImageWriterOptions {
  /** Whether the very set is there, and is to stay. */
  readonly exists: (set: KeptSet) => boolean;
  /** Lower-case platform name of the cluster. */
  readonly platform: () => string;
  /** What the API objects say of a set's image now. */
  readonly facts: (set: KeptSet) => SetFacts;
}

/**
 * One BootImage per machine set, owned by the set so that it goes with it. Status goes through the one status writer and is computed
 * from the live object, so phases and times of an earlier process are carried on. Nothing is sent when nothing changed.
 */
export function createBootImages(options: BootImagesOptions): BootImages {
  const writer = bootImageWriter(options);
  const reported = new Map<string, { readonly set: KeptSet; readonly outcome: SetOutcome }>();

  async function write(set: KeptSet): Promise<void> {
    const wanted = imageOf(set);
    await writer.write(wanted, (live) => {
      // A repetition must not overtake a later report.
      const outcome = reported.get(wanted.metadata.name)?.outcome;
      if (outcome === undefined) return undefined;
      return bootImageStatus(live.status, outcome, {
        set: idOf(set),
        platform: options.platform(),
        generation: live.metadata.generation,
        now: options.now(),
        facts: options.facts(set),
      });
    });
  }

  return {
    report: (set, outcome) => {
      reported.set(imageOf(set).metadata.name, { set, outcome });
      return write(set);
    },
    latest: writer.latest,
    repeat: async (name) => {
      const last = reported.get(name);
      if (last === undefined) return;
      const key = keyOf(imageOf(last.set));
      // What was seen last says nothing of one that was deleted.
      if (options.cached(key) === undefined) writer.forget(key);
      if (options.exists(last.set)) await write(last.set);
      else reported.delete(name);
    },
  };
}

/** The object as it is created. */
export function imageOf(set: KeptSet): BootImage {
  const { name, namespace, uid } = set.metadata;
  const { short, resource } = kindOf(set);
  const { group: apiGroup, kind } = resource;
  return {
    apiVersion: apiVersionOf(BootImage),
    kind: BootImage.kind,
    metadata: {
      name: bootImageName(short, name),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { 'app.kubernetes.io/managed-by': 'drydock' },
      ...(uid === undefined
        ? {}
        : {
            ownerReferences: [
              { apiVersion: apiVersionOf(resource), kind, name, uid, controller: true, blockOwnerDeletion: false },
            ],
          }),
    },
    spec: { machineSet: { apiGroup, kind, name } },
  };
}

/** What an earlier process counted of the moves of this very set, by its BootImage. */
export function attemptsIn(image: BootImage | undefined, set: KeptSet): SetOutcome['attempts'] {
  const { target, count, by } = image?.status?.attempts ?? {};
  if (image === undefined || target === undefined || count === undefined || count <= 0) return undefined;
  if (!isOf(image, set) && !isPinnedSince(image, set)) return undefined;
  return { target, count, ...(by === undefined ? {} : { by }) };
}

/** What was found out before of who published images of this very set, by its BootImage. */
export function originsIn(image: BootImage | undefined, set: KeptSet): readonly ImageOrigin[] {
  if (image?.status?.origins === undefined || !isOf(image, set)) return [];
  return image.status.origins.flatMap(({ image: name, owner, product }) =>
    owner === undefined ? [] : { image: name, owner, ...(product === undefined ? {} : { product }) },
  );
}

/** Not of an earlier set of the same name. */
function isOf(image: BootImage, { metadata: { uid } }: KeptSet): boolean {
  return uid !== undefined && image.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** Nobody owns a BootImage with a pin, because the pin outlives the machine set: its history tells whether it speaks of this one. */
function isPinnedSince({ metadata, spec, status }: BootImage, set: KeptSet): boolean {
  if (spec?.pin === undefined || (metadata.ownerReferences ?? []).length > 0) return false;
  return Date.parse(status?.history?.[0]?.since ?? '') >= Date.parse(set.metadata.creationTimestamp ?? '');
}
