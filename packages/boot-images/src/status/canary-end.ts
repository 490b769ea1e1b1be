import type { SetOutcome } from './subject.ts';

/**
 * Whether an outcome of a set ends what is tried for it, unjudged: the set has what it is to have, is left alone, or waits for something of its own (a hold, a window, its turn). Its machine goes then, nothing is said of
 * it any more, and another one is made when the set goes on.
 */
export function endsCanary(outcome: SetOutcome): boolean {
  switch (outcome.kind) {
    case 'current':
    case 'skip':
      return true;
    case 'waiting':
      return outcome.letsTry !== true;
    case 'step':
    case 'failed':
      return false;
  }
}
