import type { Clock, Key, KubeObject, Resource, Source } from '@drydock/kube';
import type { InventoryStore } from '../apply/inventory/inventory.ts';
import { ownerName } from './face.ts';

/** ms between two looks at whose inventories there are. */
const AGAIN = 600_000;
/** ms after a look that failed. */
const SOON = 30_000;

/**
 * Work for the names that have an inventory: among them may be objects that were deleted while nobody led, whose claims nobody would ever end. Whoever gets a name looks whether the object is there.
 */
export function abandoned(
  store: Pick<InventoryStore, 'owners'>,
  resource: Pick<Resource<KubeObject>, 'kind'>,
  {
    clock,
    isHere,
    warn,
  }: { readonly clock: Clock; readonly isHere: (key: Key) => boolean; readonly warn: (error: unknown) => void },
): Source {
  return {
    synced: Promise.resolve(),
    start: (enqueue) => {
      const stop = new AbortController();
      const { signal } = stop;
      void (async () => {
        while (!signal.aborted) {
          let wait = AGAIN;
          try {
            for (const owner of await store.owners(signal)) {
              const name = owner.slice(resource.kind.length + 1);
              const isOurs = name !== '' && ownerName(resource, { metadata: { name } }) === owner;
              if (isOurs && !isHere({ name })) enqueue({ name }, false);
            }
          } catch (error) {
            if (!signal.aborted) warn(error);
            wait = SOON;
          }
          await clock.sleep(wait, { background: true, signal }).catch(() => undefined);
        }
      })();
      return { [Symbol.dispose]: () => stop.abort() };
    },
  };
}
