import type { ApplyOwner } from '../owner.ts';
import type { InventoryEntry } from './entry.ts';

/** Changes of an inventory by `idKey`; undefined takes an entry away. */
export type InventoryChanges = ReadonlyMap<string, InventoryEntry | undefined>;

/** Another owner of an object. */
export interface OtherHolder {
  readonly owner: string;
  /** He made it. */
  readonly made: boolean;
}

/** What one owner has, opened for one attempt. */
export interface Inventory {
  /** By `idKey`: what was read, with every change that was made since. */
  readonly entries: ReadonlyMap<string, InventoryEntry>;
  /** Owners of objects that others claim, by `idKey`, as of the last reading. */
  readonly claimedByOthers: ReadonlyMap<string, string>;
  /** Who else has written an object, by its uid, as of the last reading: manifests may spell one object in several ways. */
  readonly heldByOthers: ReadonlyMap<string, OtherHolder>;
  /**
   * Makes changes, and resolves when they are kept. Changes that come together are one write. Rejects with `ApiError`; Conflict means that another process
   * writes the same inventory, and this attempt must end.
   */
  write(changes: InventoryChanges): Promise<void>;
  /** Makes changes that need not be kept at once: they go with the next write, at the latest with `flush`. */
  note(changes: InventoryChanges): void;
  /** Keeps what was noted. */
  flush(): Promise<void>;
  /** Reads what others claim again. */
  refresh(): Promise<void>;
}

/** Where inventories are kept. */
export interface InventoryStore {
  /** Reads what an owner has, and what others claim. Rejects with `ApiError`, and with `ReleaseError` for one that cannot be read. */
  open(owner: ApplyOwner, signal: AbortSignal): Promise<Inventory>;
  /** Names of the owners that have one. Rejects with `ApiError`. */
  owners(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Ends all claims of an owner that is gone; resolves to how many objects it had. What it applied stays, and is nobody's. Killed on the way it is called again: `owners` names it until all is gone. Rejects with `ApiError`;
   * Conflict means that somebody writes that inventory.
   */
  remove(owner: Pick<ApplyOwner, 'name'>, signal: AbortSignal): Promise<number>;
}
