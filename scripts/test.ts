import { execFileSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run as runTests } from 'node:test';
import { spec } from 'node:test/reporters';
import { bundle } from './bundle.ts';
import { root, run } from './command.ts';
import { slowestFiles } from './slowest-files.ts';
import { batchesOf } from './test-batches.ts';
import { testFiles } from './test-files.ts';

// The sandbox's servers are built first, so that no test pays for it inside its own deadline.
const soak = process.argv.includes('--soak');
// The older API server costs minutes more, so only a soak and DRYDOCK_ERAS=1 want it; the tests that need it say so when they are skipped.
const eras = soak || process.env['DRYDOCK_ERAS'] === '1' ? ['--era', 'E1'] : [];
// So do controllers and a scheduler, and DRYDOCK_WORKLOADS=1; the programs of upstream, and DRYDOCK_NEIGHBOURS=1.
const neighbours = soak || process.env['DRYDOCK_NEIGHBOURS'] === '1' ? ['--neighbours'] : [];
const workloads = soak || process.env['DRYDOCK_WORKLOADS'] === '1' ? ['--workloads'] : [];
const wanted = [...eras, ...workloads, ...neighbours];
const built = await run(process.execPath, ['packages/sandbox/bin/drydock-sandbox.js', 'build', ...wanted]);
if (built !== 0) process.exit(built);

if (soak) process.env['DRYDOCK_SOAK'] = '1';
const files = testFiles(soak);
if (files.length === 0) {
  console.error('test: no test file was found');
  process.exit(1);
}
// Each file is a process, and most of a short one's time goes into stripping types that the one before it has stripped.
process.env['NODE_COMPILE_CACHE'] ??= join(root, '.cache', 'compiled');
// So does a bundle, for the programs that tests start, which are killed before they leave compiled code.
await bundle(root, { folder: join('.cache', 'bundle'), demo: 'checkout' });
process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --conditions=drydock-bundle`;
for (const words of [
  ['operator', '--help'],
  ['image', '--help'],
  ['template', '--help'],
])
  execFileSync(process.execPath, ['apps/drydock/bin/drydock.js', ...words], { cwd: root, stdio: 'ignore' });
const modules = soak
  ? files.map((file) => join(root, file))
  : batchesOf(files, join(root, '.cache', 'test-batches')).map(({ module }) => module);
const events = runTests({
  cwd: root,
  files: modules,
  // Half of them wait for servers at any time: with one process less a fifth of two cores was idle.
  concurrency: Math.min(availableParallelism() + 2, 8),
  // A soak is long by purpose, 10,000 kills alone take half a day; each of its waits has a deadline of its own.
  timeout: soak ? Number.POSITIVE_INFINITY : 300_000,
});
process.exitCode = 1;
events.on('test:summary', ({ file, success }) => {
  if (file === undefined && success) process.exitCode = 0;
});
events.compose(slowestFiles).pipe(createWriteStream(join(root, '.cache', 'slowest-test-files.txt')));
events.compose(spec()).pipe(process.stdout);
