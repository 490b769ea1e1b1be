import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import type { VersionRow } from '../src/state/page-state.ts';
import { Part, Table, Text } from './parts.tsx';
import { section, state } from './store.ts';
import { counted } from './words.ts';

const versions = section('versions');
const DAY_MS = 86_400_000;
const OLD_DAYS = 90;
/** Ages by their last day. */
const AGES = [
  ['Up to 30 days', 30],
  [`31 to ${OLD_DAYS} days`, OLD_DAYS],
  ['91 to 180 days', 180],
  ['181 to 365 days', 365],
  ['Over a year', Number.POSITIVE_INFINITY],
] as const;

/** Machine sets by the age of the image that their new machines start from. */
const ages = computed(() => {
  const now = Date.parse(state.value?.asOf ?? '');
  const days = ({ built }: VersionRow): number => Math.floor((now - Date.parse(built)) / DAY_MS);
  const sum = (rows: readonly VersionRow[]): number => rows.reduce((all, { sets }) => all + sets, 0);
  const by = AGES.map(([name, last], at) => {
    const [, before] = AGES[at - 1] ?? [undefined, Number.NEGATIVE_INFINITY];
    return { name, count: sum(versions.value.filter((row) => days(row) > before && days(row) <= last)) };
  });
  return {
    all: sum(versions.value),
    old: sum(versions.value.filter((row) => days(row) > OLD_DAYS)),
    by: [...by, { name: 'Not known', count: sum(versions.value.filter(({ built }) => built === '')) }],
  };
});

const SKEW: Readonly<Record<VersionRow['skew'], string>> = {
  none: 'as asked',
  older: 'older than asked for',
  newer: 'newer than asked for',
  unknown: 'cannot be compared',
};

/** How old images are, and which ones. */
export function ImageAges(): JSX.Element | null {
  const { all, old, by } = ages.value;
  if (all === 0) return null;
  return (
    <Part id="ages" title="How old are the images?">
      <p>
        {old === 0
          ? `No image is known to have been built more than ${OLD_DAYS} days ago.`
          : `New machines of ${old.toLocaleString('en')} of ${counted(all, 'machine set')} start from an image that was built more than ${OLD_DAYS} days ago.`}
      </p>
      <div class="halves">
        <dl class="ages">
          {by
            .filter(({ count }) => count > 0)
            .map(({ name, count }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <span class="length" style={{ flexGrow: count / all }} />
                  <span>
                    {count.toLocaleString('en')} ({Math.round((100 * count) / all)} %)
                  </span>
                </dd>
              </div>
            ))}
        </dl>
        <Table
          label="Images of all machine sets"
          heads={['New machines start from', 'Built', 'Asked for', 'Difference', 'Machine sets']}
          rows={versions.value.map(({ id, current, built, target, skew, sets }) => ({
            id,
            cells: [
              <Text key="current">{current === '' ? 'not known' : current}</Text>,
              <Text key="built">{built === '' ? 'not known' : built}</Text>,
              <Text key="target">{target === '' ? 'nothing' : target}</Text>,
              SKEW[skew],
              sets.toLocaleString('en'),
            ],
          }))}
        />
      </div>
    </Part>
  );
}
