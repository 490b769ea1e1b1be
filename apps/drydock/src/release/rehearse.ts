import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RehearsalReport } from '@drydock/release';
import { type Command, InvalidArgumentError } from 'commander';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { type Column, table } from '../table.ts';
import { say, sayError } from '../terminal.ts';
import { type AudienceFlags, audienceFlags } from './payload-source.ts';
import { releaseParts, storedObjects, UNNAMED } from './rehearsal-source.ts';

const SERVERS = ['E0', 'E1', 'E2'] as const;
type Era = (typeof SERVERS)[number];
const FACES = { payload: 'Payload', 'cluster-version': 'ClusterVersion' } as const;
const BESIDES = ['managers', 'servers', 'legacy'] as const;
type Besides = (typeof BESIDES)[number];

interface RehearseFlags extends AudienceFlags {
  readonly from: string;
  readonly to: string;
  readonly era: readonly Era[];
  readonly abortAt: readonly (number | 'random')[];
  readonly seed?: number;
  readonly timeScale: number;
  readonly objects?: string;
  readonly workloads?: true;
  readonly face: keyof typeof FACES;
  readonly besides: readonly Besides[];
  readonly out?: string;
  readonly output: OutputFormat;
}

const SOURCE = 'folder of definitions, a payload as load takes it, or a set of the sandbox, as openshift-4.17';

/** Adds `release rehearse`: goes from one release to the next, back and forward again on real API servers of this machine. No cluster is touched. */
export function addRehearse(group: Command): void {
  audienceFlags(
    group
      .command('rehearse')
      .description('go to a release, back and forward again on real API servers of this machine, and say what breaks'),
  )
    .requiredOption('--from <release>', `the older release: ${SOURCE}`)
    .requiredOption('--to <release>', 'the newer release, named likewise')
    .option('--era <list>', 'kinds of API servers: E0 (up to 1.29), E1 (1.30 to 1.32), E2 (from 1.33)', erasOf, ['E2'])
    .option(
      '--abort-at <list>',
      'percent of operators that reach the newer release before the way back begins, or random',
      sharesOf,
      [100],
    )
    .option('--seed <number>', 'plays the same again (default: another one each time; it is told)', seedOf)
    .option('--time-scale <factor>', '1 is as slow as a real cluster', scaleOf, 0.1)
    .option(
      '--objects <folder>',
      'objects of a cluster, stored besides those that are made for each place that differs',
    )
    .option('--face <kind>', `what says which release is wanted: ${Object.keys(FACES).join(' or ')}`, faceOf, 'payload')
    .option(
      '--besides <list>',
      'what happens on each way back: managers (two, the leading one is killed), servers (the API server is killed, and one of another kind comes up), legacy (operators that look at no schema, until they are mended)',
      besidesOf,
      [],
    )
    .option('--workloads', 'with real controllers and a scheduler')
    .option('--out <folder>', 'also write report.json, junit.xml, report.html and timeline.ndjson there')
    .addOption(outputOption({ more: ['junit', 'html'] }))
    .addHelpText(
      'after',
      '\nExit codes: 0 the way back holds, 1 it could not be gone to its end, 2 usage, 3 it does not hold.',
    )
    .action((flags: RehearseFlags) => untilInterrupted((signal) => rehearse(flags, signal)));
}

async function rehearse(flags: RehearseFlags, signal: AbortSignal): Promise<number> {
  const release = await import('@drydock/release');
  const older = await releaseParts(flags.from, UNNAMED.older, flags, signal);
  const newer = await releaseParts(flags.to, UNNAMED.newer, flags, signal);
  if (older.version === newer.version)
    throw new UsageError(`both releases say that they are ${older.version}: a way leads from one version to another`);
  const objects = flags.objects === undefined ? [] : await storedObjects(flags.objects);
  const { rehearsalPorts } = await import('./rehearsal-servers.ts');
  // "servers" replaces the newest API server by that of E1.
  const eras: readonly Era[] =
    flags.besides.includes('servers') && flags.era.includes('E2') ? [...flags.era, 'E1'] : flags.era;
  const ports = await rehearsalPorts({ eras, workloads: flags.workloads === true });
  const seed = flags.seed ?? Math.floor(Math.random() * 1_000_000);
  sayError(`seed ${seed}`);
  const report = await release.rehearse(
    {
      ...{ older, newer, seed, signal, say: sayError, eras: flags.era, abortAt: flags.abortAt },
      timeScale: flags.timeScale,
      objects,
      workloads: flags.workloads === true,
      face: FACES[flags.face],
      besides: flags.besides,
    },
    ports,
  );
  const { kind } = flags.output;
  if (kind === 'junit') say(release.junitOf(report));
  else if (kind === 'html') say(release.pageOf(report));
  else print(flags.output, report, () => reportText(report));
  if (flags.out !== undefined) {
    await mkdir(flags.out, { recursive: true });
    const lines = report.cells.flatMap(({ abortAt, era, timeline }) =>
      timeline.map((entry) => `${JSON.stringify({ era, abortAt, ...entry })}\n`),
    );
    await writeFile(join(flags.out, 'report.json'), `${JSON.stringify(report, undefined, 2)}\n`);
    await writeFile(join(flags.out, 'junit.xml'), release.junitOf(report));
    await writeFile(join(flags.out, 'report.html'), release.pageOf(report));
    await writeFile(join(flags.out, 'timeline.ndjson'), lines.join(''));
  }
  if (report.cells.some(({ broken }) => broken !== undefined)) return exitCode.failed;
  return report.passed ? exitCode.done : exitCode.blocked;
}

interface Row {
  readonly cell: string;
  readonly verdict: string;
  readonly id: string;
  readonly title: string;
  readonly seen: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { header: 'SERVERS', cell: ({ cell }) => cell },
  { header: 'VERDICT', cell: ({ verdict }) => verdict },
  { header: 'NO.', cell: ({ id }) => id },
  { header: 'WHAT MUST HOLD', cell: ({ title }) => title },
  { header: 'WHAT WAS SEEN', cell: ({ seen }) => seen },
];

/** For people: all assertions, cell by cell. */
function reportText({ cells, newer, older, passed, seed }: RehearsalReport): string {
  const rows = cells.flatMap(({ abortAt, assertions, broken, era }): readonly Row[] => {
    const cell = `${era} ${abortAt} %`;
    const stopped =
      broken === undefined ? [] : [{ cell, verdict: 'broken', id: '', title: 'the way is gone', seen: broken }];
    return [...stopped, ...assertions.map(({ id, seen, title, verdict }) => ({ cell, verdict, id, title, seen }))];
  });
  const verdict = passed ? 'the way back holds' : 'the way back does not hold';
  const places = cells[0]?.exercises.length ?? 0;
  const servers = [...new Set(cells.map(({ server }) => server))].join(', ');
  return `${older} → ${newer} → ${older} → ${newer}: ${verdict}. ${places} places exercised on ${servers}, seed ${seed}.\n\n${table(COLUMNS, rows)}`;
}

function erasOf(text: string): readonly Era[] {
  const chosen = text.split(',').map((name) => SERVERS.find((era) => era === name.trim()));
  if (chosen.includes(undefined)) throw new InvalidArgumentError(`name some of ${SERVERS.join(', ')}.`);
  return chosen.filter((era) => era !== undefined);
}

function faceOf(text: string): keyof typeof FACES {
  if (text === 'payload' || text === 'cluster-version') return text;
  throw new InvalidArgumentError(`name one of ${Object.keys(FACES).join(', ')}.`);
}

function besidesOf(text: string): readonly Besides[] {
  const chosen = text.split(',').map((name) => BESIDES.find((one) => one === name.trim()));
  if (chosen.includes(undefined)) throw new InvalidArgumentError(`name some of ${BESIDES.join(', ')}.`);
  return chosen.filter((one) => one !== undefined);
}

function sharesOf(text: string): readonly (number | 'random')[] {
  return text.split(',').map((part) => {
    const share = part.trim();
    if (share === 'random') return share;
    if (!/^\d{1,3}$/.test(share) || Number(share) > 100)
      throw new InvalidArgumentError('percent from 0 to 100, or random, are expected.');
    return Number(share);
  });
}

function seedOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is expected.');
  return Number(text);
}

function scaleOf(text: string): number {
  const scale = Number(text);
  if (!(scale > 0 && scale <= 10)) throw new InvalidArgumentError('a number above 0, up to 10, is expected.');
  return scale;
}
