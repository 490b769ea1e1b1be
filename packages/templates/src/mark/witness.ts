import { type MarkKeys, NO_KEYS } from './keys.ts';
import { type Ledger, openLedger } from './ledger.ts';
import { systemUptime, type Uptime } from './sightings.ts';

/**
 * What proves that a template is owned. `keyed`: the code of its ownership record. `recorded`: the ledger of the cluster, or a file beside a key. `here`: this process imported it. `noted`: a file
 * without a key, which is enough to bring it back under its name, and for nothing else. `none`: nothing.
 */
export type Proof = 'keyed' | 'recorded' | 'here' | 'noted' | 'none';

/** What another vCenter user cannot make. */
export interface Witnesses {
  /** `about.instanceUuid` of the vCenter that is looked at. */
  readonly vcenter: string;
  readonly keys: MarkKeys;
  readonly ledger: Ledger;
  readonly uptime: Uptime;
  /** Identity keys of what this process imported. */
  readonly imported: ReadonlySet<string>;
}

/** What a cluster knew of templates before there was a ledger; only what version 0.1.0 left is taken over by it. */
export interface ClusterRecords {
  /** Whether the cluster recorded, before the import started, that this operation makes a machine of this instance UUID. */
  readonly recorded: (operation: string, instanceUuid: string) => boolean;
  /** Whether an object of the cluster names this template; unknown is no. */
  readonly refers: (name: string) => boolean;
  /** Whether the cluster recorded that a swap kept a template under this name. */
  readonly retired: (name: string) => boolean;
}

/** No witness at all. */
export function noWitnesses(): Witnesses {
  return { vcenter: '', keys: NO_KEYS, ledger: openLedger(undefined), uptime: systemUptime, imported: new Set() };
}
