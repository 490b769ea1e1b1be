import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { changedFiles } from './changed-files.ts';
import { capture, root } from './command.ts';
import { orRefuse, scriptArguments } from './script-arguments.ts';
import { writeProjects } from './typescript-projects.ts';
import { linkWorkspaces } from './workspace-links.ts';

const USAGE = `usage: npm run check -- [--changed[=REVISION]]

Checks types, format, lint, dead code, import boundaries and the docs; prints each finding.
  --changed[=REVISION]  format and lint only files changed since REVISION (default HEAD), and skip what they cannot break`;

interface Check {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Whether a change of these files can turn it red; always where it is not given. */
  readonly concerns?: (changed: readonly string[]) => boolean;
}

const isModule = (file: string): boolean => /\.[jt]sx?$/.test(file);
const tests = (...files: readonly string[]): Pick<Check, 'command' | 'args'> => ({
  command: process.execPath,
  args: ['--test', '--test-reporter=dot', ...files],
});

/** All static checks, or those that a change can turn red, the slowest first. One that fails stops no other, so that one run shows all findings. */
function checksOf(changed: readonly string[] | undefined): readonly Check[] {
  // Deleted files cannot be formatted, but they can leave dead code.
  const present = changed?.filter((file) => existsSync(join(root, file))) ?? ['.'];
  const modules = changed === undefined ? present : present.filter(isModule);
  const browser = (files: readonly string[]): boolean =>
    files.some((file) => /^(?:apps\/page|test\/browser|api|packages)\//.test(file) && isModule(file));
  const all: readonly Check[] = [
    { name: 'types', command: 'tsc', args: ['--build', writeProjects()] },
    // Each of these reads all of the sources or manifests, so that a change anywhere turns them red.
    {
      name: 'advice, terminals, manifests and docs',
      ...tests(
        ...['advice', 'main', 'terminal', 'yaml'].map((name) => `apps/drydock/src/${name}.test.ts`),
        'scripts/chart.test.ts',
        'scripts/book/pages.test.ts',
        'test/book/book.test.ts',
      ),
    },
    {
      name: 'type-aware lint',
      command: 'oxlint',
      args: ['--type-aware', '--deny-warnings', ...modules],
      concerns: () => modules.length > 0,
    },
    {
      name: 'format and lint',
      command: 'biome',
      args: ['ci', '--error-on-warnings', '--no-errors-on-unmatched', '--files-ignore-unknown=true', ...present],
      concerns: () => present.length > 0,
    },
    {
      name: 'dead code',
      command: 'knip',
      args: ['--no-progress'],
      concerns: (files) => files.some((file) => isModule(file) || file.endsWith('.json')),
    },
    {
      name: 'types of the page',
      // What runs in a browser knows other globals.
      command: 'tsc',
      args: ['-p', 'apps/page/client', ...incremental('page')],
      concerns: browser,
    },
    {
      name: 'types of its tests',
      command: 'tsc',
      args: ['-p', 'test/browser', ...incremental('browser')],
      concerns: browser,
    },
    { name: 'import boundaries', ...tests('test/boundaries/boundaries.test.ts') },
    // Both name sources, which change under them.
    { name: 'mutations and soak', ...tests('scripts/mutation/mutation.test.ts', 'scripts/test-files.test.ts') },
  ];
  return all.filter(({ concerns }) => changed === undefined || concerns === undefined || concerns(changed));
}

function incremental(name: string): readonly string[] {
  return ['--noEmit', '--incremental', '--tsBuildInfoFile', join('.cache', 'types', `${name}.tsbuildinfo`)];
}

const COMMAND = 'npm run check';
const { changed } = scriptArguments(COMMAND, USAGE, { changed: { type: 'string' } }).values;
const since = changed === undefined ? undefined : orRefuse(COMMAND, () => changedFiles(changed));
linkWorkspaces();
const waiting = [...checksOf(since)];
const failed: string[] = [];
const runInTurn = async (): Promise<void> => {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    const started = performance.now();
    const { code, output } = await capture(check.command, check.args);
    const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    console.log(`${code === 0 ? styleText('green', 'ok  ') : styleText('red', 'FAIL')} ${check.name} (${took})`);
    if (code === 0) continue;
    failed.push(check.name);
    process.stdout.write(output);
  }
};
await Promise.all(Array.from({ length: availableParallelism() }, runInTurn));
if (failed.length > 0) {
  console.error(`check: ${failed.join(', ')} failed`);
  process.exitCode = 1;
}
