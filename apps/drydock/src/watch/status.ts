import { oneLine, quotedText, wordWithoutSecrets } from '@drydock/api/text';
import type { Command } from 'commander';
import { exitCode, NextStepError, UsageError } from '../exit.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { type Column, table } from '../table.ts';
import { sayError } from '../terminal.ts';
import { type Sample, samplesOf } from './samples.ts';

/** How one watch of an operator stands. */
export interface WatchLine {
  readonly watch: string;
  readonly vcenter: string;
  readonly state: string;
  readonly machines: number;
  readonly containers: { readonly watched: number; readonly wanted: number };
  readonly dirty: number;
  readonly unresolved: number;
  /** Seconds. */
  readonly lag: number;
  readonly signals: number;
  readonly resumes: number;
  readonly rebuilds: number;
}

const COLUMNS: readonly Column<WatchLine>[] = [
  { header: 'WATCH', cell: ({ watch }) => watch },
  { header: 'VCENTER', cell: ({ vcenter }) => vcenter },
  { header: 'STATE', cell: ({ state }) => state },
  { header: 'MACHINES', cell: ({ machines }) => String(machines) },
  { header: 'CONTAINERS', cell: ({ containers: { watched, wanted } }) => `${watched}/${wanted}` },
  { header: 'DIRTY', cell: ({ dirty }) => String(dirty) },
  { header: 'LAG', cell: ({ lag }) => `${lag.toFixed(1)}s` },
  { header: 'SIGNALS', cell: ({ signals }) => String(signals) },
  { header: 'UNRESOLVED', cell: ({ unresolved }) => String(unresolved), wide: true },
  { header: 'RESUMES', cell: ({ resumes }) => String(resumes), wide: true },
  { header: 'REBUILDS', cell: ({ rebuilds }) => String(rebuilds), wide: true },
];

const DEADLINE_MS = 10_000;
const FORWARD = 'kubectl -n drydock port-forward deploy/drydock 8081:8081';
/** States that need no word. */
const QUIET: ReadonlySet<string> = new Set(['idle', 'live', 'stopped']);

/** Adds `drydock watch status`: how the watches of a running operator stand, by its metrics. Only the replica that leads has any. */
export function addWatchStatus(group: Command): void {
  group
    .command('status')
    .description('show how the watches of a running operator stand')
    .option('--operator <url>', 'where the operator serves /metrics', 'http://127.0.0.1:8081')
    .addOption(outputOption())
    .action(async ({ operator, output }: { readonly operator: string; readonly output: OutputFormat }) => {
      if (!/^https?:$/.test(URL.parse(operator)?.protocol ?? ''))
        throw new UsageError(`${wordWithoutSecrets(operator)} is no address; an example is http://127.0.0.1:8081`);
      const metrics = await read(operator, '/metrics');
      const samples = samplesOf(metrics);
      // One that watches nothing may have no value to show.
      if (!/^(?:# \w+ )?drydock_/m.test(metrics))
        throw new NextStepError(`what answers at ${operator} is no drydock operator`, FORWARD);
      const lines = watchLines(samples);
      if (output.people && lines.length === 0) for (const text of await nothing(operator)) sayError(text);
      else print(output, lines, () => table(COLUMNS, lines, { wide: output.wide }));
      if (output.people) for (const text of await troubles(operator, lines)) sayError(text);
      process.exitCode = exitCode.done;
    });
}

/** What metrics say of watches, sorted by watch and vCenter. */
export function watchLines(samples: readonly Sample[]): readonly WatchLine[] {
  const of = (name: string): readonly Sample[] => samples.filter((sample) => sample.name === `drydock_watch_${name}`);
  return of('state')
    .filter(({ value }) => value === 1)
    .map(({ labels }): WatchLine => {
      const { watch = '', vcenter = '', state = '' } = labels;
      const sum = (name: string, more: Readonly<Record<string, string>> = {}): number =>
        of(name)
          .filter(({ labels: its }) =>
            Object.entries({ watch, vcenter, ...more }).every(([key, value]) => its[key] === value),
          )
          .reduce((total, { value }) => total + value, 0);
      return {
        watch,
        vcenter,
        state,
        machines: sum('machines'),
        containers: { watched: sum('containers', { watched: 'true' }), wanted: sum('containers') },
        dirty: sum('dirty_machines'),
        unresolved: sum('unresolved_machines'),
        lag: sum('lag_seconds'),
        signals: sum('signals_total'),
        resumes: sum('resumes_total'),
        rebuilds: sum('rebuilds_total'),
      };
    })
    .toSorted((a, b) => a.watch.localeCompare(b.watch) || a.vcenter.localeCompare(b.vcenter));
}

/** Why an operator watches nothing, as its checks say. */
async function nothing(operator: string): Promise<readonly string[]> {
  const ready = await read(operator, '/readyz?verbose').catch(() => '');
  const checks = [...ready.matchAll(/^\[[+-]\]watch-\w+ (?:ok|failed)(?:: (.*))?$/gm)];
  const remark = checks.map(([, text]) => text).find((text) => text !== undefined);
  if (remark === 'disabled')
    return [
      'This operator watches nothing: ASYNC_SIGNAL_DISABLED or ASYNC_SIGNAL_ENABLED in its environment turns the watch off.',
      'next: kubectl -n drydock set env deploy/drydock ASYNC_SIGNAL_DISABLED- ASYNC_SIGNAL_ENABLED-',
    ];
  if (remark !== undefined)
    return [`This operator watches nothing: ${quotedText(remark)}`, 'next: kubectl apply -f api/optional'];
  const why =
    checks.length > 0 || ready === ''
      ? 'it does not lead, or no container is wanted'
      : 'it runs without the role watch';
  return [`This operator watches nothing: ${why}.`, 'next: kubectl get lease -A | grep drydock'];
}

/** Why a watch is not live, or not whole, in the words of the operator. */
async function troubles(operator: string, lines: readonly WatchLine[]): Promise<readonly string[]> {
  const partly = ({ containers: { watched, wanted } }: WatchLine): boolean => watched < wanted;
  const troubled = new Set(lines.filter((line) => !QUIET.has(line.state) || partly(line)).map(({ watch }) => watch));
  const remarks = Array.from(troubled, async (watch) => {
    const text = await read(operator, `/readyz/watch-${watch}?verbose`).catch(() => '');
    const remark = /^\[\+\]\S+ ok: (.*)$/m.exec(text)?.[1];
    return remark === undefined ? [] : [`${watch}: ${oneLine(remark)}`];
  });
  return (await Promise.all(remarks)).flat();
}

async function read(operator: string, path: string): Promise<string> {
  const url = new URL(path, operator);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS) });
    if (response.ok) return await response.text();
    throw new Error(`HTTP status ${response.status}`);
  } catch (cause) {
    throw new NextStepError(`the operator's metrics at ${url.href} cannot be read: ${reasonOf(cause)}`, FORWARD, cause);
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
