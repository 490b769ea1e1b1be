import type { ApplyOwner } from '../owner.ts';
import type { InventoryEntry } from './entry.ts';

/** What one owner has, opened for one attempt. */
export interface Inventory {
  /** By `idKey`. It is what was read, with every change that was written since. */
  readonly entries: ReadonlyMap<string, InventoryEntry>;
  /** Owners of objects that others claim, by `idKey`. */
  readonly claimedByOthers: ReadonlyMap<string, string>;
  /**
   * Writes entries, and takes those away that are undefined. Resolves when they are kept. Changes that come together are one write. Rejects with `ApiError`;
   * Conflict means that another process writes the same inventory, and this attempt must end.
   */
  write(changes: ReadonlyMap<string, InventoryEntry | undefined>): Promise<void>;
}

/** Where inventories are kept. */
export interface InventoryStore {
  /** Reads what an owner has, and what others claim. Rejects with `ApiError`, and with `ReleaseError` for one that cannot be read. */
  open(owner: ApplyOwner, signal: AbortSignal): Promise<Inventory>;
}
