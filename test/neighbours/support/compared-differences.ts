import type { Found, Stage } from './compared-facts.ts';

/** Something that Drydock does otherwise than cluster-version-operator, and why. */
export interface Difference {
  /** In each of these stages it must be seen. */
  readonly stages: readonly Stage[];
  /** As in {@link Found}; `*` stands for anything in any of these four. */
  readonly subject: string;
  readonly place: string;
  readonly upstream: string;
  readonly ours: string;
  readonly reason: string;
}

/** What differs and is not in the list, and what is in the list and differs no more. Both empty: the list is right. */
export interface Judged {
  readonly unlisted: readonly Found[];
  readonly stale: readonly { readonly difference: Difference; readonly stage: Stage }[];
}

/** Holds what was found against a list. */
export function judgedBy(list: readonly Difference[], found: readonly Found[]): Judged {
  const seen = new Set<string>();
  const unlisted = found.filter((one) => {
    const at = list.findIndex((difference) => isOf(difference, one));
    seen.add(`${at} ${one.stage}`);
    return at < 0;
  });
  const stale = list.flatMap((difference, at) =>
    difference.stages.filter((stage) => !seen.has(`${at} ${stage}`)).map((stage) => ({ difference, stage })),
  );
  return { unlisted, stale };
}

function isOf({ stages, ...pattern }: Difference, found: Found): boolean {
  return (
    stages.includes(found.stage) &&
    (['subject', 'place', 'upstream', 'ours'] as const).every((field) => fits(pattern[field], found[field]))
  );
}

function fits(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > text.length - last.length) return false;
    from = at + part.length;
  }
  return true;
}
