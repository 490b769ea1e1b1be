import type { MoRef } from '@drydock/vsphere';

/** Why a machine is to be looked at. */
export type ChangeKind =
  /** Seen for the first time, by a process or in a container that it had not watched: whoever knows the machine has looked at it already. */
  | 'found'
  /** Something changed, or it came (back) into a watched container. */
  | 'changed'
  /** It is in no watched container any more, for all the server says: moved away or destroyed. */
  | 'left';

/** A machine whose change has not been delivered yet. */
export interface DirtyMachine {
  readonly ref: MoRef;
  readonly kind: ChangeKind;
  /** Watched paths that changed since the last delivery; empty where it came or left. */
  readonly paths: ReadonlySet<string>;
  /** `<namespace>/<name>` as the machine itself carries it, whatever that is worth. */
  readonly carries: string | undefined;
  /** Before the last `Ledger.clear`, or after it: a reference means nothing across one. */
  readonly era: number;
  /** The last full pass in which it was seen before it was taken. */
  readonly epoch: number;
}
