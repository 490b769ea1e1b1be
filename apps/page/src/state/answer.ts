import type { Answer, Because, Share } from './page-state.ts';

/** From the worst to the best. */
const ORDER: readonly Answer[] = ['no', 'unknown', 'wait', 'yes', 'unmanaged'];
/** So many sets are named. */
const MOST_NAMED = 5;

/** The worse an answer is the lower it ranks. */
export function rank(answer: Answer): number {
  return ORDER.indexOf(answer);
}

/** The worst of some answers; undefined where there are none. */
export function worst(answers: Iterable<Answer>): Answer | undefined {
  return [...answers].toSorted((a, b) => rank(a) - rank(b))[0];
}

/** How many of some answers are which. */
export function shareOf(answers: readonly Answer[]): Share {
  const share = { yes: 0, wait: 0, no: 0, unknown: 0, unmanaged: 0 };
  for (const answer of answers) share[answer] += 1;
  return share;
}

/** A reason before those that are equal are put together. */
export interface Reason {
  readonly answer: Answer;
  readonly text: string;
  readonly nextStep?: string;
  readonly set?: string;
}

/** What is said alike is said once, with the sets that it is said of; the worst first. */
export function because(reasons: readonly Reason[]): readonly Because[] {
  const groups = Map.groupBy(reasons, ({ answer, text, nextStep }) => JSON.stringify([answer, text, nextStep]));
  const made = [...groups.values()].flatMap((group): readonly Because[] => {
    const [first] = group;
    if (first === undefined) return [];
    const sets = group.flatMap(({ set }) => set ?? []);
    const { answer, text, nextStep } = first;
    return [
      {
        ...{ answer, text, sets: sets.slice(0, MOST_NAMED), more: Math.max(0, sets.length - MOST_NAMED) },
        ...(nextStep === undefined ? {} : { nextStep }),
      },
    ];
  });
  return made.toSorted((a, b) => rank(a.answer) - rank(b.answer));
}
