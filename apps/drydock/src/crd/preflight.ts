import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import {
  createReport,
  ERAS,
  type Era,
  type Finding,
  type PreflightOptions,
  type ServerEra,
  undecidedKind,
} from '@drydock/crd';
import { type KubeClient, processSignals } from '@drydock/kube';
import { clusterCrds, eraOf, gather, probe, type ScanProgress, scan, serverMinor } from '@drydock/preflight';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { formatOf, print } from './formats.ts';
import { printPreflight } from './preflight-table.ts';
import { readSource } from './sources.ts';

interface PreflightFlags extends ClusterFlags {
  readonly to: string;
  readonly targetVersion?: string;
  readonly eraNow?: string;
  readonly eraTarget?: string;
  readonly featureSet: string;
  readonly ack?: readonly string[];
  readonly strict?: boolean;
  readonly showValues?: boolean;
  readonly again?: boolean;
  readonly serverProbe?: boolean;
  readonly yes?: boolean;
  readonly output: string;
}

/** Adds `crd preflight`: judges every stored object of a cluster under the definitions it would go to. It only reads, unless the server is to be probed. */
export function addPreflight(group: Command): void {
  clusterFlags(group.command('preflight').description('judge every stored object under other definitions'))
    .requiredOption('--to <source>', 'definitions to go to: file, folder, cluster: or cluster:CONTEXT')
    .option('--target-version <version>', 'Kubernetes version of the API server then, such as 1.32 (default: as now)')
    .option('--era-now <era>', 'E0|E1|E2, where a feature gate makes the server another than its version says')
    .option('--era-target <era>', 'likewise')
    .option('--feature-set <name>', 'which of several definitions of one name', 'Default')
    .option('--ack <id...>', 'accept findings: CLASS:DEFINITION or CLASS:DEFINITION:PLACE')
    .option('--strict', 'what stops only creation and server-side apply counts as blocking')
    .option('--again', 'look once more at what changes during a long scan')
    .option('--show-values', 'print values; they can be secrets')
    .option(
      '--server-probe',
      'ask the server where nothing else can tell: installs a labelled definition for the time of the run',
    )
    .option('--yes', 'do not ask before a probe')
    .option('-o, --output <format>', 'table|wide|json|yaml', 'table')
    .action(async (flags: PreflightFlags) => {
      using signals = processSignals();
      const { signal } = signals;
      try {
        process.exitCode = await run(flags, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
        console.error('drydock: interrupted; nothing was left behind.');
        process.exitCode = (signal.reason as Error).message === 'SIGTERM' ? 143 : 130;
      }
    });
}

async function run(flags: PreflightFlags, signal: AbortSignal): Promise<number> {
  const format = formatOf(flags.output);
  const target = await readSource(flags.to, flags, signal);
  await using client = await connect(flags);
  const options = await servers(flags, client, signal);
  const { crds, unreadable } = await clusterCrds(client, { signal });
  const report = createReport();
  const findings: Finding[] = [];
  const add = (more: readonly Finding[]): void => {
    const judged = flags.strict === true ? more.map(strictly) : more;
    report.add(judged);
    // A table needs the groups alone, whose number does not grow with that of the objects.
    if (format === 'json' || format === 'yaml') findings.push(...judged);
  };
  add(unreadable.map(({ crd, why }) => undecidedKind(crd, why, options)));
  add(target.problems.map((problem) => undecidedKind('', problem, options)));
  const progress = progressLine();
  const questions = gather();
  const pages = scan({
    client,
    crds,
    wanted: target.crds,
    ...options,
    ...(flags.again === true ? { again: true } : {}),
    progress: progress.show,
    undecided: questions.add,
    signal,
  });
  for (;;) {
    const page = await pages.next();
    if (page.done === true) break;
    add(flags.serverProbe === true ? page.value.filter(isForPeople) : page.value);
  }
  progress.end();
  const requests = [...questions.requests()];
  if (flags.serverProbe === true && requests.length > 0) {
    if (!(await agreed(flags, requests.length, signal))) {
      console.error('drydock: nothing was probed: this needs a yes. Give --yes to do without the question.');
      return exitCode.undecided;
    }
    const run = `probe-${randomBytes(4).toString('hex')}`;
    for await (const more of probe(client, requests, { ...options, run, signal })) add(more);
  }
  const answer = report.build(flags.ack ?? []);
  const value = {
    to: target.name,
    ...options,
    objects: progress.objects(),
    definitions: crds.length,
    ...answer,
    findings,
  };
  print(format, value, () => printPreflight(value, format === 'wide'));
  return { clean: exitCode.done, blocked: exitCode.blocked, undecided: exitCode.undecided }[answer.verdict];
}

/** Verdicts that a probe will not give: all but doubts about objects. */
function isForPeople(finding: Finding): boolean {
  return finding.class !== 'UNDECIDED' || finding.object === '';
}

function strictly(finding: Finding): Finding {
  return finding.class === 'BLOCK_CREATE' || finding.class === 'BLOCK_SSA' ? { ...finding, blocking: true } : finding;
}

async function servers(
  flags: PreflightFlags,
  client: Pick<KubeClient, 'raw'>,
  signal: AbortSignal,
): Promise<PreflightOptions> {
  const now = withEra(await serverMinor(client, { signal }), flags.eraNow);
  const minor = /^(?:v?1\.)?(\d+)(?:\.\d+)?$/.exec(flags.targetVersion ?? '')?.[1];
  if (flags.targetVersion !== undefined && minor === undefined)
    throw new UsageError(`${flags.targetVersion} is no version of Kubernetes: write it as 1.32`);
  const target = withEra(minor === undefined ? now : eraOf(Number(minor)), flags.eraTarget);
  return { now, target, ...(flags.showValues === true ? { showValues: true } : {}) };
}

function withEra(server: ServerEra, name: string | undefined): ServerEra {
  if (name === undefined) return server;
  if (!Object.hasOwn(ERAS, name))
    throw new UsageError(`unknown era ${name}: use one of ${Object.keys(ERAS).join(', ')}`);
  return { ...server, era: name as Era };
}

async function agreed(flags: PreflightFlags, kinds: number, signal: AbortSignal): Promise<boolean> {
  if (flags.yes === true) return true;
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const question = `Install ${kinds} definitions of the group shadow.drydock.dev, ask the server, and remove them? [y/N] `;
    return /^y(es)?$/i.test((await terminal.question(question, { signal })).trim());
  } finally {
    terminal.close();
  }
}

/** One line on a terminal, redrawn; silence elsewhere. */
function progressLine(sink: NodeJS.WriteStream = process.stderr): {
  readonly show: (progress: ScanProgress) => void;
  readonly end: () => void;
  readonly objects: () => number;
} {
  let objects = 0;
  let drawn = 0;
  return {
    show: (progress) => {
      objects = progress.objects;
      const now = Date.now();
      if (sink.isTTY !== true || now - drawn < 100) return;
      drawn = now;
      const line = `${progress.kind} of ${progress.kinds} kinds, ${objects} objects  ${progress.crd}`;
      sink.write(`\r${line.slice(0, (sink.columns || 80) - 1)}\u001b[K`);
    },
    end: () => {
      if (drawn > 0) sink.write('\r\u001b[K');
    },
    objects: () => objects,
  };
}
