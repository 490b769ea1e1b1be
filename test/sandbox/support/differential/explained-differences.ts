import type { Difference } from './differences.ts';

/** A difference that nobody mends. */
interface Explanation {
  /** Why the servers cannot be the same here; the sandbox's README lists it, too. */
  readonly why: string;
  readonly fits: (difference: Difference) => boolean;
}

/** Whether every place that differs is one of these. */
function only(difference: Difference, ...paths: readonly RegExp[]): boolean {
  return difference.class === 'body' && difference.places.every(({ path }) => paths.some((one) => one.test(path)));
}

const bare = ({ request }: Difference): string => request.path.split('?', 1)[0] ?? '';

const EXPLANATIONS: readonly Explanation[] = [
  {
    why: 'the version names another build and platform',
    fits: (one) => bare(one) === '/version',
  },
];

/** Why a difference needs no mending; undefined where it does. */
export function explanationOf(difference: Difference): string | undefined {
  return EXPLANATIONS.find(({ fits }) => fits(difference))?.why;
}

export { only };
