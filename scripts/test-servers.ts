import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { NEEDS_REAL } from '@drydock/sandbox';
import { root } from './command.ts';

/** What a run needs to say which servers each test file used. */
export interface ServersUsed {
  /** Which back ends a test file started, by its path from the root. */
  readonly used: ReadonlyMap<string, readonly string[]>;
  /** Tests that were skipped for want of the real servers, by their file, with the reasons. */
  readonly skipped: ReadonlyMap<string, readonly string[]>;
}

/** Reads what the sandboxes of a run noted, a file for each test file (see note-test-file.js). */
export function backendsUsed(folder: string): ServersUsed['used'] {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder).map((name): readonly [string, readonly string[]] => {
    const backends = readFileSync(join(folder, name), 'utf8').trim().split('\n');
    return [relative(root, decodeURIComponent(name)), [...new Set(backends)].sort()];
  });
  return new Map(files);
}

/** A test that passed or was skipped, as the runner reports it. */
interface PassedTest {
  readonly file?: string | undefined;
  readonly skip?: string | boolean | undefined;
}

/** Adds a test to `skipped` if it was skipped for want of the real servers. */
export function noteSkipped(skipped: Map<string, string[]>, { file: path = '', skip }: PassedTest): void {
  if (typeof skip !== 'string' || !skip.startsWith(NEEDS_REAL)) return;
  const file = relative(root, path);
  const reasons = skipped.get(file) ?? [];
  reasons.push(skip.slice(NEEDS_REAL.length));
  skipped.set(file, reasons);
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** Which servers each file used and what it skipped; the last line says how many tests were skipped for want of the real servers, and which command runs them. */
export function serversReport({ used, skipped }: ServersUsed): string {
  const files = [...new Set([...used.keys(), ...skipped.keys()])].sort();
  const lines = files.map((file) => {
    const reasons = skipped.get(file) ?? [];
    const what = [
      ...(used.get(file) ?? []),
      ...(reasons.length === 0
        ? []
        : [`${counted(reasons.length, 'test')} skipped: ${[...new Set(reasons)].join('; ')}`]),
    ];
    return `  ${file}: ${what.join(', ')}\n`;
  });
  const count = [...skipped.values()].reduce((sum, { length }) => sum + length, 0);
  const closing =
    count === 0
      ? ''
      : `${counted(count, 'test')} of ${counted(skipped.size, 'file')} skipped for want of the real servers; to run them: make servers test\n`;
  return lines.length === 0 ? '' : `\nservers used:\n${lines.join('')}${closing}`;
}
