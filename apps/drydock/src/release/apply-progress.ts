import { oneLine } from '@drydock/api/text';
import type { ApplyProgress, Waiting } from '@drydock/release';
import { age } from '../table.ts';
import { redrawnLine, type Sink } from '../template/progress-line.ts';

/** Shows how far a release is: on a terminal a bar that is redrawn each second, elsewhere a line where something has changed. */
export interface ApplyProgressLine extends Disposable {
  show(progress: ApplyProgress): void;
  /** How far it was at last. */
  readonly last: ApplyProgress;
}

/** Between two plain lines; a pipeline's log should stay readable. */
const PLAIN_MS = 5_000;
const REDRAW_MS = 1_000;
const BAR = 24;
/** Where there is little room. */
const SHORT_BAR = 8;

/** A line on a stream. */
export function applyProgressLine(
  sink: Sink,
  nameOf: (object: Waiting['object']) => string,
  now: () => number = Date.now,
): ApplyProgressLine {
  const line = redrawnLine(sink);
  let last: ApplyProgress = { done: 0, total: 0, waiting: [] };
  let told = { text: '', at: Number.NEGATIVE_INFINITY };
  const draw = (): void => {
    if (last.total === 0) return;
    if (sink.isTTY === true) {
      line.draw(fitting(last, { nameOf, now: now(), columns: sink.columns || 80 }));
      return;
    }
    const { done, total, waiting } = last;
    const text = `${done} ${waiting.map(({ object, why }) => `${nameOf(object)} ${why}`).join()}`;
    if (text === told.text || (done < total && now() - told.at < PLAIN_MS)) return;
    told = { text, at: now() };
    sink.write(`${oneLine(progressText(last, nameOf, now()))}\n`);
  };
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return {
    get last() {
      return last;
    },
    show: (progress) => {
      last = progress;
      draw();
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
      line.settle();
    },
  };
}

/** What fits of it: the bar gets shorter first, then the object has only its kind and its name, then there is no bar; what is cut at last ends with `…`. */
function fitting(
  progress: ApplyProgress,
  {
    nameOf,
    now,
    columns,
  }: { readonly nameOf: (object: Waiting['object']) => string; readonly now: number; readonly columns: number },
): string {
  const full = oneLine(progressText(progress, nameOf, now));
  const short = oneLine(progressText(progress, ({ kind, name }) => `${kind} ${name}`, now));
  const lines = [
    `${barText(progress, BAR)} ${full}`,
    `${barText(progress, SHORT_BAR)} ${full}`,
    `${barText(progress, SHORT_BAR)} ${short}`,
    short,
  ];
  // The last column stays empty: some terminals begin a new line after it.
  return lines.find((text) => text.length < columns) ?? `${short.slice(0, Math.max(0, columns - 2))}…`;
}

function barText({ done, total }: ApplyProgress, width: number): string {
  const filled = Math.floor((done / total) * width);
  return `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}]`;
}

/** `412 of 900, waits for Deployment.apps shop/web since 12s (1 of 3 replicas is ready) and 2 more`. */
export function progressText(
  { done, total, waiting }: ApplyProgress,
  nameOf: (object: Waiting['object']) => string,
  now: number,
): string {
  const [first] = waiting.toSorted((a, b) => a.since.getTime() - b.since.getTime());
  const far = `${done} of ${total}`;
  if (first === undefined) return far;
  const more = waiting.length > 1 ? `, and for ${waiting.length - 1} more` : '';
  return `${far}, waits for ${nameOf(first.object)} since ${age(first.since.toISOString(), now)} (${first.why})${more}`;
}
