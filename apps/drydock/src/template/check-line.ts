import { styleText } from 'node:util';
import { oneLine } from '@drydock/api/text';

/** One line of a list of checks. */
export interface CheckLine {
  readonly name: string;
  readonly state: 'ok' | 'warn' | 'FAIL' | 'skip';
  readonly detail: string;
  /** Command or advice after a finding. */
  readonly next?: string;
}

const COLOURS = { ok: 'green', warn: 'yellow', FAIL: 'red', skip: 'dim' } as const;

/** Aligned lines, each finding followed by what to do. Colours only on a terminal. */
export function checkText(lines: readonly CheckLine[]): string {
  const width = Math.max(...lines.map(({ name }) => name.length), 0);
  return lines
    .map(({ name, state, detail, next }) => {
      const mark = styleText(COLOURS[state], state.padEnd(4), { stream: process.stdout });
      const text = oneLine(detail);
      const advice = next === undefined ? '' : `${' '.repeat(width + 8)}next: ${oneLine(next)}\n`;
      return `${mark}  ${oneLine(name).padEnd(width)}  ${text}\n${advice}`;
    })
    .join('');
}
