import { styleText } from 'node:util';
import { run } from './command.ts';
import { linkWorkspaces } from './workspace-links.ts';

/** Everything that can be said about the sources without running them. All are run, so that one pass shows all findings. */
const checks: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['types', 'tsc', ['--noEmit', '-p', '.']],
  // What runs in a browser knows other globals.
  ['types of the page', 'tsc', ['--noEmit', '-p', 'apps/page/client']],
  ['types of its tests', 'tsc', ['--noEmit', '-p', 'test/browser']],
  ['format and lint', 'biome', ['ci', '--error-on-warnings', '.']],
  ['type-aware lint', 'oxlint', ['--type-aware', '--deny-warnings', '.']],
  ['dead code', 'knip', ['--no-progress']],
  ['import boundaries', process.execPath, ['--test', '--test-reporter=dot', 'test/boundaries/boundaries.test.ts']],
  // Both name sources, which change under them.
  [
    'mutations and soak',
    process.execPath,
    ['--test', '--test-reporter=dot', 'scripts/mutation/mutation.test.ts', 'scripts/test-files.test.ts'],
  ],
  // Each of these reads all of the sources or manifests, so that a change anywhere turns them red.
  [
    'advice, terminals, manifests and the book',
    process.execPath,
    [
      '--test',
      '--test-reporter=dot',
      ...['advice', 'main', 'terminal', 'yaml'].map((name) => `apps/drydock/src/${name}.test.ts`),
      'scripts/chart.test.ts',
      'scripts/book/pages.test.ts',
      'test/book/book.test.ts',
    ],
  ],
];

linkWorkspaces();
const failed: string[] = [];
for (const [name, command, args] of checks) {
  const started = performance.now();
  const code = await run(command, args);
  const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  console.log(`${code === 0 ? styleText('green', 'ok  ') : styleText('red', 'FAIL')} ${name} (${took})`);
  if (code !== 0) failed.push(name);
}
if (failed.length > 0) {
  console.error(`check: ${failed.join(', ')} failed`);
  process.exitCode = 1;
}
