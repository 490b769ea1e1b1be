import type { Step } from './step.ts';

/** Whether a way is open. `blocked`: something stops it; `undecided`: nothing does, but something is unknown. */
export type WayVerdict = 'clean' | 'blocked' | 'undecided';

/** What one thing that was found weighs. */
export type Weight = 'stops' | 'doubt' | 'none';

/** The verdict about all that was found: what stops outweighs every doubt, and a doubt is never clean. Every command that says whether one can go asks here. */
export function wayOf(weights: Iterable<Weight>): WayVerdict {
  let way: WayVerdict = 'clean';
  for (const weight of weights) {
    if (weight === 'stops') return 'blocked';
    if (weight === 'doubt') way = 'undecided';
  }
  return way;
}

/** What a difference weighs where no object was looked at. */
export function weightOf({ effect }: Pick<Step, 'effect'>): Weight {
  return effect === 'narrows' ? 'stops' : effect === 'undecided' ? 'doubt' : 'none';
}
