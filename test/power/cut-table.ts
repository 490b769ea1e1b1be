import type { TestContext } from 'node:test';
import type { Outcomes } from './crash-points.ts';
import { cannotRun, type Kind, kinds } from './power-rig.ts';

/** Collects what the cuts of a file's tests left, and prints it as one table at the end. */
export interface CutTable {
  add(kind: Kind, name: string, outcomes: Outcomes, others: boolean, control?: string): void;
  print(t: TestContext): void;
}

const HEAD = ['fs', 'what was cut', 'others', 'cuts', 'old', 'new', 'corrupt', 'lost', 'healed', ''];

/** `others`: whether somebody else's sync commits the journal just before each cut. `healed`: neither old nor new until recovery ran. */
export function cutTable(): CutTable {
  const rows: string[][] = [];
  return {
    add: (kind, name, { points, old, new: done, corrupt, lost, healed }, others, control) => {
      const counts = [points, old, done, corrupt.length, lost, healed].map(String);
      const kinds = [...new Set(corrupt)].map((found) => (found.length > 24 ? `${found.slice(0, 23)}…` : found));
      const verdict = control === undefined ? '' : `${control}${kinds.length > 0 ? `: ${kinds.join(' ')}` : ''}`;
      rows.push([kind, name, others ? 'sync' : 'quiet', ...counts, verdict]);
    },
    print: (t) => {
      const widths = HEAD.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)));
      for (const row of rows.length === 0 ? [] : [HEAD, ...rows])
        t.diagnostic(
          row
            .map((cell, at) => cell.padEnd(widths[at] ?? 0))
            .join('  ')
            .trimEnd(),
        );
      for (const kind of kinds) {
        const why = cannotRun(kind);
        if (why !== false) t.diagnostic(`${kind}: nothing was cut: ${why}`);
      }
    },
  };
}
