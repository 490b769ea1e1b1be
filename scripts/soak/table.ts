import type { SoakPart } from './parts.ts';
import type { SliceResult } from './slice.ts';

/** What a part did in all of its slices. */
export interface Row {
  readonly part: SoakPart;
  seconds: number;
  slices: number;
  late: number;
  passed: number;
  skipped: number;
  /** What red slices printed. */
  readonly red: string[];
  readonly did: Map<string, { readonly did: number; readonly of: number }>;
}

/** Of a part that has not begun. */
export function rowOf(part: SoakPart): Row {
  return { part, seconds: 0, slices: 0, late: 0, passed: 0, skipped: 0, red: [], did: new Map() };
}

/** Counts a slice in. */
export function add(row: Row, { seconds, outcome, tallies, tests, output }: SliceResult): void {
  row.slices += 1;
  row.seconds += seconds;
  row.passed += tests.passed;
  row.skipped += tests.skipped;
  if (outcome === 'late') row.late += 1;
  if (outcome === 'red') row.red.push(output);
  // Loops of one slice are parts of one whole; other slices draw from the same.
  const slice = new Map<string, { readonly did: number; readonly of: number | undefined }>();
  for (const { what, did, of } of tallies) {
    const before = slice.get(what) ?? { did: 0, of: 0 };
    // Where one loop did not come to its end, nobody knows how large the whole is.
    const whole = before.of === undefined || of === undefined ? undefined : before.of + of;
    slice.set(what, { did: before.did + did, of: whole });
  }
  for (const [what, { did, of = 0 }] of slice) {
    const before = row.did.get(what) ?? { did: 0, of: 0 };
    row.did.set(what, { did: before.did + did, of: Math.max(before.of, of) });
  }
}

/** The report, in Markdown. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map(
    (row) => `| ${row.part.name} | ${(row.seconds / 60).toFixed(1)} | ${figures(row)} | ${resultOf(row)} |`,
  );
  return ['| part | minutes | did (share of the whole) | result |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

function figures({ did, passed, skipped }: Row): string {
  const counted = [...did].map(([what, { did: many, of }]) => {
    if (of === 0) return `${many} ${what}`;
    return `${many} ${what} (${many >= of ? 'all' : `${((100 * many) / of).toPrecision(2)} %`})`;
  });
  // Where nothing counts, its tests are what there is to count.
  const tests = counted.length === 0 && passed > 0 ? [`${passed} tests`] : [];
  const all = [...counted, ...tests, ...(skipped > 0 ? [`${skipped} tests skipped`] : [])];
  return all.length === 0 ? '–' : all.join(', ');
}

function resultOf({ red, late, slices, passed, skipped, did }: Row): string {
  if (red.length > 0) return 'RED';
  if (slices === 0) return 'not begun';
  if (passed === 0 && did.size === 0)
    return skipped > 0 ? 'SKIPPED: this machine lacks what it needs' : 'nothing ended';
  return late > 0 ? 'green, its last slice was stopped late' : 'green';
}
