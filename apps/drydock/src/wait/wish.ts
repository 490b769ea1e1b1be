import type { BootImageStatus } from '@drydock/api';
import { UsageError } from '../exit.ts';

/** What is waited for of each set. */
export type Wish =
  | { readonly kind: 'current' }
  | { readonly kind: 'phase'; readonly phase: string }
  | { readonly kind: 'release'; readonly release: string };

/** The nine phases of a BootImage. */
const PHASES = [
  ...['Pending', 'Downloading', 'Uploading', 'Publishing', 'Switching', 'Current', 'Skipped', 'Blocked', 'Failed'],
];

/** Reads `current`, `phase=PHASE` or `release=RELEASE`. Throws `UsageError`. */
export function wishOf(text: string): Wish {
  if (text === 'current') return { kind: 'current' };
  const [kind, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
  if (kind === 'release' && value !== '') return { kind, release: value };
  const phase = PHASES.find((one) => one.toLowerCase() === value.toLowerCase());
  if (kind === 'phase' && phase !== undefined) return { kind, phase };
  throw new UsageError(`--for ${text}: current, release=RELEASE or phase=PHASE is expected, of ${PHASES.join(', ')}`);
}

/** Whether a set is as wished: met, not yet, or stuck, which does not end by itself. */
export function standingOf(status: BootImageStatus | undefined, wish: Wish): 'met' | 'pending' | 'stuck' {
  const { phase, current } = status ?? {};
  const met =
    wish.kind === 'current'
      ? phase === 'Current'
      : wish.kind === 'phase'
        ? phase === wish.phase
        : phase === 'Current' && current === wish.release;
  if (met) return 'met';
  // What failed is tried again; what is left alone is, as long as nobody changes that.
  return phase === 'Blocked' || phase === 'Skipped' ? 'stuck' : 'pending';
}
