import type { Clock } from '../clock.ts';
import type { TemplateProgress } from '../store.ts';

/** Between two reports of bytes. */
const REPORT_MS = 250;
/** The rate is that of the last seconds. */
const WINDOW_MS = 5000;

/** Turns "so many bytes by now" into progress reports at a bearable rate. */
export function byteMeter(
  step: 'Downloading' | 'Uploading',
  total: number | undefined,
  clock: Clock,
  report: ((progress: TemplateProgress) => void) | undefined,
): (bytes: number) => void {
  if (report === undefined) return () => undefined;
  const samples: { at: number; bytes: number }[] = [{ at: clock.now(), bytes: 0 }];
  let last = Number.NEGATIVE_INFINITY;
  return (bytes) => {
    const now = clock.now();
    if (now - last < REPORT_MS && bytes !== total) return;
    last = now;
    samples.push({ at: now, bytes });
    while (samples.length > 2 && now - (samples[1]?.at ?? now) > WINDOW_MS) samples.shift();
    const first = samples[0];
    const elapsed = first === undefined ? 0 : now - first.at;
    const rate = first === undefined || elapsed <= 0 ? undefined : Math.round(((bytes - first.bytes) * 1000) / elapsed);
    // What was given to the connection is not yet there: the server says so once, at the end.
    const sent = step === 'Uploading' && bytes === total ? { sent: true as const } : {};
    report({
      step,
      bytes,
      ...sent,
      ...(total === undefined ? {} : { total }),
      ...(rate === undefined ? {} : { rate }),
    });
  };
}
