import type { CallOptions, VCenter } from '../vcenter.ts';

/** One process that talks to the in-memory vCenter. */
export interface MemoryClient extends VCenter {
  /** Its session. */
  readonly id: string;
  /** Ends the process: no later call reaches the server, and nothing is cleaned up. Its machines and leases stay. */
  kill(): void;
}

/** Before or after the server acted. */
export type CallPhase = 'before' | 'after';

/** Where a hook is called from. */
export interface CallContext {
  readonly client: MemoryClient;
  /** Number of the call over all clients of the inventory, from 1. */
  readonly index: number;
  /** Whether the call can change the inventory. */
  readonly mutates: boolean;
}

/**
 * Called around every call that reaches the server. What it throws is what the caller of the method gets: in phase `before` the server did not act, in
 * phase `after` it did. To end the process, call `context.client.kill()` and throw anything. A promise holds the call back, for interleavings.
 *
 * `method` is the name in `VCenter` (`rename`, `tags.attach`), of the lease (`lease.upload`, `lease.complete`, …), or one of the finer steps
 * `lease.upload.half` (half of the bytes are through), `customField.define` and `logout`.
 */
export type CallHook = (
  method: string,
  phase: CallPhase,
  args: readonly unknown[],
  context: CallContext,
) => void | Promise<void>;

/** Calls that can change the inventory, by the names that hooks see. */
export const MUTATING_CALLS: ReadonlySet<string> = new Set([
  'startImport',
  'lease.upload',
  'lease.upload.half',
  'lease.complete',
  'lease.abort',
  'reconfigure',
  'markAsTemplate',
  'rename',
  'destroy',
  'customField.define',
  'setCustomValue',
  'tags.attach',
]);

/** What a killed client's calls reject with: not a `VimError`, because nothing of the dead process may handle it. */
export class ClientKilled extends Error {
  override readonly name = 'ClientKilled';

  constructor() {
    super('the client was killed by the test; its process makes no more calls');
  }
}

/** Runs one call between its hooks. */
export type CallRunner = <T>(
  method: string,
  args: readonly unknown[],
  act: () => T | Promise<T>,
  options?: CallOptions,
) => Promise<T>;
