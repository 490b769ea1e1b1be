import type { Clock, KubeClient } from '@drydock/kube';
import type { InventoryStore } from '../apply/inventory/inventory.ts';
import type { ApplyOutcome, ApplyPorts, ApplyWish } from '../apply/wish.ts';
import type { KeptValues } from '../rollback/kept-values.ts';
import type { Columns } from '../rollback/wish.ts';
import type { Account } from './face.ts';
import type { SignaturePorts } from './loaded-release.ts';
import type { ReleaseMetrics } from './metrics.ts';
import type { ReleaseWatches } from './release-watches.ts';
import type { Retrieval } from './retrieval.ts';
import type { Turns } from './turns.ts';
import type { WayBackJudge } from './way-back-judge.ts';

/** What a pass over a release needs of the world. */
export interface ReleasePorts {
  /** A client in the name of an account. It belongs to whoever gave it. */
  readonly clientFor: (account: Account) => KubeClient;
  readonly retrieve: Retrieval;
  /** Releases that are applied at the same time. */
  readonly applying: Turns;
  readonly signatures: SignaturePorts & {
    /** Keeps what proved a digest. */
    readonly keep: (digest: string, proof: readonly Uint8Array[], needed: ReadonlySet<string>) => Promise<void>;
  };
  readonly inventory: InventoryStore;
  readonly apply: (wish: ApplyWish, ports: ApplyPorts) => Promise<ApplyOutcome>;
  readonly watches: ReleaseWatches;
  readonly judge: WayBackJudge;
  /** Where what a way back leaves out is kept. */
  readonly kept: KeptValues;
  /** How each API server shows a kind, asked in the name of an account. */
  readonly columns: (account: Account) => Columns;
  /** ms that a writer has to write anew once its release is back. */
  readonly patience?: number;
  readonly clock: Clock;
  readonly metrics: ReleaseMetrics;
  /** A failure that is nobody's status. */
  readonly warn: (message: string, error: unknown) => void;
  readonly random: () => number;
}
