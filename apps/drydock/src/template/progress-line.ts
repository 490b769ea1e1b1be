import type { TemplateProgress } from '@drydock/templates';
import { bytesText, durationText } from './amounts.ts';

/** The part of a stream that is used; a test gives its own. */
export interface Sink {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Shows progress on a terminal as one line that is redrawn, elsewhere as a line now and then. */
export interface ProgressLine {
  show(progress: TemplateProgress): void;
  settle(): void;
}

const BAR = 24;
const LABEL = 11;
/** Between two plain lines of one step; a pipeline's log should stay readable. */
const PLAIN_MS = 5000;

/** A progress line on a stream. */
export function progressLine(sink: Sink, now: () => number): ProgressLine {
  const line = redrawnLine(sink);
  let last: { readonly step: string; readonly at: number } | undefined;
  return {
    settle: () => line.settle(),
    show: (progress) => {
      const stepChanged = last?.step !== progress.step;
      const complete = progress.bytes !== undefined && progress.bytes === progress.total;
      if (sink.isTTY === true) {
        if (stepChanged) line.settle();
        line.draw(barText(progress));
      } else {
        if (!stepChanged && !complete && last !== undefined && now() - last.at < PLAIN_MS) return;
        sink.write(`${plainText(progress)}\n`);
      }
      last = { step: progress.step, at: now() };
    },
  };
}

/** One line of a terminal that is drawn over itself. */
export interface RedrawnLine {
  draw(text: string): void;
  /** Leaves what was drawn, and begins a new line. */
  settle(): void;
}

/** See {@link RedrawnLine}. */
export function redrawnLine(sink: Sink): RedrawnLine {
  let drawn = false;
  return {
    draw: (text) => {
      sink.write(`\r${fit(text, sink.columns || 80)}\u001b[K`);
      drawn = true;
    },
    settle: () => {
      if (drawn) sink.write('\n');
      drawn = false;
    },
  };
}

/** `Uploading   [############------------]  50%  600 MiB of 1.2 GiB  98 MiB/s  ETA 6.0 s`. */
export function barText(progress: TemplateProgress): string {
  const full = shareOf(progress);
  const filled = Math.floor((full ?? 0) * BAR);
  return plainText(progress, full === undefined ? '' : `[${'#'.repeat(filled)}${'-'.repeat(BAR - filled)}] `);
}

/** `Uploading    50%  600 MiB of 1.2 GiB  98 MiB/s  ETA 6.0 s`. */
export function plainText(progress: TemplateProgress, bar = ''): string {
  const { step, bytes, note } = progress;
  if (bytes !== undefined) return `${step.padEnd(LABEL)} ${bar}${amounts(progress)}`;
  return note === undefined ? step : `${step}: ${note}`;
}

/** All of it is there only once nothing more is waited for. */
function shareOf({ bytes = 0, sent, total }: TemplateProgress): number | undefined {
  return total === undefined || total === 0 ? undefined : Math.min(sent === true ? 0.99 : 1, bytes / total);
}

function amounts(progress: TemplateProgress): string {
  const { bytes = 0, sent, total, rate } = progress;
  const share = shareOf(progress);
  const parts = [
    ...(share === undefined ? [] : [`${Math.floor(share * 100)}%`.padStart(4)]),
    total === undefined ? bytesText(bytes) : `${bytesText(bytes)} of ${bytesText(total)}`,
  ];
  if (sent === true) parts.push('sent, waiting for the server');
  else if (rate !== undefined && rate > 0) {
    parts.push(`${bytesText(rate)}/s`);
    if (total !== undefined && bytes < total) parts.push(`ETA ${durationText(((total - bytes) / rate) * 1000)}`);
  }
  return parts.join('  ');
}

/** A line that wraps could not be redrawn. */
function fit(text: string, columns: number): string {
  return text.length < columns ? text : text.slice(0, Math.max(0, columns - 1));
}
