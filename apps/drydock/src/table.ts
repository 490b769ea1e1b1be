import { oneLine } from '@drydock/api/text';

/** One column: its upper-case header and how a row's cell is made. `wide` columns appear only with `-o wide`. */
export interface Column<T> {
  readonly header: string;
  readonly cell: (row: T) => string;
  readonly wide?: boolean;
}

/** Aligned text as kubectl prints it: columns three spaces apart, '' and missing cells as `-`. */
export function table<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  options: { readonly wide?: boolean; readonly headers?: boolean } = {},
): string {
  const shown = columns.filter((column) => column.wide !== true || options.wide === true);
  const lines = rows.map((row) => shown.map((column) => oneLine(column.cell(row)) || '-'));
  if (options.headers !== false) lines.unshift(shown.map((column) => column.header));
  const widths = shown.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** `12s`, `5m`, `3h`, `5d`: the age of a time stamp (RFC 3339) as kubectl writes it; '' where there is none. */
export function age(since: string | undefined, now: number): string {
  if (since === undefined) return '';
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
  if (Number.isNaN(seconds)) return '';
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
