import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { SetRow } from '../src/state/page-state.ts';
import { Badge, Next, Part } from './parts.tsx';
import { now, section } from './store.ts';
import { age } from './words.ts';

const sets = section('sets');
const wanted = signal('');
const phase = signal('');
/** Which part of the list is seen, in rows. */
const view = signal({ first: 0, count: 30 });
/** The row that keys move. */
const active = signal(0);
const opened = signal<string | undefined>(undefined);

const phases = computed(() => [...new Set(sets.value.map((row) => row.phase))].filter((one) => one !== '').toSorted());
const found = computed(() => {
  const words = wanted.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return sets.value.filter((row) => {
    if (phase.value !== '' && row.phase !== phase.value) return false;
    const text = `${row.set} ${row.namespace} ${row.place} ${row.current} ${row.target} ${row.reason}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
});

/** Rows beyond those that are seen, so that a quick hand finds none missing. */
const SPARE = 8;
const narrow = window.matchMedia('(max-width: 720px)');
const rowHeight = signal(narrow.matches ? 92 : 44);
narrow.addEventListener('change', ({ matches }) => {
  rowHeight.value = matches ? 92 : 44;
});

/** All sets, of which only those that are seen are in the document. */
export function Sets(): JSX.Element {
  const { length } = found.value;
  const total = sets.value.length;
  return (
    <Part id="sets" title="Machine sets" note={length === total ? `${total}` : `${length} of ${total}`}>
      <search class="filter">
        <label>
          Name, place or release{' '}
          <input
            type="search"
            value={wanted.value}
            onInput={({ currentTarget }) => {
              wanted.value = currentTarget.value;
              active.value = 0;
            }}
          />
        </label>
        <label>
          Phase{' '}
          <select
            value={phase.value}
            onChange={({ currentTarget }) => {
              phase.value = currentTarget.value;
              active.value = 0;
            }}
          >
            <option value="">All</option>
            {phases.value.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      </search>
      {length === 0 ? (
        <p class="quiet">{total === 0 ? 'There are no machine sets.' : 'No set is like that.'}</p>
      ) : (
        <Grid />
      )}
      <Details />
    </Part>
  );
}

function Grid(): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = found.value;
  const height = rowHeight.value;
  const look = (): void => {
    const { current } = scroller;
    if (current === null) return;
    const first = Math.floor(current.scrollTop / height);
    const count = Math.ceil(current.clientHeight / height) + 1;
    if (view.value.first !== first || view.value.count !== count) view.value = { first, count };
  };
  useEffect(() => {
    const { current } = scroller;
    if (current === null) return undefined;
    const sized = new ResizeObserver(look);
    sized.observe(current);
    return () => sized.disconnect();
  });
  const at = Math.min(active.value, rows.length - 1);
  const show = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    active.value = next;
    const { current } = scroller;
    if (current === null) return;
    if (next * height < current.scrollTop) current.scrollTop = next * height;
    const end = (next + 1) * height - current.clientHeight;
    if (end > current.scrollTop) current.scrollTop = end;
    look();
  };
  const page = Math.max(1, view.value.count - 2);
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: rows.length - 1,
  };
  const first = Math.max(0, Math.min(view.value.first, rows.length - 1) - SPARE);
  const seen = rows.slice(first, view.value.first + view.value.count + SPARE);
  const { id: activeRow } = rows[at] ?? { id: '' };
  // Its row must be there to be named.
  const named = at >= first && at < first + seen.length;
  return (
    <div
      ref={scroller}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label="Machine sets. Arrow keys move, Enter opens"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={named ? rowId(activeRow) : undefined}
      onScroll={look}
      onKeyDown={(event) => {
        const to = moves[event.key];
        if (to !== undefined) show(to);
        else if (event.key === 'Enter' || event.key === ' ') opened.value = activeRow;
        else return;
        event.preventDefault();
      }}
    >
      <div role="row" class="row heads" aria-rowindex={1}>
        {HEADS.map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div class="space" role="rowgroup" style={{ height: `${rows.length * height}px` }}>
        {seen.map((row, index) => (
          <Line key={row.id} row={row} at={first + index} height={height} active={first + index === at} />
        ))}
      </div>
    </div>
  );
}

const HEADS = ['Set', 'Scale now?', 'Phase', 'From', 'Asked for', 'Progress', 'Place', 'Since'];

function rowId(id: string): string {
  return `set-${id.replaceAll(/[^\w-]/g, (found) => `.${found.charCodeAt(0)}`)}`;
}

function Line({
  row,
  at,
  height,
  active: isActive,
}: {
  readonly row: SetRow;
  readonly at: number;
  readonly height: number;
  readonly active: boolean;
}): JSX.Element {
  const { id, set, answer, phase: is, current, target, progress, place, since } = row;
  return (
    // Keys go to the grid, which tells which row they mean.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div
      id={rowId(id)}
      role="row"
      class={isActive ? 'row active' : 'row'}
      aria-rowindex={at + 2}
      aria-selected={isActive}
      style={{ transform: `translateY(${at * height}px)`, height: `${height}px` }}
      onClick={() => {
        active.value = at;
        opened.value = id;
      }}
    >
      <span role="gridcell" class="name">
        {set}
      </span>
      <span role="gridcell">
        <Badge answer={answer} />
      </span>
      <span role="gridcell">{is}</span>
      <span role="gridcell">{current}</span>
      <span role="gridcell">{target}</span>
      <span role="gridcell">{progress === '-' ? '' : progress}</span>
      <span role="gridcell">{place}</span>
      <span role="gridcell">{since === '' ? '' : age(since, now.value)}</span>
    </div>
  );
}

/** One set with everything that is said of it. */
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
      {row === undefined ? null : <Told row={row} />}
    </dialog>
  );
}

function Told({ row }: { readonly row: SetRow }): JSX.Element {
  const facts: readonly (readonly [string, string])[] = [
    ['Namespace', row.namespace],
    ['Place', row.place],
    ['Platform', row.platform],
    ['Phase', row.since === '' ? row.phase : `${row.phase} since ${age(row.since, now.value)}`],
    ['Progress', row.progress === '-' ? '' : row.progress],
    ['Reason', row.reason],
    ['From', row.current],
    ['Asked for', row.target],
    ['Pinned to', row.pinned],
    ['Policy', row.policy],
    ['A revert goes to', row.revertTo],
  ];
  return (
    <>
      <form method="dialog" class="close">
        <button type="submit">Close</button>
      </form>
      <h2 id="details-title">
        {row.set} <Badge answer={row.answer} />
      </h2>
      {row.message === '' ? null : <p>{row.message}</p>}
      <Next step={row.nextStep} />
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <p class="quiet">
        More: <code>drydock explain {row.set}</code>
      </p>
    </>
  );
}
