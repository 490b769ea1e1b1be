import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory } from '@drydock/sandbox';
import { tally } from '../packages/model/src/index.ts';
import { changedFiles } from './changed-files.ts';
import { root } from './command.ts';
import { type Mutation, MutationError, mutate, readMutations } from './mutation/mutation.ts';
import { copyWorkspace, type WorkspaceCopy } from './mutation/workspace-copy.ts';
import { orRefuse, scriptArguments } from './script-arguments.ts';

/** Longer than any of the listed tests takes on a busy machine; a mutant that hangs is noticed by it. */
const TIMEOUT_MS = 120_000;

const USAGE = `usage: npm run mutate -- [PACKAGE…] [--only TEXT] [--changed[=REVISION]] [--list] [--seconds N]

Applies the mutations of {packages,apps}/PACKAGE/mutations.yaml one after the other to a copy of the checkout and runs their tests.
  --only TEXT    those whose name contains it
  --changed[=REVISION]  those of files, or with tests, that changed since REVISION (default HEAD)
  --list         print them and run nothing
  --seconds N    as many as fit into that time, starting at another place each day
Exit code 1 where a mutation survives that is not called equivalent, or an equivalent one is noticed.`;

const COMMAND = 'npm run mutate';
const { values, positionals } = scriptArguments(COMMAND, USAGE, {
  only: { type: 'string', default: '' },
  changed: { type: 'string' },
  list: { type: 'boolean', default: false },
  seconds: { type: 'string' },
});

type Outcome = 'noticed' | 'survived' | 'equivalent' | 'not equivalent';
interface Listed {
  readonly workspace: string;
  readonly mutation: Mutation;
}

function fail(text: string, code: number): never {
  console.error(text);
  process.exit(code);
}

function listed(): readonly Listed[] {
  const known = globSync('{packages,apps}/*/mutations.yaml', { cwd: root }).map(dirname).sort();
  const wanted =
    positionals.length === 0 ? known : positionals.map((name) => known.find((one) => one.endsWith(`/${name}`)) ?? name);
  for (const workspace of wanted) {
    if (!existsSync(join(root, workspace, 'mutations.yaml')))
      fail(`mutate: ${workspace} has no mutations.yaml. There are lists for ${known.join(', ')}`, 2);
  }
  const since = values.changed;
  const changed = since === undefined ? undefined : new Set(orRefuse(COMMAND, () => changedFiles(since)));
  return wanted.flatMap((workspace) =>
    readMutations(root, workspace)
      .filter(({ name }) => name.includes(values.only))
      .filter(
        ({ file, tests }) => changed === undefined || [join(workspace, file), ...tests].some((one) => changed.has(one)),
      )
      .map((mutation) => ({ workspace, mutation })),
  );
}

/** Red tests without a mutation would notice everything. */
async function expectGreen(copy: WorkspaceCopy, all: readonly Listed[]): Promise<void> {
  const files = [...new Set(all.flatMap(({ mutation }) => mutation.tests))].sort();
  console.log(`${files.length} test files without a mutation…`);
  for (const file of files)
    if (!(await copy.test([file], TIMEOUT_MS)))
      throw new MutationError(`${file} is red without any mutation: mend it first`);
}

async function outcomeOf(copy: WorkspaceCopy, { workspace, mutation }: Listed): Promise<Outcome> {
  const path = join(workspace, mutation.file);
  const source = readFileSync(join(root, path), 'utf8');
  copy.write(path, mutate(source, mutation));
  try {
    for (const file of mutation.tests)
      if (!(await copy.test([file], TIMEOUT_MS)))
        return mutation.equivalent === undefined ? 'noticed' : 'not equivalent';
    return mutation.equivalent === undefined ? 'survived' : 'equivalent';
  } finally {
    copy.write(path, source);
  }
}

async function main(): Promise<void> {
  const all = listed();
  if (all.length === 0 && values.changed !== undefined)
    return console.log(`mutate: no mutation concerns a file changed since ${values.changed}`);
  if (all.length === 0) fail(`mutate: no mutation's name contains "${values.only}"`, 2);
  if (values.list) {
    for (const { workspace, mutation } of all) console.log(`${workspace}  ${mutation.name}  (${mutation.file})`);
    return;
  }
  const until =
    values.seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + Number(values.seconds) * 1000;
  using copy = copyWorkspace(root, cacheDirectory());
  const from = values.seconds === undefined ? 0 : Math.floor(Date.now() / 86_400_000) % all.length;
  const turn = [...all.slice(from), ...all.slice(0, from)];
  if (values.seconds === undefined) await expectGreen(copy, all);
  const counts: Record<Outcome, number> = { noticed: 0, survived: 0, equivalent: 0, 'not equivalent': 0 };
  let tried = 0;
  for (const item of turn) {
    if (performance.now() >= until) break;
    // In a bounded run only what is tried is asked before.
    if (values.seconds !== undefined) await expectGreen(copy, [item]);
    const started = performance.now();
    const outcome = await outcomeOf(copy, item);
    counts[outcome] += 1;
    tried += 1;
    const took = `${((performance.now() - started) / 1000).toFixed(0)} s`;
    const why = item.mutation.equivalent === undefined ? '' : ` (${item.mutation.equivalent})`;
    console.log(`${outcome.padEnd(14)} ${item.workspace}  ${item.mutation.name}${why}  ${took}`);
  }
  tally({ what: 'mutations', did: tried, of: all.length });
  console.log(
    `mutations: ${tried} of ${all.length} tried, ${counts.noticed} noticed, ${counts.survived} survived, ${counts.equivalent} equivalent`,
  );
  if (counts.survived + counts['not equivalent'] > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof MutationError)) throw error;
  fail(`mutate: ${error.message}`, 2);
}
