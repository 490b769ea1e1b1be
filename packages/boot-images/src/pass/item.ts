import type { BootImageError } from '../errors.ts';
import type { KeptSet } from '../observe/kept-set.ts';
import type { Stream } from '../observe/stream.ts';
import type { Platform, PlatformInput, PlatformPlan } from '../platform.ts';
import type { SetPolicy } from '../policy/set-policy.ts';
import type { CountedOutcome } from '../status/counters.ts';
import type { SetOutcome } from '../status/subject.ts';

/** One set in one pass. */
export interface Item {
  readonly set: KeptSet;
  counted: CountedOutcome;
  error?: string;
  /** What became of it, unless it failed. */
  outcome?: SetOutcome;
  /** Bytes of its image went to the platform in this pass. */
  uploaded?: boolean;
  input?: { readonly platform: Platform; readonly input: PlatformInput; readonly policy?: SetPolicy };
}

/** A plan by which something is to be done. */
export type Acting = Extract<PlatformPlan, { readonly kind: 'switch' | 'publish' }>;

/** The stream of the release, or why it has none that can be read. */
export type ReleaseStream = Stream | BootImageError;

/** When a pass ends early. */
export interface PassSignals {
  /** Nothing may be written any more. */
  readonly signal?: AbortSignal | undefined;
  /** The process is to stop: what is only read, and images that are only being downloaded, are left. */
  readonly stopping?: AbortSignal;
  /** Something changed: sets whose images are only being downloaded are left to the next pass, which comes at once and decides by what is so now. */
  readonly news?: AbortSignal;
}
