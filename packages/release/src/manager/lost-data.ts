import { isNotFound, type KubeClient } from '@drydock/kube';
import { CRD } from '@drydock/preflight';
import { type DeletedData, deletedData, goneData, type Held, heldBy, isDefinition } from '../apply/deletions.ts';
import type { InventoryEntry } from '../apply/inventory/entry.ts';
import { actionOf } from '../inclusion/annotations.ts';
import { idKey, idText, type Manifest } from '../payload/manifest.ts';
import type { WayBackFinding } from '../state/way-back.ts';

/** What is known of the release that runs. */
export interface Running {
  /** What it brought and deleted, by `idKey`. */
  readonly inventory: ReadonlyMap<string, InventoryEntry>;
  /** What it says; absent where nobody has read it. */
  readonly manifests?: readonly Manifest[];
}

/**
 * What going to `target` does not bring again: what it deletes itself, and what the running release has deleted of what it expects. Definitions are asked for the objects that they have now. Rejects with `ApiError`, and with
 * the signal's reason.
 */
export async function lostData(
  client: Pick<KubeClient, 'get' | 'list'>,
  target: readonly Manifest[],
  { inventory, manifests = [] }: Running,
  signal: AbortSignal,
): Promise<readonly WayBackFinding[]> {
  const held = new Map<string, Held>();
  for (const manifest of target) {
    const key = idKey(manifest.id);
    const asked = actionOf(manifest) === 'delete' || inventory.get(key)?.held !== undefined;
    if (!asked || !isDefinition(manifest.id)) continue;
    try {
      const definition = await client.get(CRD, { name: manifest.id.name }, { signal });
      held.set(key, await heldBy(client, definition, signal));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return [
    ...deletedData(target, inventory, held).map((one) => findingOf(one, 'is deleted by it')),
    ...goneData(target, { inventory, running: manifests, live: held }).map((one) =>
      findingOf(one, 'was deleted, and comes back empty'),
    ),
  ];
}

function findingOf({ id, lost }: DeletedData, what: string): WayBackFinding {
  const object = isDefinition(id) ? `${lost} of ${id.name}` : idText(id);
  return {
    id: `DELETED_DATA:${isDefinition(id) ? `${id.name}:${lost}` : idText(id)}`,
    class: 'DELETED_DATA',
    blocking: true,
    message: `${object} ${what}.`,
  };
}
