import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run as runTests } from 'node:test';
import { spec } from 'node:test/reporters';
import { backendLine, backendOf } from '@drydock/sandbox';
import { bundle } from './bundle.ts';
import { changedFiles } from './changed-files.ts';
import { root, run } from './command.ts';
import { closureOf, importGraph } from './import-graph.ts';
import { orRefuse, scriptArguments } from './script-arguments.ts';
import { slowestFiles } from './slowest-files.ts';
import { batchesOf } from './test-batches.ts';
import { testFiles, testsAt, testsOf } from './test-files.ts';
import { backendsUsed, noteSkipped, serversReport } from './test-servers.ts';

const USAGE = `usage: npm test -- [PATH…] [--changed[=REVISION]] [--servers] [--watch] [--soak]

Runs all tests, or those that are named:
  PATH                 a test file, a source file beside its test, or a folder
  --changed[=REVISION] the tests that import a file changed since REVISION (default HEAD)
  --servers            only those that start an API server or a vCenter
  --watch              run them again whenever a file that they import changes
  --soak               the long runs of models, power cuts and kills`;

/** A new file for how long each test file took; those of the last ten runs are kept. */
function timesOfThisRun(): string {
  const folder = join(root, '.cache', 'slowest-test-files');
  mkdirSync(folder, { recursive: true });
  for (const old of readdirSync(folder).sort().slice(0, -9)) rmSync(join(folder, old));
  return join(folder, `${new Date().toISOString().replaceAll(':', '-')}.txt`);
}

/** Those that start a server of the sandbox. */
function withServers(tests: readonly string[]): readonly string[] {
  const graph = importGraph();
  return tests.filter((file) => closureOf(graph, file).has('packages/sandbox/src/sandbox.ts'));
}

const COMMAND = 'npm test';
const { values, positionals } = scriptArguments(COMMAND, USAGE, {
  changed: { type: 'string' },
  servers: { type: 'boolean', default: false },
  watch: { type: 'boolean', default: false },
  soak: { type: 'boolean', default: false },
});
const { changed, servers, watch, soak } = values;
const whole = changed === undefined && positionals.length === 0;

/** The test files that the command line names. */
function named(): readonly string[] {
  if (whole) return testFiles(soak);
  const paths = new Set(positionals.flatMap((path) => testsAt(path)));
  if (changed === undefined) return [...paths].sort();
  const concerned = testsOf(changedFiles(changed));
  return positionals.length === 0 ? concerned : concerned.filter((file) => paths.has(file));
}

const candidates = orRefuse(COMMAND, named);
const files = servers ? withServers(candidates) : candidates;
if (files.length === 0) {
  console.log('test: no test here is what was asked for');
  process.exit(0);
}
// What is rare is played on the real servers, which a soak builds anyway.
if (soak) process.env['SERVERS'] ||= 'real';
const backend = orRefuse(COMMAND, backendOf);
console.log(backendLine(backend));
// The real servers are built first, so that no test pays for that inside its own deadline.
if (backend === 'real' && (whole || withServers(files).length > 0)) {
  // The older API server costs minutes more, so only a soak and DRYDOCK_ERAS=1 want it; the tests that need it say so when they are skipped.
  const eras = soak || process.env['DRYDOCK_ERAS'] === '1' ? ['--era', 'E1'] : [];
  // So do controllers and a scheduler, and DRYDOCK_WORKLOADS=1; the programs of upstream, and DRYDOCK_NEIGHBOURS=1.
  const neighbours = soak || process.env['DRYDOCK_NEIGHBOURS'] === '1' ? ['--neighbours'] : [];
  const workloads = soak || process.env['DRYDOCK_WORKLOADS'] === '1' ? ['--workloads'] : [];
  const wanted = [...eras, ...workloads, ...neighbours];
  const built = await run(process.execPath, ['packages/sandbox/bin/drydock-sandbox.js', 'build', ...wanted]);
  if (built !== 0) process.exit(built);
}

if (soak) process.env['DRYDOCK_SOAK'] = '1';
// Each file is a process, and most of a short one's time goes into stripping types that the one before it has stripped.
process.env['NODE_COMPILE_CACHE'] ??= join(root, '.cache', 'compiled');
// So does a bundle, for the programs that tests start, which are killed before they leave compiled code. A few files start them from their sources.
if (whole) {
  await bundle(root, { folder: join('.cache', 'bundle'), demo: 'checkout' });
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --conditions=drydock-bundle`;
  for (const words of [
    ['operator', '--help'],
    ['image', '--help'],
    ['template', '--help'],
  ])
    execFileSync(process.execPath, ['apps/drydock/bin/drydock.js', ...words], { cwd: root, stdio: 'ignore' });
}
// Of this process alone, because another run may be under way in this checkout.
const batches = join(root, '.cache', 'test-batches', String(process.pid));
const serverLogs = join(batches, 'servers');
process.on('exit', () => rmSync(batches, { recursive: true, force: true }));
const modules =
  soak || watch ? files.map((file) => join(root, file)) : batchesOf(files, batches).map(({ module }) => module);
mkdirSync(serverLogs, { recursive: true });
process.env['DRYDOCK_SERVERS_LOGS'] = serverLogs;
const events = runTests({
  cwd: root,
  execArgv: ['--import', join(root, 'scripts', 'note-test-file.js')],
  files: modules,
  watch,
  // Half of them wait for servers at any time: with one process less a fifth of two cores was idle.
  concurrency: Math.min(availableParallelism() + 2, 8),
  // A soak is long by purpose, 10,000 kills alone take half a day; each of its waits has a deadline of its own.
  timeout: soak ? Number.POSITIVE_INFINITY : 300_000,
});
process.exitCode = 1;
events.on('test:summary', ({ file, success }) => {
  if (file === undefined && success) process.exitCode = 0;
});
if (whole) events.compose(slowestFiles).pipe(createWriteStream(timesOfThisRun()));
const skipped: Parameters<typeof noteSkipped>[0] = new Map();
events.on('test:pass', (data) => noteSkipped(skipped, data));
events.compose(spec()).pipe(process.stdout);
process.once('beforeExit', () => process.stdout.write(serversReport({ used: backendsUsed(serverLogs), skipped })));
