import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { NEEDS_REAL } from '@drydock/sandbox';
import { root } from './command.ts';

/** What a run needs to say which servers each test file used. */
export interface ServersUsed {
  /** Which back ends a test file started, by its path from the root. */
  readonly used: ReadonlyMap<string, readonly string[]>;
  /** What was skipped for want of the real servers, by its file. */
  readonly skipped: ReadonlyMap<string, readonly SkippedTest[]>;
}

/** A test, or a suite, whose tests the runner never sees. */
interface SkippedTest {
  readonly type: 'test' | 'suite';
  readonly reason: string;
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
  readonly details: { readonly type?: string | undefined };
}

/** Adds a test or suite to `skipped` if it was skipped for want of the real servers. */
export function noteSkipped(skipped: Map<string, SkippedTest[]>, { file: path = '', skip, details }: PassedTest): void {
  if (typeof skip !== 'string' || !skip.startsWith(NEEDS_REAL)) return;
  const file = relative(root, path);
  const all = skipped.get(file) ?? [];
  all.push({ type: details.type === 'suite' ? 'suite' : 'test', reason: skip.slice(NEEDS_REAL.length) });
  skipped.set(file, all);
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** `2 tests and 1 suite`. */
function countedByType(skipped: readonly SkippedTest[]): string {
  const counts = (['test', 'suite'] as const).map((type) => {
    const count = skipped.filter((one) => one.type === type).length;
    return count === 0 ? [] : [counted(count, type)];
  });
  return counts.flat().join(' and ');
}

/** Which servers each file used and what it skipped; the last line counts what was skipped for want of the real servers, and names the command that runs it. */
export function serversReport({ used, skipped }: ServersUsed): string {
  const files = [...new Set([...used.keys(), ...skipped.keys()])].sort();
  const lines = files.map((file) => {
    const mine = skipped.get(file) ?? [];
    const reasons = new Set(mine.map(({ reason }) => reason));
    const what = [
      ...(used.get(file) ?? []),
      ...(mine.length === 0 ? [] : [`${countedByType(mine)} skipped: ${[...reasons].join('; ')}`]),
    ];
    return `  ${file}: ${what.join(', ')}\n`;
  });
  const all = [...skipped.values()].flat();
  const closing =
    all.length === 0
      ? ''
      : `${countedByType(all)} of ${counted(skipped.size, 'file')} skipped for want of the real servers; to run them: make servers test\n`;
  return lines.length === 0 ? '' : `\nservers used:\n${lines.join('')}${closing}`;
}
