import { type Advice, authoring, type Crd, diff, type Step } from '@drydock/crd';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { printCheck } from './check-table.ts';
import { formatOf, print } from './formats.ts';
import { readSource, type Source } from './sources.ts';

/** The way from one set of definitions to another. */
export interface Way {
  readonly direction: 'upgrade' | 'rollback';
  readonly from: string;
  readonly to: string;
  readonly verdict: 'clean' | 'blocked' | 'undecided';
  /** Definitions with differences, in the order of their names. */
  readonly crds: readonly { readonly crd: string; readonly steps: readonly Step[] }[];
}

/** The answer of `crd check`. */
export interface Check {
  readonly ways: readonly Way[];
  /** What the author of the newer definitions should reconsider. */
  readonly advice: readonly (Advice & { readonly crd: string })[];
  readonly problems: readonly string[];
  /** Definitions compared. */
  readonly compared: number;
}

interface CheckFlags extends ClusterFlags {
  readonly direction: string;
  readonly featureSet: string;
  readonly output: string;
}

const DIRECTIONS = ['both', 'upgrade', 'rollback'] as const;

/** Adds `crd check`: what stands between two sets of definitions, both ways. It only reads. */
export function addCheck(group: Command): void {
  clusterFlags(group.command('check').description('compare definitions of two releases, there and back'))
    .argument('<old>', 'file, folder, cluster: or cluster:CONTEXT')
    .argument('<new>', 'likewise')
    .option('--direction <way>', DIRECTIONS.join('|'), 'both')
    .option('--feature-set <name>', 'which of several definitions of one name', 'Default')
    .option('-o, --output <format>', 'table|wide|json|yaml', 'table')
    .action(async (old: string, now: string, flags: CheckFlags) => {
      const direction = DIRECTIONS.find((known) => known === flags.direction);
      if (direction === undefined)
        throw new UsageError(`unknown direction ${flags.direction}: use one of ${DIRECTIONS.join(', ')}`);
      const format = formatOf(flags.output);
      const [a, b] = await Promise.all([readSource(old, flags), readSource(now, flags)]);
      // The short table has no advice, which takes as long as all the rest.
      const check = compare(a, b, direction, format !== 'table');
      print(format, check, () => printCheck(check, format === 'wide'));
      process.exitCode = exitOf(check);
    });
}

/** Compares two sets; `advises`: with advice to authors. */
export function compare(old: Source, now: Source, direction: (typeof DIRECTIONS)[number], advises: boolean): Check {
  const ways: Way[] = [];
  if (direction !== 'rollback') ways.push(wayOf('upgrade', old, now));
  if (direction !== 'upgrade') ways.push(wayOf('rollback', now, old));
  const advice = (advises ? old.crds : []).flatMap((crd) => {
    const next = now.crds.find(({ name }) => name === crd.name);
    return next === undefined ? [] : authoring(crd, next).map((one) => ({ ...one, crd: crd.name }));
  });
  const names = new Set([...old.crds, ...now.crds].map(({ name }) => name));
  return { ways, advice, problems: [...old.problems, ...now.problems], compared: names.size };
}

function wayOf(direction: Way['direction'], from: Source, to: Source): Way {
  const before = new Map(from.crds.map((crd): readonly [string, Crd] => [crd.name, crd]));
  const after = new Map(to.crds.map((crd): readonly [string, Crd] => [crd.name, crd]));
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  const crds = names.flatMap((crd) => {
    const { steps } = diff(before.get(crd), after.get(crd));
    return steps.length === 0 ? [] : [{ crd, steps }];
  });
  const effects = new Set(crds.flatMap(({ steps }) => steps.map(({ effect }) => effect)));
  const verdict = effects.has('narrows') ? 'blocked' : effects.has('undecided') ? 'undecided' : 'clean';
  return { direction, from: from.name, to: to.name, verdict, crds };
}

function exitOf({ ways, problems }: Check): number {
  if (ways.some(({ verdict }) => verdict === 'blocked')) return exitCode.blocked;
  // What could not be read is not clean.
  return problems.length > 0 || ways.some(({ verdict }) => verdict === 'undecided')
    ? exitCode.undecided
    : exitCode.done;
}
