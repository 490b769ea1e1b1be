import type { PlannedRequest, RequestClass } from './planned-request.ts';

const PATCHES = ['json', 'merge', 'strategic', 'apply'];

/** Counts requests by verb, type of patch and kind. */
export interface CoverageTable {
  add(history: readonly PlannedRequest[]): void;
  /** How often a class was asked for. */
  of(wanted: RequestClass): number;
  /** One line per kind, one column per verb or type of patch. */
  text(): string;
}

/** Begins with none. */
export function coverageTable(): CoverageTable {
  const counts = new Map<string, Map<string, number>>();
  const columnOf = ({ verb, patch }: RequestClass): string => (patch === '' ? verb : patch);
  return {
    add: (history) => {
      for (const request of history) {
        const row = counts.get(request.kind) ?? new Map<string, number>();
        counts.set(request.kind, row);
        row.set(columnOf(request), (row.get(columnOf(request)) ?? 0) + 1);
      }
    },
    of: (wanted) => counts.get(wanted.kind)?.get(columnOf(wanted)) ?? 0,
    text: () => {
      const used = new Set([...counts.values()].flatMap((row) => [...row.keys()]));
      const columns = [...used].toSorted((a, b) => Number(PATCHES.includes(a)) - Number(PATCHES.includes(b)));
      const width = Math.max(...[...counts.keys()].map((kind) => kind.length));
      const line = (head: string, cells: readonly string[]): string =>
        `${head.padEnd(width)} ${cells.map((cell, at) => cell.padStart(columns[at]?.length ?? 0)).join(' ')}`;
      const rows = [...counts.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const sums = columns.map((column) => String(rows.reduce((sum, [, row]) => sum + (row.get(column) ?? 0), 0)));
      return [
        line('kind', columns),
        ...rows.map(([kind, row]) =>
          line(
            kind,
            columns.map((column) => String(row.get(column) ?? '·')),
          ),
        ),
        line(`${rows.length} kinds`, sums),
      ].join('\n');
    },
  };
}
