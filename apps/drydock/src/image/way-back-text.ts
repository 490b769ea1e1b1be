import { type Column, table } from '../table.ts';
import { shell } from '../template/next-command.ts';
import type { ToldEntry } from './told-history.ts';

/** Whether a set can go back to an image of its history, as a table cell. `gone`: what is said of an image that is not there. */
export function wayBackCell({ until, revertable, why }: ToldEntry, gone: string): string {
  if (until === undefined) return 'in use';
  if (revertable === undefined) return 'not looked at, see below';
  if (revertable) return 'yes';
  return why === gone ? `no, ${gone}` : 'no, see below';
}

interface Refusal {
  readonly releases: readonly string[];
  readonly looked: boolean;
  readonly why: string;
  readonly next: string;
}

/** Below the table: why a set cannot go back to images although they are not simply gone, or why nobody could look, and what a person can do. What is the same for several is said once. */
export function wayBackRefusals(set: string, history: readonly ToldEntry[], gone: string): string {
  const refusals = new Map<string, Refusal>();
  for (const { id, release = id, revertable, why, next, until } of history) {
    if (until === undefined || revertable === true || why === undefined || why === gone) continue;
    const looked = revertable === false;
    const { releases = [], ...first } = refusals.get(`${looked} ${why}`) ?? {};
    if (releases.includes(release)) continue;
    const said = { looked, why, next: next ?? shell`drydock image revert ${set} --to ${id}` };
    refusals.set(`${looked} ${why}`, { ...said, ...first, releases: [...releases, release] });
  }
  return table(COLUMNS, [...refusals.values()], { headers: false });
}

const COLUMNS: readonly Column<Refusal>[] = [
  {
    header: '',
    cell: ({ looked, releases }) => `${looked ? 'No way back to' : 'Nobody could look for'} ${releases.join(', ')}:`,
  },
  { header: '', cell: ({ why }) => `${why}.` },
  { header: '', cell: ({ looked, next }) => `${looked ? 'What it takes' : 'Next'}: ${next}` },
];
