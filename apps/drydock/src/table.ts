import { oneLine } from '@drydock/api/text';

/** One column: its upper-case header and how a row's cell is made. `wide` columns appear only with `-o wide`. */
export interface Column<T> {
  readonly header: string;
  readonly cell: (row: T) => string;
  readonly wide?: boolean;
}

/**
 * Aligned text as kubectl prints it: columns three spaces apart, '' and missing cells as `-`. Where a line is longer than `width`, the last columns of each row stand on lines of their own below the first: a terminal would
 * break all of them anywhere.
 */
export function table<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  options: { readonly wide?: boolean; readonly headers?: boolean; readonly width?: number | undefined } = {},
): string {
  const shown = columns.filter((column) => column.wide !== true || options.wide === true);
  const lines = rows.map((row) => shown.map((column) => oneLine(column.cell(row)) || '-'));
  if (options.headers !== false) lines.unshift(shown.map((column) => column.header));
  const widths = shown.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  const { width = terminalWidth() ?? Number.POSITIVE_INFINITY } = options;
  const aside = columnsWithin(widths, width);
  const made = lines.flatMap((line) => [
    line
      .slice(0, aside)
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join(GAP)
      .trimEnd(),
    ...folded(line.slice(aside), width),
  ]);
  return made.map((line) => `${line}\n`).join('');
}

const GAP = '   ';
const INDENT = '    ';

/** How many columns stand side by side: all, or as many as fit, and one at least. */
function columnsWithin(widths: readonly number[], width: number): number {
  let used = -GAP.length;
  for (const [index, one] of widths.entries()) {
    used += GAP.length + one;
    if (used > width) return Math.max(1, index);
  }
  return widths.length;
}

/** Longest line of prose for people, where no terminal is narrower. */
const PROSE = 100;

/** A sentence on lines that are broken at spaces, each behind `indent`. A word that is longer than a line stays whole. */
export function wrapped(text: string, indent: string = ''): string {
  const width = Math.min(PROSE, terminalWidth() ?? PROSE);
  const lines: string[] = [];
  let line = '';
  for (const word of oneLine(text).split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((one) => `${indent}${one}\n`).join('');
}

/** Cells one behind the other, broken at spaces where a line is full. */
function folded(cells: readonly string[], width: number): readonly string[] {
  const made: string[] = [];
  let line = INDENT;
  const put = (word: string, gap: string): void => {
    if (line.trim() !== '' && line.length + gap.length + word.length > width) {
      made.push(line);
      line = INDENT;
    }
    line += line.trim() === '' ? word : `${gap}${word}`;
  };
  for (const cell of cells) {
    const [first = '', ...rest] = cell.split(' ');
    // A cell that fits into a line of its own is not broken.
    if (INDENT.length + cell.length <= width) put(cell, GAP);
    else {
      put(first, GAP);
      for (const word of rest) put(word, ' ');
    }
  }
  if (line.trim() !== '') made.push(line);
  return made;
}

/** Columns of the terminal that is printed to; undefined where nobody looks at lines. */
export function terminalWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns || undefined : undefined;
}

/** `12s`, `5m`, `3h`, `5d`: the age of a time stamp (RFC 3339) as kubectl writes it, or without `now` the time itself in UTC; '' where there is none. */
export function age(since: string | undefined, now?: number): string {
  const time = Date.parse(since ?? '');
  if (Number.isNaN(time)) return '';
  if (now === undefined) return new Date(time).toISOString().replace(/\.\d+/, '');
  const seconds = Math.max(0, Math.floor((now - time) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
