import { BootImage, type BootImageStatus, bootImageName } from '@drydock/api';
import type { Projector } from '@drydock/crd';
import { apiVersionOf, type Client, isAlreadyExists, isNotFound, type Key, keyOf, statusWriter } from '@drydock/kube';
import type { ImageOrigin } from '../image-facts.ts';
import { idOf, type KeptSet, kindOf } from '../observe/kept-set.ts';
import { bootImageStatus } from './boot-image.ts';
import { hooksOf } from './definitions.ts';
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
export interface BootImagesOptions {
  readonly client: Client;
  /** The cached object, if any. */
  readonly cached: (key: Key) => BootImage | undefined;
  /** Whether the very set is there, and is to stay. */
  readonly exists: (set: KeptSet) => boolean;
  /** Lower-case platform name of the cluster. */
  readonly platform: () => string;
  readonly now: () => Date;
  /** What the API objects say of a set's image now. */
  readonly facts: (set: KeptSet) => SetFacts;
  /** Cuts a status to the live schema. */
  readonly projector?: Projector;
}

/**
 * One BootImage per machine set, owned by the set so that it goes with it. Status goes through the one status writer and is computed
 * from the live object, so phases and times of an earlier process are carried on. Nothing is sent when nothing changed.
 */
export function createBootImages(options: BootImagesOptions): BootImages {
  const { client } = options;
  const writer = statusWriter<BootImage>({ client, resource: BootImage, ...hooksOf(options.projector) });
  const seen = new Map<string, BootImage>();
  const reported = new Map<string, { readonly set: KeptSet; readonly outcome: SetOutcome }>();

  async function write(set: KeptSet, again: boolean): Promise<void> {
    const key = keyOf(imageOf(set));
    const current = newer(seen.get(key.name), options.cached(key)) ?? (await ensure(set));
    // A repetition must not overtake a later report.
    const compute = (live: BootImage): BootImageStatus | undefined => {
      const outcome = reported.get(key.name)?.outcome;
      if (outcome === undefined) return undefined;
      return bootImageStatus(live.status, outcome, {
        set: idOf(set),
        platform: options.platform(),
        generation: live.metadata.generation,
        now: options.now(),
        facts: options.facts(set),
      });
    };
    try {
      const { object } = await writer.write(key, compute, { current });
      seen.set(key.name, object);
    } catch (error) {
      seen.delete(key.name);
      // Somebody deleted it, or it went with an earlier set of the same name: it is made again.
      if (!isNotFound(error) || !again) throw error;
      seen.set(key.name, await ensure(set));
      await write(set, false);
    }
  }

  async function ensure(set: KeptSet): Promise<BootImage> {
    const wanted = imageOf(set);
    try {
      return await client.create(BootImage, wanted);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return client.get(BootImage, keyOf(wanted));
    }
  }

  return {
    report: (set, outcome) => {
      reported.set(imageOf(set).metadata.name, { set, outcome });
      return write(set, true);
    },
    latest: (key) => newer(seen.get(key.name), options.cached(key)),
    repeat: async (name) => {
      const last = reported.get(name);
      if (last === undefined) return;
      // What was seen last says nothing of one that was deleted.
      if (options.cached(keyOf(imageOf(last.set))) === undefined) seen.delete(name);
      if (options.exists(last.set)) await write(last.set, true);
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

/** Our own last write or the cached object, whichever is newer; they are versions of one object, in order where both are numbers. */
function newer(own: BootImage | undefined, cached: BootImage | undefined): BootImage | undefined {
  if (own === undefined || cached === undefined || own.metadata.uid !== cached.metadata.uid) return cached ?? own;
  return Number(cached.metadata.resourceVersion) > Number(own.metadata.resourceVersion) ? cached : own;
}
