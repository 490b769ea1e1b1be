import type { KeptSet } from '../observe/kept-set.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import type { Acting } from './item.ts';

/**
 * What a pass may do where it carries out what somebody agreed to beforehand. What a question throws ends the pass: nothing else is begun. Beside its moves such a pass takes off no pins, and
 * removes nothing that it is not allowed to.
 */
export interface PassBounds {
  /** The sets that it looks at; nothing is done and nothing is told about any other. */
  readonly includes: (set: KeptSet) => boolean;
  /** Asked before the first call of a move. */
  readonly mayMove: (set: KeptSet, plan: Acting, call: { readonly signal?: AbortSignal | undefined }) => Promise<void>;
  /** Asked before this machine tries an image. */
  readonly mayTry: (machine: string) => void;
  /** Asked right before the stub in this Secret is converted. */
  readonly mayConvert: (secret: string) => void;
  /** Asked right before a set is pointed at its image by these edits. */
  readonly mayPoint: (set: KeptSet, edits: readonly LeafEdit[]) => void;
  /** Whether this image, or this machine that tried one, may be removed where nothing needs it. */
  readonly mayRemove: (name: string) => boolean;
}
