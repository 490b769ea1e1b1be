import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { cacheDirectory } from '@drydock/sandbox';
import { tally } from '../packages/model/src/index.ts';
import { root } from './command.ts';
import { type Mutation, MutationError, mutate, readMutations } from './mutation/mutation.ts';
import { copyWorkspace, type WorkspaceCopy } from './mutation/workspace-copy.ts';

/** Longer than any of the listed tests takes on a busy machine; a mutant that hangs is noticed by it. */
const TIMEOUT_MS = 120_000;

const USAGE = `usage: npm run mutate -- [PACKAGE…] [--only TEXT] [--list] [--seconds N]

Applies the mutations of packages/PACKAGE/mutations.yaml one after the other to a copy of the checkout and runs their tests.
  --only TEXT    those whose name contains it
  --list         print them and run nothing
  --seconds N    as many as fit into that time, starting at another place each day
Exit code 1 where a mutation survives that is not called equivalent, or an equivalent one is noticed.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
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
  const wanted = positionals.length === 0 ? known : positionals.map((name) => `packages/${name}`);
  for (const workspace of wanted) {
    if (!existsSync(join(root, workspace, 'mutations.yaml')))
      fail(`mutate: ${workspace} has no mutations.yaml. There are lists for ${known.join(', ')}`, 2);
  }
  return wanted.flatMap((workspace) =>
    readMutations(root, workspace)
      .filter(({ name }) => name.includes(values.only))
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
  if (values.help) return console.log(USAGE);
  const all = listed();
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
