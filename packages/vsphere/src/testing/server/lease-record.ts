import type { MoRef } from '../../vcenter.ts';
import type { Refusal } from './soap-refusal.ts';

/** One file that a lease takes. */
export interface LeaseTarget {
  /** Last part of its address. */
  readonly name: string;
  readonly key: string;
  readonly importKey: string;
  received?: { readonly sha1: string; readonly size: number };
}

/** The lease of an import. */
export interface LeaseRecord {
  readonly ref: MoRef;
  /** Key of the session that it lives in. */
  readonly session: string;
  readonly machine: MoRef | undefined;
  readonly targets: readonly LeaseTarget[];
  state: 'ready' | 'error';
  progress: number;
  error?: Refusal;
  timer?: NodeJS.Timeout;
}
