/**
 * Where an installation keeps what it knows of its templates, out of reach of vCenter users: a few texts by key. `cluster`: in the API server; `file`: in a file of this user on this machine.
 */
export interface LedgerStore {
  /** What a cluster recorded counts without a key; what a file recorded counts only beside one. */
  readonly kind: 'cluster' | 'file';
  /** All of them. */
  read(): Promise<ReadonlyMap<string, string>>;
  /**
   * Durably puts what `next` makes of the text under `key` (undefined: none; as a result: remove it). `next` runs again when another process was faster. Resolves to what is there afterwards.
   * Keys consist of lower-case letters, digits, dots and hyphens.
   */
  change(key: string, next: (now: string | undefined) => string | undefined): Promise<string | undefined>;
}
