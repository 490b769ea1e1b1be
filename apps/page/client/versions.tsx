import { useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { VersionRow, VersionSeries } from '../src/state/page-state.ts';
import { Part, Wide } from './parts.tsx';
import { head, now, section } from './store.ts';
import { dark } from './theme.ts';

const versions = section('versions');
const SKEW: Readonly<Record<VersionRow['skew'], string>> = {
  none: '✔ as asked',
  older: '▼ older than asked',
  newer: '▲ newer than asked',
  unknown: '? cannot be compared',
};

/** Which releases sets have, and had. */
export function Versions(): JSX.Element {
  return (
    <Part id="versions" title="Versions and skew">
      {versions.value.length === 0 ? (
        <p class="quiet">No set has an image that is known.</p>
      ) : (
        <Wide label="Releases of the images of all sets">
          <table>
            <thead>
              <tr>
                <th scope="col">New machines start from</th>
                <th scope="col">Asked for</th>
                <th scope="col">Skew</th>
                <th scope="col">Sets</th>
              </tr>
            </thead>
            <tbody>
              {versions.value.map(({ id, current, target, skew, sets, names }) => (
                <tr key={id}>
                  <th scope="row">{current === '' ? '(not known)' : current}</th>
                  <td>{target === '' ? '(nothing)' : target}</td>
                  <td class={`skew ${skew}`}>{SKEW[skew]}</td>
                  <td title={names.join(', ')}>{sets}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
      <Chart />
    </Part>
  );
}

const STROKES = ['--line-1', '--line-2', '--line-3', '--line-4'];
const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3]];

/** Sets by release over time. What it shows is told by the timeline, too. */
function Chart(): JSX.Element | null {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const drawn = useRef('');
  useSignalEffect(() => {
    const series = head.value?.series;
    const { current: into } = frame;
    const until = Math.floor(now.value / 60_000) * 60;
    // Drawn anew where it says something else, and each minute, in which its last step grows.
    const key = JSON.stringify([series, dark.value, until]);
    if (into === null || series === undefined || key === drawn.current) return;
    drawn.current = key;
    plot.current?.destroy();
    plot.current = series.times.length === 0 ? undefined : chart(into, series, until);
  });
  useEffect(() => {
    const { current: into } = frame;
    if (into === null) return undefined;
    const sized = new ResizeObserver(() => plot.current?.setSize({ width: into.clientWidth, height: HEIGHT }));
    sized.observe(into);
    return () => sized.disconnect();
  }, []);
  const names = head.value?.series.releases.map(({ release }) => release) ?? [];
  return (
    <figure hidden={names.length === 0}>
      <div ref={frame} class="chart" role="img" aria-label={`Sets by release over time: ${names.join(', ')}`} />
      <figcaption class="quiet">Sets by release over time</figcaption>
    </figure>
  );
}

const HEIGHT = 180;

function chart(into: HTMLElement, { times, releases }: VersionSeries, until: number): uPlot {
  const style = getComputedStyle(into);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const last = Math.max(until, (times.at(-1) ?? 0) + 60);
  const grow = (values: readonly number[]): number[] => [...values, values.at(-1) ?? 0];
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--edge') }, ticks: { stroke: colour('--edge') } };
  return new uPlot(
    {
      width: into.clientWidth,
      height: HEIGHT,
      cursor: { show: false },
      legend: { show: true, live: false },
      axes: [axis, { ...axis, size: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }],
      scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
      series: [
        {},
        ...releases.map(({ release }, at) => ({
          label: release,
          stroke: colour(STROKES[at % STROKES.length] ?? '--line-1'),
          width: 2,
          dash: DASHES[Math.floor(at / STROKES.length) % DASHES.length] ?? [],
          points: { show: false },
          ...(uPlot.paths.stepped === undefined ? {} : { paths: uPlot.paths.stepped({ align: 1 }) }),
        })),
      ],
    },
    [[...times, last], ...releases.map(({ sets }) => grow(sets))],
    into,
  );
}
