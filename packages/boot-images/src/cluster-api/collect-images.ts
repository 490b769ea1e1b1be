import type { BootImage } from '@drydock/api';
import type { Client } from '@drydock/kube';
import type { HolderIsLive, Placement } from '@drydock/templates';
import type { ImageStore } from '../vsphere/platform.ts';
import { type ClusterApiObject, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';
import { namesInUse } from './needs.ts';
import { wayBackOf } from './records.ts';

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

/**
 * Takes away templates of ours in these places that no infrastructure template, machine, history or pin names. All that can name one is asked of the server for each place anew; where it
 * cannot be, everything stays. A place that cannot be looked at does not stop the others.
 */
export async function collectImages(
  options: CollectImagesOptions,
  places: readonly Placement[],
  { signal, warn }: { readonly signal: AbortSignal; readonly warn: (error: unknown) => void },
): Promise<void> {
  const { client, served, store, owner, holderIsLive, keep } = options;
  for (const place of places) {
    try {
      const named: ClusterApiObject[] = [];
      for (const kind of ['VSphereMachineTemplate', 'VSphereMachine', 'VSphereVM']) {
        const resource = served.of(INFRASTRUCTURE, kind);
        if (resource === undefined) continue;
        for await (const one of client.list(resource, {}, { signal })) named.push({ kind, ...one });
      }
      const users = namesInUse(named);
      await store.collect(place, owner, {
        referenced: (name) => users.get(name) ?? wayBackTo(name, options),
        ...{ holderIsLive, keep, signal },
      });
    } catch (error) {
      signal.throwIfAborted();
      warn(error);
    }
  }
}

function wayBackTo(name: string, { bootImages, keep }: CollectImagesOptions): string | undefined {
  for (const image of bootImages()) {
    const { operation, canary } = image.status ?? {};
    const moving = operation?.name === name;
    // An image that failed would be made again, and fail again.
    const tried = canary?.image === name && canary.verdict !== 'Passed';
    if (moving || tried || wayBackOf(image, keep).includes(name))
      return `bootimage ${image.metadata.namespace}/${image.metadata.name}`;
  }
  return undefined;
}
