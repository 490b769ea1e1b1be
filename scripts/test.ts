import { globSync } from 'node:fs';
import { root, run } from './command.ts';

// The sandbox's servers are built first, so that no test pays for it inside its own deadline.
const soak = process.argv.includes('--soak');
// The older API server costs minutes more, so only a soak and DRYDOCK_ERAS=1 want it; the tests that need it say so when they are skipped.
const eras = soak || process.env['DRYDOCK_ERAS'] === '1' ? ['--era', 'E1'] : [];
const built = await run(process.execPath, ['packages/sandbox/bin/drydock-sandbox.js', 'build', ...eras]);
if (built !== 0) process.exit(built);

if (soak) process.env['DRYDOCK_SOAK'] = '1';
const patterns = soak
  ? [
      'test/model/**/*.test.ts',
      'packages/*/src/**/*.model.test.ts',
      'packages/durable/src/readers.test.ts',
      'test/power/**/*.test.ts',
      'test/sandbox/kube-resilience-{list,managers}.test.ts',
      'test/sandbox/template-kill.test.ts',
      'test/sandbox/static-pods.test.ts',
      'test/sandbox/crd-*.test.ts',
      'test/sandbox/vm-watch-kill.test.ts',
    ]
  : ['{api,packages,apps}/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts', 'scripts/**/*.test.ts'];
const files = patterns
  .flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }))
  .sort((a, b) => Number(b.startsWith('test/sandbox')) - Number(a.startsWith('test/sandbox')) || a.localeCompare(b));
if (files.length === 0) {
  console.error(`test: no test file matches ${patterns.join(' ')}`);
  process.exit(1);
}
process.exitCode = await run(process.execPath, [
  '--test',
  '--test-concurrency=2',
  // A soak is long by purpose; each of its waits has a deadline of its own.
  `--test-timeout=${soak ? 4 * 3_600_000 : 300_000}`,
  '--test-reporter=spec',
  ...files,
]);
