import { shareOf, worst } from './answer.ts';
import { answerRows, type PageView, type PlacedSet, placedSets, wantedBytes } from './answers.ts';
import type { Answer, AnswerRow, Share } from './page-state.ts';
import type { PageWorld } from './page-world.ts';

/** What decides whether machines can be made now. */
export type ScaleWorld = Pick<PageWorld, 'now' | 'tree' | 'images' | 'leader' | 'logins' | 'vcenters'>;

/** The answer to "Can I scale now?" for all machine sets, and for each of their places. */
export interface ScaleAnswer {
  /** The worst of all managed machine sets; `unmanaged` where there are none. */
  readonly answer: Answer;
  readonly share: Share;
  /** `Yes for 3, 1 not managed`. */
  readonly text: string;
  /** One row for each place, the worst first. */
  readonly rows: readonly AnswerRow[];
  readonly placed: readonly PlacedSet[];
  readonly view: PageView;
}

/** Answers for the page's headline and for `drydock status --check` alike. `isAsked`: the machine sets that the question is about; default all. Pure. */
export function scaleAnswer(world: ScaleWorld, isAsked: (set: string) => boolean = () => true): ScaleAnswer {
  const all = placedSets(world);
  // An upload for another machine set fills the same datastore.
  const view = { ...world, wanted: wantedBytes(all) };
  const placed = all.filter(({ set }) => isAsked(set.set));
  const rows = answerRows(placed, view);
  const share = rows.map((row) => row.share).reduce(sumOf, shareOf([]));
  return {
    answer: worst(rows.map(({ answer }) => answer)) ?? 'unmanaged',
    ...{ share, text: shareText(share), rows, placed, view },
  };
}

function sumOf(a: Share, b: Share): Share {
  return {
    yes: a.yes + b.yes,
    wait: a.wait + b.wait,
    no: a.no + b.no,
    unknown: a.unknown + b.unknown,
    unmanaged: a.unmanaged + b.unmanaged,
  };
}

/** What people read first. */
function shareText({ unmanaged, ...managed }: Share): string {
  const parts = (['yes', 'wait', 'no', 'unknown'] as const)
    .filter((answer) => managed[answer] > 0)
    .map((answer) => `${answer} for ${managed[answer]}`);
  const text = [...parts, ...(unmanaged > 0 ? [`${unmanaged} not managed`] : [])].join(', ');
  return text === '' ? 'No machine sets' : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
