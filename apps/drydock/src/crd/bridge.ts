import { type Bridge, bridge, type Crd, carriedOver, type Stores, type Unbridged } from '@drydock/crd';
import type { Command } from 'commander';
import { count } from '../count.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { definitionName } from '../output/names.ts';
import { say, sayError } from '../terminal.ts';
import { yamlText } from '../yaml.ts';
import { CRD_ARGUMENT, readSource, type Source, type SourceFlags, sourceFlags } from './sources.ts';

interface BridgeFlags extends SourceFlags {
  readonly output: OutputFormat;
  readonly store?: string;
}

/** What comes of two releases. */
interface Bridges {
  readonly crds: readonly Crd[];
  /** What the person has to know, a line each. */
  readonly stops: readonly string[];
  readonly doubts: readonly string[];
  readonly notes: readonly string[];
}

/** Adds `crd bridge`: definitions under which two neighbouring releases can both write. It only reads and prints. */
export function addBridge(group: Command): void {
  sourceFlags(group.command('bridge').description('print CRDs that accept what either release writes'))
    .argument('<old>', `${CRD_ARGUMENT}; its defaults hold, and it is stored as it stores`)
    .argument('<new>', 'named likewise')
    .option('--store <release>', 'older|newer: keep the way to this one open, where no stored version keeps both')
    .addOption(outputOption({ names: true, initial: 'yaml' }))
    .action((old: string, now: string, flags: BridgeFlags) =>
      untilInterrupted((signal) => printBridges(old, now, flags, signal), 'nothing was changed'),
    );
}

async function printBridges(old: string, now: string, flags: BridgeFlags, signal: AbortSignal): Promise<number> {
  const { store } = flags;
  if (store !== undefined && store !== 'older' && store !== 'newer')
    throw new UsageError(`unknown release ${store} in --store: use one of older, newer`);
  const [a, b] = await Promise.all([readSource(old, flags, signal), readSource(now, flags, signal)]);
  const { crds, doubts, notes, stops } = bridges(a, b, store);
  const manifests = crds.map(({ manifest }) => manifest);
  // For people as for kubectl: documents that can be applied.
  const documents = (): string => manifests.map((manifest) => `---\n${yamlText(manifest)}`).join('');
  if (flags.output.kind === 'yaml') say(documents());
  else
    print(flags.output, { apiVersion: 'v1', kind: 'List', items: manifests }, documents, () =>
      crds.map(({ name }) => definitionName(name)),
    );
  const problems = [...a.problems, ...b.problems].map(({ why }) => why);
  for (const line of [...notes, ...problems, ...doubts, ...stops]) sayError(`drydock: ${line}`);
  // What could not be read has no bridge, and nobody knows whether it needs one.
  const undecided = problems.length + doubts.length > 0;
  return stops.length > 0 ? exitCode.blocked : undecided ? exitCode.undecided : exitCode.done;
}

function bridges(old: Source, now: Source, stores: Stores | undefined): Bridges {
  // What is there and cannot be read is not absent.
  const unread = new Set([...old.problems, ...now.problems].map(({ crd }) => crd));
  const names = new Set([...now.crds, ...old.crds].map(({ name }) => name));
  const crds: Crd[] = [];
  const [stops, doubts, notes]: [string[], string[], string[]] = [[], [], []];
  const carried: string[] = [];
  for (const name of names) {
    if (unread.has(name)) continue;
    const [a, b] = [old, now].map((source) => source.crds.find((crd) => crd.name === name));
    if (a === undefined || b === undefined) {
      const only = a ?? b;
      if (only === undefined) continue;
      crds.push(carriedOver(only));
      carried.push(`${name} (${a === undefined ? 'newer' : 'older'})`);
      continue;
    }
    const between = bridge(a, b, stores === undefined ? {} : { stores });
    if (between.crd !== undefined) crds.push(between.crd);
    tell(name, between, stops, doubts, notes);
  }
  if (carried.length > 0)
    notes.push(`${count(carried.length, 'definition')} of one release alone, carried over: ${carried.join(', ')}`);
  return { crds, stops, doubts, notes };
}

function tell(name: string, between: Bridge, stops: string[], doubts: string[], notes: string[]): void {
  const of = ({ path, rule, version, why }: Unbridged): string =>
    `(${rule}${path === '' ? '' : ` ${path}`}): ${version === '' ? '' : `${version}: `}${why}`;
  for (const one of between.unbridged) stops.push(`${name} cannot be bridged ${of(one)}`);
  for (const one of between.crd === undefined ? [] : between.doubts) doubts.push(`${name} cannot be proved ${of(one)}`);
  for (const { path, version, what } of between.notes) {
    const place = [version, path].filter((part) => part !== '').join(' ');
    notes.push(`${name}${place === '' ? '' : ` (${place})`}: ${what}`);
  }
}
