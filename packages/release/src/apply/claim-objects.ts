import { setImmediate } from 'node:timers/promises';
import { actionOf } from '../inclusion/annotations.ts';
import { idKey, type Manifest } from '../payload/manifest.ts';
import type { Attempt } from './attempt.ts';
import { CHUNK_ENTRIES } from './inventory/chunk.ts';
import { isMarked } from './inventory/claims.ts';
import { type InventoryEntry, isHeld } from './inventory/entry.ts';
import { asJson } from './json.ts';
import { meantToMake } from './write-object.ts';

/** Releases that an entry names. */
const MOST_RELEASES = 8;

/**
 * Says in the inventory, before anything is written, which objects this payload brings. Of two owners that name one object the first to say so has it: who says
 * so and then sees another claim takes it back. What this owner no longer brings is free for others. A first installation says at once what it is about to make. Returns who claims what this owner may not touch, by `idKey`.
 */
export async function claimObjects(attempt: Attempt): Promise<ReadonlyMap<string, string>> {
  const { inventory, wish } = attempt;
  const fresh: string[] = [];
  const refused = new Map<string, string>();
  const kept = keeping(attempt);
  for (const manifest of wish.manifests) {
    const key = idKey(manifest.id);
    const known = inventory.entries.get(key);
    const other = inventory.claimedByOthers.get(key);
    if (other !== undefined && !(await holds(attempt, manifest, known))) {
      refused.set(key, other);
      // It was said by a process that ended before it saw the other claim.
      if (known?.uid === '') await kept.set(key, undefined);
    } else if (actionOf(manifest) !== 'delete') {
      if (known === undefined) fresh.push(key);
      const entry = claimed(manifest, known, wish.payload.version);
      const meant = wish.mode === 'initializing' ? meantToMake(attempt, manifest, entry ?? known) : undefined;
      const change = meant ?? entry;
      if (change !== undefined) await kept.set(key, change);
    }
  }
  const named = new Set(wish.manifests.map(({ id }) => idKey(id)));
  for (const [key, entry] of inventory.entries) {
    if (named.has(key)) continue;
    if (entry.uid === '' && entry.intent === undefined && entry.held === undefined) await kept.set(key, undefined);
    else if (entry.left !== true) await kept.set(key, { ...entry, left: true });
  }
  await kept.all();
  if (fresh.length === 0) return refused;
  // Both say so before they look: at least one of two sees the other.
  await inventory.refresh();
  const withdrawn = new Map<string, undefined>();
  for (const key of fresh) {
    const other = inventory.claimedByOthers.get(key);
    if (other === undefined || !inventory.entries.has(key)) continue;
    refused.set(key, other);
    withdrawn.set(key, undefined);
  }
  if (withdrawn.size > 0) await inventory.write(withdrawn);
  return refused;
}

/** Changes that are kept while the next ones are worked out, as many at a time as one ConfigMap of the inventory holds. */
function keeping({ inventory, announced }: Attempt): {
  set(key: string, entry: InventoryEntry | undefined): Promise<void>;
  all(): Promise<void>;
} {
  let changes = new Map<string, InventoryEntry | undefined>();
  const writes: Promise<void>[] = [];
  const write = (): void => {
    const one = inventory.write(changes);
    // It is told of by `all`.
    one.catch(() => undefined);
    writes.push(one);
    changes = new Map();
  };
  return {
    async set(key, entry) {
      changes.set(key, entry);
      if (entry?.intent !== undefined) announced.add(entry);
      if (changes.size < CHUNK_ENTRIES) return;
      write();
      // Else it is sent no earlier than all are worked out.
      await setImmediate();
    },
    async all() {
      if (changes.size > 0) write();
      await Promise.all(writes);
    },
  };
}

/** Whether an owner has an object that another one claims. What it meant to make counts only where it was made: it was said before the other claim was looked for. */
async function holds(attempt: Attempt, manifest: Manifest, known: InventoryEntry | undefined): Promise<boolean> {
  if (!isHeld(known)) return false;
  if (known?.uid !== '') return true;
  const resource = await attempt.kinds.resourceOf(manifest.id, manifest.version);
  const live = resource === undefined ? undefined : await attempt.read(manifest, resource);
  return live !== undefined && isMarked(asJson(live), attempt.wish.owner);
}

/** The entry with this release; undefined where it has it. */
function claimed(manifest: Manifest, known: InventoryEntry | undefined, release: string): InventoryEntry | undefined {
  const { id, version, file } = manifest;
  const { releases = [], left = false, ...kept } = known ?? {};
  if (known?.file === file && known.version === version && releases.at(-1) === release && !left) return undefined;
  const all = [...releases.filter((one) => one !== release), release].slice(-MOST_RELEASES);
  return { uid: '', made: false, written: {}, ...kept, id, version, file, releases: all };
}
