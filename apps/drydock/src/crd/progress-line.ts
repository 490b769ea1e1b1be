import { oneLine } from '@drydock/api/text';
import type { ScanProgress } from '@drydock/preflight';

/** One line on a terminal, redrawn; silence elsewhere. */
export function progressLine(sink: NodeJS.WriteStream = process.stderr): {
  readonly show: (progress: ScanProgress) => void;
  readonly end: () => void;
} {
  let drawn = 0;
  return {
    show: ({ crd, kind, kinds, objects }) => {
      const now = performance.now();
      if (sink.isTTY !== true || (drawn > 0 && now - drawn < 100)) return;
      drawn = now;
      const line = `${kind} of ${kinds} kinds, ${objects} objects  ${crd}`;
      sink.write(`\r${oneLine(line).slice(0, (sink.columns || 80) - 1)}\u001b[K`);
    },
    end: () => {
      if (drawn > 0) sink.write('\r\u001b[K');
    },
  };
}
