import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { root } from './command.ts';

/** A reporter of node:test that lists how long each file took, the slowest first, so that the budget of a run can be kept. */
// biome-ignore lint/style/noDefaultExport: a reporter of node:test is the default export of its file.
export default async function* slowestFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { readonly file: string; readonly ms: number }[] = [];
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file !== undefined) files.push({ file: data.file, ms: data.duration_ms });
  }
  files.sort((a, b) => b.ms - a.ms);
  for (const { file, ms } of files) {
    yield `${(ms / 1000).toFixed(1).padStart(6)} s  ${relative(root, file)}\n`;
  }
}
