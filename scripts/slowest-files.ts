import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { root } from './command.ts';

/** Lists how long the tests of each file took, the slowest file first, so that the budget of a run can be kept. Of a file that has its process for itself it is the whole of that. */
export async function* slowestFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Map<string, number>();
  const add = (file: string, ms: number): void => void files.set(file, (files.get(file) ?? 0) + ms);
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file !== undefined) files.set(data.file, data.duration_ms);
    if ((type === 'test:pass' || type === 'test:fail') && data.nesting === 0 && data.file !== undefined)
      add(data.file, data.details.duration_ms);
  }
  for (const [file, ms] of [...files].sort(([, a], [, b]) => b - a))
    yield `${(ms / 1000).toFixed(1).padStart(6)} s  ${relative(root, file)}\n`;
}
