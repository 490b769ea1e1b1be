import { ifFound, isNotFound, type KubeClient, type KubeObject, type Resource } from '@drydock/kube';
import { idKey, type Manifest, type ObjectId } from '../payload/manifest.ts';
import { claimOf, isMarked, withoutStale } from './inventory/claims.ts';
import type { InventoryEntry } from './inventory/entry.ts';
import type { Inventory } from './inventory/inventory.ts';
import { asJson } from './json.ts';
import { createKinds } from './kinds.ts';
import { applyMemory } from './memory.ts';
import type { ApplyOwner } from './owner.ts';
import { losesData } from './step.ts';

/** An object that an earlier release brought and that a payload does not. */
export interface Orphan {
  readonly id: ObjectId;
  /** Releases that brought it, the last one last. */
  readonly releases: readonly string[];
  /** We made it, so it can go; else it was there before, and only our keys in it can. */
  readonly made: boolean;
  /** It says so itself. Who may write inventories may write anything into them, and a person takes the mark off what is to stay. */
  readonly marked: boolean;
  readonly losesData: boolean;
  /** As it is now. */
  readonly live: KubeObject;
  readonly resource: Resource<KubeObject>;
  readonly entry: InventoryEntry;
}

/** What orphans are found and removed with. */
export interface OrphanPorts {
  readonly client: Pick<KubeClient, 'get' | 'delete' | 'replace' | 'raw'>;
  readonly inventory: Inventory;
  readonly owner: ApplyOwner;
  readonly signal: AbortSignal;
}

/** What a payload neither brings nor deletes of what earlier releases brought, as it is now; the inventory forgets what is gone, and what another owner has taken over. Rejects with `ApiError`. */
export async function findOrphans(manifests: readonly Manifest[], ports: OrphanPorts): Promise<readonly Orphan[]> {
  const { client, inventory, owner, signal } = ports;
  const named = new Set(manifests.map(({ id }) => idKey(id)));
  // A manifest may spell an object otherwise than an earlier one did: what it is, its uid says.
  const brought = new Map(
    [...inventory.entries].flatMap(([key, { uid }]) => (named.has(key) && uid !== '' ? [[uid, key] as const] : [])),
  );
  const kinds = createKinds({ client, manifests: [], memory: applyMemory(), signal });
  const found: Orphan[] = [];
  for (const [key, entry] of inventory.entries) {
    if (named.has(key)) continue;
    const { id } = entry;
    const resource = await kinds.resourceOf(id, entry.version);
    const live = resource === undefined ? undefined : await readObject(client, resource, id, signal);
    const claim = claimOf(entry, live === undefined ? undefined : asJson(live), owner);
    const taken = inventory.claimedByOthers.has(key);
    const ours = claim.made || Object.keys(claim.written).length > 0;
    const heir = brought.get(claim.uid);
    if (heir !== undefined && claim.made) madeAs(heir, inventory);
    if (live === undefined || resource === undefined || !ours || taken || heir !== undefined) {
      if (entry.held === undefined) inventory.note(new Map([[key, undefined]]));
      continue;
    }
    const { releases } = entry;
    const marked = isMarked(asJson(live), owner);
    found.push({ id, releases, made: claim.made, marked, losesData: losesData(id), live, resource, entry });
  }
  return found;
}

/** What we made under one name of it goes under the other one, when no release brings it. */
function madeAs(key: string, inventory: Inventory): void {
  const entry = inventory.entries.get(key);
  if (entry !== undefined && !entry.made) inventory.note(new Map([[key, { ...entry, made: true }]]));
}

/**
 * Removes an orphan: what we made is deleted, if it is still the object that was seen; from anything else our keys are taken. Resolves to whether it is over: what something holds is
 * asked for again until it is gone. Rejects with `ApiError`.
 */
export async function removeOrphan(
  orphan: Orphan,
  { client, inventory, owner, signal }: OrphanPorts,
): Promise<boolean> {
  const { id, live, resource, made, entry } = orphan;
  const key = idKey(id);
  if (!made) {
    const is = asJson(live);
    const without = withoutStale(id, is, {}, { entry, live: is, owner });
    if (without !== is) await client.replace(resource, without as unknown as KubeObject, { signal });
    await inventory.write(new Map([[key, undefined]]));
    return true;
  }
  const { uid = '', deletionTimestamp } = live.metadata;
  if (deletionTimestamp === undefined) {
    try {
      await client.delete(resource, placeOf(id), { uid }, { propagation: 'Background', signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  const left = await readObject(client, resource, id, signal);
  if (left !== undefined && left.metadata.uid === uid) return false;
  await inventory.write(new Map([[key, undefined]]));
  return true;
}

async function readObject(
  client: Pick<KubeClient, 'get'>,
  resource: Resource<KubeObject>,
  id: ObjectId,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  return await ifFound(client.get(resource, placeOf(id), { signal }));
}

function placeOf({ namespace, name }: ObjectId): { readonly namespace?: string; readonly name: string } {
  return namespace === '' ? { name } : { namespace, name };
}
