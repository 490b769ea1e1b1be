import type { InventoryState } from './inventory.ts';

/** What a client needs of the server. */
export interface MemoryServer {
  readonly state: () => InventoryState;
  readonly now: () => number;
  readonly reportsVersion: boolean;
  readonly abortLeavesVm: boolean;
  readonly manifest: 'received' | 'none';
  readonly longAttributes: 'refused' | 'truncated';
  readonly takenDirectory: 'next' | 'refused';
  readonly countUpload: () => void;
  readonly countBytes: (bytes: number) => void;
}
