import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { cacheDirectory } from '@drydock/sandbox';
import { root } from './command.ts';
import { copyWorkspace } from './mutation/workspace-copy.ts';

// Measures how long a contributor waits after a change, in a copy of the checkout, and writes the table in CONTRIBUTING.md.
const MARK = /(<!-- inner loop -->\n)[\s\S]*?(\n<!-- end of inner loop -->)/;

using copy = copyWorkspace(root, cacheDirectory());
// `--changed` asks git; the copy becomes a repository of its own.
const git = (...args: readonly string[]): void =>
  void execFileSync('git', args, { cwd: copy.root, stdio: ['ignore', 'ignore', 'inherit'] });
git('init', '--quiet');
git('add', '--all');
git('-c', 'user.name=inner-loop', '-c', 'user.email=inner-loop@localhost', 'commit', '--quiet', '--message', 'copy');

/** Seconds by the clock that a command of npm takes; throws where it fails. */
function seconds(...args: readonly string[]): number {
  const started = performance.now();
  execFileSync('npm', args, {
    cwd: copy.root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DRYDOCK_SANDBOX_CACHE: cacheDirectory() },
  });
  return (performance.now() - started) / 1000;
}

/** As a contributor changes a line: the implementation is another one, its types are as before. */
function change(file: string): void {
  const text = readFileSync(join(root, file), 'utf8');
  copy.write(file, `${text}\nconst measured: number = ${Date.now() % 1000};\nvoid measured;\n`);
}

const rows: (readonly [what: string, command: string, took: number])[] = [];
const measure = (what: string, ...args: readonly string[]): void => {
  const took = seconds(...args);
  rows.push([what, `npm ${args.join(' ')}`, took]);
  console.log(`${took.toFixed(1).padStart(6)} s  ${what}`);
};

measure('all checks, nothing compiled before', 'run', 'check');
measure('all checks once more', 'run', 'check');
for (const [workspace, file] of [
  ['packages/durable', 'packages/durable/src/file.ts'],
  ['packages/crd', 'packages/crd/src/errors.ts'],
  ['packages/kube', 'packages/kube/src/clock.ts'],
  ['packages/templates', 'packages/templates/src/fingerprint.ts'],
  ['packages/boot-images', 'packages/boot-images/src/role.ts'],
] as const) {
  change(file);
  measure(`a change in ${file}: its check`, 'run', 'check', '--', '--changed');
  measure(`a change in ${file}: the tests of its package`, 'test', '--', workspace);
}
measure('one unit', 'test', '--', 'packages/durable/src/file.ts');

const lines = rows.map(([what, command, took]) => `| ${what} | \`${command}\` | ${Math.ceil(took)} s |`);
const table = ['| what | command | time |', '| --- | --- | ---: |', ...lines].join('\n');
const page = join(root, 'CONTRIBUTING.md');
writeFileSync(page, readFileSync(page, 'utf8').replace(MARK, `$1\n${table}\n$2`));
execFileSync(join(root, 'node_modules', '.bin', 'biome'), ['format', '--write', page], { stdio: 'inherit' });
console.log(`written to CONTRIBUTING.md, measured on ${availableParallelism()} cores`);
