import type { BootImage } from '@drydock/api';
import type { VersionSeries } from './page-state.ts';

/** So many steps are drawn, the newest ones. */
const MOST_STEPS = 200;
/** So many releases have a line of their own. */
const MOST_RELEASES = 8;

interface Span {
  readonly release: string;
  readonly from: number;
  /** Absent for the image in use. */
  readonly to: number | undefined;
}

/** How many sets had which release when, by what they remember. It changes only with that: the last step holds until now. Pure. */
export function versionSeries(images: readonly BootImage[]): VersionSeries {
  const spans = images.flatMap(spansOf);
  const steps = new Set(spans.flatMap(({ from, to }) => (to === undefined ? [from] : [from, to])));
  const times = [...steps].toSorted((a, b) => a - b).slice(-MOST_STEPS);
  const byRelease = Map.groupBy(spans, ({ release }) => release);
  const begun = (of: readonly Span[]): number => of.reduce((latest, { from }) => Math.max(latest, from), 0);
  const newest = [...byRelease].toSorted(([, a], [, b]) => begun(b) - begun(a)).slice(0, MOST_RELEASES);
  return { times, releases: newest.map(([release, of]) => ({ release, sets: counts(of, times) })) };
}

/** How many of the spans hold at each of these times, which ascend. */
function counts(spans: readonly Span[], times: readonly number[]): readonly number[] {
  const changes = spans.flatMap(({ from, to }) => [
    [from, 1] as const,
    ...(to === undefined ? [] : [[to, -1] as const]),
  ]);
  const sorted = changes.toSorted(([a], [b]) => a - b);
  let [at, held] = [0, 0];
  return times.map((time) => {
    for (; at < sorted.length; at += 1) {
      const [when, by] = sorted[at] ?? [0, 0];
      if (when > time) break;
      held += by;
    }
    return held;
  });
}

function spansOf({ status }: BootImage): readonly Span[] {
  return (status?.history ?? []).flatMap(({ release, image, since, until }): readonly Span[] => {
    const from = Math.floor(Date.parse(since ?? '') / 1000);
    const to = until === undefined ? undefined : Math.floor(Date.parse(until) / 1000);
    const name = release ?? image;
    if (name === undefined || Number.isNaN(from)) return [];
    return to === undefined || from < to ? [{ release: name, from, to }] : [];
  });
}
