import { oneLine } from '@drydock/api/text';
import { wrapped } from '../table.ts';
import type { ToldEntry } from './told-history.ts';

/** Whether a set can go back to an image of its history, as a table cell. `gone`: what is said of an image that is not there. */
export function wayBackCell({ until, revertable, why }: ToldEntry, gone: string): string {
  if (until === undefined) return 'in use';
  if (revertable === undefined) return 'unknown';
  if (revertable) return 'yes';
  return why === gone ? 'gone' : 'no';
}

interface Refusal {
  readonly releases: readonly string[];
  readonly looked: boolean;
  readonly why: string;
  readonly next: string | undefined;
}

/** Below the table: why a set cannot go back to images although they are not simply gone, or why Drydock could not look, and what a person can do. What is the same for several images is said once. */
export function wayBackRefusals(history: readonly ToldEntry[], gone: string): string {
  const refusals = new Map<string, Refusal>();
  for (const { id, release = id, revertable, why, next, until } of history) {
    if (until === undefined || revertable === true || why === undefined || why === gone) continue;
    const looked = revertable === false;
    const { releases = [], ...first } = refusals.get(`${looked} ${why}`) ?? {};
    if (releases.includes(release)) continue;
    refusals.set(`${looked} ${why}`, { looked, why, next, ...first, releases: [...releases, release] });
  }
  return [...refusals.values()]
    .map(({ looked, releases, why, next }) => {
      const what = looked ? 'No way back to' : 'Not known whether there is a way back to';
      return `${wrapped(`${what} ${releases.join(', ')}: ${why}.`)}${next === undefined ? '' : nextLine(next)}`;
    })
    .join('');
}

/** A command stays one line, so that it can be pasted. */
function nextLine(next: string): string {
  const line = `next: ${oneLine(next)}`;
  return /\b(?:drydock|kubectl) /.test(line) ? `  ${line}\n` : wrapped(line, '  ');
}
