import { actionOf } from '../inclusion/annotations.ts';
import { idKey, type Manifest } from '../payload/manifest.ts';
import type { Attempt } from './attempt.ts';
import { type InventoryEntry, isHeld } from './inventory/entry.ts';

/** Releases that an entry names. */
const MOST_RELEASES = 8;

/**
 * Says in the inventory, before anything is written, which objects this payload brings. Of two owners that name one object the first to say so has it: who says
 * so and then sees another claim takes it back. What this owner no longer brings is free for others. Returns who claims what this owner may not touch, by `idKey`.
 */
export async function claimObjects(attempt: Attempt): Promise<ReadonlyMap<string, string>> {
  const { inventory, wish } = attempt;
  const brought = wish.manifests.filter((manifest) => actionOf(manifest) !== 'delete');
  const fresh = brought.filter(({ id }) => !inventory.entries.has(idKey(id)));
  const refused = new Map<string, string>();
  const changes = new Map<string, InventoryEntry | undefined>();
  for (const manifest of wish.manifests) {
    const key = idKey(manifest.id);
    const other = inventory.claimedByOthers.get(key);
    if (other !== undefined && !isHeld(inventory.entries.get(key))) refused.set(key, other);
    else if (actionOf(manifest) !== 'delete') {
      const entry = claimed(manifest, inventory.entries.get(key), wish.payload.version);
      if (entry !== undefined) changes.set(key, entry);
    }
  }
  const named = new Set(wish.manifests.map(({ id }) => idKey(id)));
  for (const [key, entry] of inventory.entries) {
    if (named.has(key)) continue;
    if (entry.uid === '' && entry.intent === undefined && entry.held === undefined) changes.set(key, undefined);
    else if (entry.left !== true) changes.set(key, { ...entry, left: true });
  }
  if (changes.size === 0) return refused;
  await inventory.write(changes);
  if (fresh.length === 0) return refused;
  // Both say so before they look: at least one of two sees the other.
  await inventory.refresh();
  const withdrawn = new Map<string, undefined>();
  for (const { id } of fresh) {
    const other = inventory.claimedByOthers.get(idKey(id));
    if (other === undefined || !inventory.entries.has(idKey(id))) continue;
    refused.set(idKey(id), other);
    withdrawn.set(idKey(id), undefined);
  }
  if (withdrawn.size > 0) await inventory.write(withdrawn);
  return refused;
}

/** The entry with this release; undefined where it has it. */
function claimed(manifest: Manifest, known: InventoryEntry | undefined, release: string): InventoryEntry | undefined {
  const { id, version, file } = manifest;
  const { releases = [], left = false, ...kept } = known ?? {};
  if (known?.file === file && known.version === version && releases.at(-1) === release && !left) return undefined;
  const all = [...releases.filter((one) => one !== release), release].slice(-MOST_RELEASES);
  return { uid: '', made: false, written: {}, ...kept, id, version, file, releases: all };
}
