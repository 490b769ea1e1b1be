import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import type { Answer, AnswerRow, Progress } from '../src/state/page-state.ts';
import { Badge, Bar, Next, Part, Some, Text } from './parts.tsx';
import { section } from './store.ts';
import { counted, isoTime } from './words.ts';

const [answers, notes, operations] = [section('answers'), section('notes'), section('operations')];

/** Something that a person should know, or do. */
interface Reason {
  readonly answer: Answer | 'note';
  readonly title?: string;
  readonly text: string;
  readonly progress?: Progress;
  /** Of which machine sets. */
  readonly of?: string;
  readonly nextStep?: string | undefined;
}

/** The name by which people know where machine sets are. */
export function placeOf({ failureDomain, region }: Pick<AnswerRow, 'failureDomain' | 'region'>): string {
  return failureDomain !== '' ? failureDomain : region === '' ? 'failure domain not known' : region;
}

/** Machine sets that are named. */
const MOST_NAMED = 5;

/** Why answers are this one; what is said of several failure domains alike is one reason. */
function reasonsOf(wanted: Answer): readonly Reason[] {
  const all = answers.value.flatMap((row) => row.because.map((one) => ({ row, ...one })));
  const groups = Map.groupBy(
    all.filter(({ answer }) => answer === wanted),
    ({ text, nextStep }) => JSON.stringify([text, nextStep]),
  );
  return [...groups.values()].flatMap((group) => {
    // A reason of the place is one of all its machine sets.
    const sets = group.reduce(
      (sum, one) => sum + (one.sets.length === 0 ? one.row.sets : one.sets.length + one.more),
      0,
    );
    const places = [...new Set(group.map(({ row }) => placeOf(row)))].toSorted().join(', ');
    const names = group.flatMap((one) => one.sets).toSorted();
    const named = names.slice(0, MOST_NAMED).join(', ');
    const more = sets > MOST_NAMED ? `, ${sets - MOST_NAMED} more` : '';
    const of = `${counted(sets, 'machine set')} in ${places}${named === '' ? '' : `: ${named}${more}`}`;
    return group.slice(0, 1).map(({ text, nextStep }) => ({ answer: wanted, text, nextStep, of }));
  });
}

const problems = computed((): readonly Reason[] => [
  ...[...reasonsOf('no'), ...reasonsOf('unknown')],
  ...notes.value.map(({ text, nextStep }) => ({ answer: 'note' as const, text, nextStep })),
]);

/** Images on their way, and what machine sets wait for besides. */
const inProgress = computed((): readonly Reason[] => {
  const told = new Set(operations.value.map(({ text }) => text));
  return [
    ...operations.value.map(({ set, phase, target, place, since, progress, text }) => ({
      ...{ answer: 'wait' as const, title: `${set}: ${phase} ${target}`, text, progress },
      of: `${place}${since === '' ? '' : ` since ${isoTime(since)}`}`,
    })),
    ...reasonsOf('wait').filter(({ text }) => !told.has(text)),
  ];
});

/** What keeps machines from being made, and what else needs a person. */
export function Problems(): JSX.Element | null {
  return <Reasons id="problems" title={counted(problems.value.length, 'problem')} all={problems.value} />;
}

export function InProgress(): JSX.Element | null {
  return <Reasons id="operations" title="In progress" all={inProgress.value} />;
}

/** So many are shown at once. */
const MOST = 8;

function Reasons(props: { readonly id: string; readonly title: string; readonly all: readonly Reason[] }) {
  const { id, title, all } = props;
  if (all.length === 0) return null;
  return (
    <Part id={id} title={title}>
      <Some most={MOST}>
        {all.map(({ answer, title: head, text, progress, of, nextStep }) => (
          <li key={`${answer} ${head} ${text} ${nextStep}`} class="reason">
            <Badge answer={answer} />
            <div>
              {head === undefined ? null : (
                <h3>
                  <Text>{head}</Text>
                </h3>
              )}
              <p>
                <Text>{text}</Text>
              </p>
              {progress === undefined ? null : <Bar progress={progress} of={head ?? text} />}
              {of === undefined ? null : (
                <p class="quiet">
                  <Text>{of}</Text>
                </p>
              )}
              <Next step={nextStep} />
            </div>
          </li>
        ))}
      </Some>
    </Part>
  );
}
