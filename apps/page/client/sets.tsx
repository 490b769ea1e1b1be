import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { SetRow } from '../src/state/page-state.ts';
import { Badge, Command, Next, Part, Table, Text, Time } from './parts.tsx';
import { section } from './store.ts';
import { isoTime } from './words.ts';

const sets = section('sets');
const wanted = signal('');
const problemsOnly = signal(false);
/** The column that rows are sorted by; undefined: problems first, as the server sends them. */
const sorted = signal<{ readonly by: Column; readonly down: boolean } | undefined>(undefined);
const page = signal(0);
const opened = signal<string | undefined>(undefined);

const PAGE = 25;
/** Each column with what it is sorted by. */
const COLUMNS = {
  'Machine set': ({ id }: SetRow) => id,
  // In the order in which the server sends them.
  'Scale now?': ({ answer, phase, reason }: SetRow) =>
    `${['no', 'unknown', 'wait', 'yes', 'unmanaged'].indexOf(answer)} ${phase} ${reason}`,
  Image: ({ current }: SetRow) => current,
  'Failure domain': ({ failureDomain, region }: SetRow) => `${failureDomain} ${region}`,
  Since: ({ since }: SetRow) => since,
} as const;
type Column = keyof typeof COLUMNS;
const byNumber = new Intl.Collator('en', { numeric: true });

const isProblem = ({ answer }: SetRow): boolean => answer === 'no' || answer === 'unknown';
const problems = computed(() => sets.value.filter(isProblem).length);
const found = computed(() => {
  const words = wanted.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const rows = sets.value.filter((row) => {
    if (problemsOnly.value && !isProblem(row)) return false;
    const { set, namespace, region, failureDomain, current, target, phase, reason } = row;
    const text = [set, namespace, region, failureDomain, current, target, phase, reason].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (sorted.value === undefined) return rows;
  const { by, down } = sorted.value;
  const keys = new Map(rows.map((row) => [row, COLUMNS[by](row)]));
  const up = rows.toSorted((a, b) => byNumber.compare(keys.get(a) ?? '', keys.get(b) ?? ''));
  return down ? up.reverse() : up;
});

/** All machine sets, a page of them at a time. */
export function Sets(): JSX.Element | null {
  const total = sets.value.length;
  const { length } = found.value;
  if (total === 0) return null;
  const count = total.toLocaleString('en');
  return (
    <Part id="sets" title="Machine sets" note={length === total ? count : `${length.toLocaleString('en')} of ${count}`}>
      <search>
        <label>
          Find{' '}
          <input
            type="search"
            value={wanted.value}
            onInput={({ currentTarget }) => {
              wanted.value = currentTarget.value;
              page.value = 0;
            }}
          />
        </label>
        <label>
          <input
            type="checkbox"
            role="switch"
            checked={problemsOnly.value}
            aria-checked={problemsOnly.value}
            onChange={({ currentTarget }) => {
              problemsOnly.value = currentTarget.checked;
              page.value = 0;
            }}
          />{' '}
          Problems only ({problems.value.toLocaleString('en')})
        </label>
      </search>
      {length === 0 ? <p class="quiet">No machine set is like that.</p> : <Page />}
      <Details />
    </Part>
  );
}

function Page(): JSX.Element {
  const { length } = found.value;
  const last = Math.ceil(length / PAGE) - 1;
  const at = Math.min(page.value, last);
  const rows = found.value.slice(at * PAGE, (at + 1) * PAGE);
  return (
    <>
      <Table
        label="Machine sets"
        heads={(Object.keys(COLUMNS) as Column[]).map((name) => ({ name, head: <Head key={name} name={name} /> }))}
        rows={rows.map((row) => ({ id: row.id, cells: cells(row) }))}
      />
      {last === 0 ? null : (
        <nav aria-label="Pages of machine sets">
          <button type="button" disabled={at === 0} onClick={() => (page.value = at - 1)}>
            Previous
          </button>
          <span>
            {at * PAGE + 1} to {at * PAGE + rows.length} of {length.toLocaleString('en')}
          </span>
          <button type="button" disabled={at === last} onClick={() => (page.value = at + 1)}>
            Next
          </button>
        </nav>
      )}
    </>
  );
}

/** A heading that sorts: up, down, then problems first again. */
function Head({ name }: { readonly name: Column }): JSX.Element {
  const { by, down } = sorted.value ?? {};
  const isSorted = by === name;
  return (
    <th scope="col" aria-sort={isSorted ? (down === true ? 'descending' : 'ascending') : 'none'}>
      <button
        type="button"
        onClick={() => {
          sorted.value = isSorted && down === true ? undefined : { by: name, down: isSorted };
          page.value = 0;
        }}
      >
        {name}
      </button>
    </th>
  );
}

function cells(row: SetRow): readonly JSX.Element[] {
  const { id, set, answer, phase, progress, reason, current, target, region, failureDomain, since } = row;
  // `blocked: NoSpace` is the phase and the reason once more.
  const isReason = progress === '-' || progress.startsWith(`${phase.toLowerCase()}:`);
  const detail = isReason ? reason.replace(/^UpToDate$/, '') : progress;
  return [
    <button key="set" type="button" class="open" onClick={() => (opened.value = id)}>
      <Text>{set}</Text>
    </button>,
    <>
      <Badge key="answer" answer={answer} />{' '}
      <small class="quiet">
        <Text>{[phase, detail].filter((part) => part !== '').join(': ')}</Text>
      </small>
    </>,
    <Two key="image" first={current} second={target === current || target === '' ? '' : `asked for: ${target}`} />,
    <Two
      key="place"
      first={failureDomain === '' ? region : failureDomain}
      second={failureDomain === '' ? '' : region}
    />,
    since === '' ? <span key="since" /> : <Time key="since" at={since} />,
  ];
}

function Two({ first, second }: { readonly first: string; readonly second: string }): JSX.Element {
  return (
    <>
      <Text>{first}</Text>
      {second === '' ? null : (
        <small class="quiet">
          {' '}
          <Text>{second}</Text>
        </small>
      )}
    </>
  );
}

/** One machine set with everything that is known of it. */
function Details(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const row = sets.value.find(({ id }) => id === opened.value);
  const isOpen = row !== undefined;
  useEffect(() => {
    const { current } = dialog;
    if (current === null || current.open === isOpen) return;
    if (isOpen) current.showModal();
    else current.close();
  }, [isOpen]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="details-title"
      onClose={() => {
        opened.value = undefined;
      }}
    >
      {row === undefined ? null : <Facts row={row} />}
    </dialog>
  );
}

function Facts({ row }: { readonly row: SetRow }): JSX.Element {
  const { phase, progress, since, set } = row;
  const facts: readonly (readonly [string, string])[] = [
    ['Namespace', row.namespace],
    ['Failure domain', row.failureDomain],
    [row.platform === 'vsphere' ? 'vCenter' : 'Region', row.region],
    ['Platform', row.platform],
    ['Phase', since === '' ? phase : `${phase} since ${isoTime(since)}`],
    ['Progress', progress === '-' ? '' : progress],
    ['Reason', row.reason],
    ['New machines start from', row.current],
    ['Asked for', row.target],
    ['Pinned to', row.pinned],
    ['Policy', row.policy],
    ['A revert goes to', row.revertTo],
  ];
  return (
    <>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
      <h2 id="details-title">
        <Text>{set}</Text> <Badge answer={row.answer} />
      </h2>
      {row.message === '' ? null : (
        <p>
          <Text>{row.message}</Text>
        </p>
      )}
      <Next step={row.nextStep} />
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Text>{value}</Text>
              </dd>
            </div>
          ))}
      </dl>
      <p>
        More: <Command text={`drydock explain ${set}`} />
      </p>
    </>
  );
}
