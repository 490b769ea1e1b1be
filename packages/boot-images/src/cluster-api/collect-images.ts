import type { BootImage } from '@drydock/api';
import type { Client } from '@drydock/kube';
import type { HolderIsLive, Placement } from '@drydock/templates';
import type { ImageStore } from '../vsphere/options.ts';
import { serverOf } from './identity.ts';
import { type ClusterApiObject, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';
import { namesInUse } from './needs.ts';
import { imageNeeds } from './records.ts';

/** What a collection of images in vCenters needs. */
export interface CollectImagesOptions {
  readonly client: Pick<Client, 'list'>;
  readonly served: Pick<ServedKinds, 'of'>;
  readonly store: Pick<ImageStore, 'collect'>;
  readonly owner: string;
  readonly holderIsLive: HolderIsLive;
  readonly keep: number;
  readonly bootImages: () => Iterable<BootImage>;
}

/** What of a collection of images is done. */
export interface ImagesOnly {
  readonly warn: (error: unknown) => void;
  /** Default: whatever nothing needs. */
  readonly only?: (name: string) => boolean;
  /** Only says what would go. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** An image that went, or would. */
export interface CollectedImage {
  readonly server: string;
  readonly folder: string;
  readonly name: string;
  readonly reason: string;
}

/**
 * Takes away templates of ours in these places that no infrastructure template, machine, history or pin names. All that can name one is asked of the server for each place anew; where it
 * cannot be, everything stays. A place that cannot be looked at does not stop the others.
 */
export async function collectImages(
  options: CollectImagesOptions,
  places: readonly Placement[],
  { warn, only, dryRun, signal }: ImagesOnly,
): Promise<readonly CollectedImage[]> {
  const call = signal === undefined ? {} : { signal };
  const removed: CollectedImage[] = [];
  const { client, served, store, owner, holderIsLive, keep, bootImages } = options;
  const needs = imageNeeds(bootImages, keep);
  for (const place of places) {
    try {
      const named: ClusterApiObject[] = [];
      for (const kind of ['VSphereMachineTemplate', 'VSphereMachine', 'VSphereVM']) {
        const resource = served.of(INFRASTRUCTURE, kind);
        if (resource === undefined) continue;
        for await (const one of client.list(resource, {}, call)) named.push({ kind, ...one });
      }
      const users = namesInUse(named);
      const collected = await store.collect(place, owner, {
        referenced: (name) => users.get(name) ?? needs(name),
        ...{ holderIsLive, keep, ...call },
        ...(only === undefined ? {} : { only }),
        ...(dryRun === undefined ? {} : { dryRun }),
      });
      const { server, folder, datacenter } = place;
      for (const { name, removed: gone, reason } of collected)
        if (gone) removed.push({ server: serverOf(server), folder: folder || datacenter, name, reason });
    } catch (error) {
      signal?.throwIfAborted();
      warn(error);
    }
  }
  return removed;
}
