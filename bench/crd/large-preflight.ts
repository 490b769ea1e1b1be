import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type CommandRun, runCommand } from '../command.ts';
import { compared, type Figure, median } from '../measure.ts';
import { startWorker } from '../worker.ts';
import { largeCrd } from './large.ts';
import type { ReadJob, ReadResult } from './large-reader.ts';

const COUNT = Number(process.env['DRYDOCK_BENCH_OBJECTS'] ?? 50_000);
const ROUNDS = 3;
const PLURAL = '/apis/bench.example.com/v1/larges';

/** Preflight of many objects of one definition of 1 MB, by CPU time: others may use the machine. The limit reads the same pages, and parses them, in the same run. */
export async function largePreflight(
  scratch: string,
  report: (figure: Figure) => void,
  signal: AbortSignal,
): Promise<void> {
  const source = (file: string): string => new URL(file, import.meta.url).pathname;
  const server = spawn(process.execPath, [source('large-server.ts'), `${COUNT}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
    signal,
  });
  try {
    const [line] = (await once(createInterface(server.stdout), 'line', { signal })) as [string];
    const url = `http://127.0.0.1:${(JSON.parse(line) as { readonly port: number }).port}`;
    const [kubeconfig, to] = [join(scratch, 'large-kubeconfig'), join(scratch, 'large-target.json')];
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url)));
    writeFileSync(to, JSON.stringify(largeCrd('older')));
    const args = ['crd', 'preflight', '--kubeconfig', kubeconfig, '--to', to, '--target-version', '1.30', '-o', 'json'];
    const ours: CommandRun[] = [];
    const limit: ReadResult[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      ours.push(await runCommand(args, 3, signal));
      await using reader = startWorker<ReadJob, ReadResult>(process.execPath, [source('large-reader.ts')]);
      limit.push(await reader.run({ url: `${url}${PLURAL}` }, signal));
    }
    const { objects } = JSON.parse(ours[0]?.stdout ?? '{}') as { readonly objects: number };
    for (const seen of [objects, ...limit.map((round) => round.objects)])
      if (seen !== COUNT) throw new Error(`bench: ${seen} objects instead of ${COUNT}`);
    const common = { bench: 'crd', case: `${COUNT / 1000},000 of a 1 MB CRD`, lowerIsBetter: true } as const;
    const each = (rounds: readonly { readonly cpuSeconds: number }[]): number =>
      (median(rounds.map(({ cpuSeconds }) => cpuSeconds)) * 1000) / COUNT;
    report({ ...common, metric: 'CPU each', unit: 'ms', ours: each(ours), goal: 0.6 });
    report(compared({ ...common, metric: 'and to read', unit: 'ms', ours: each(ours), peer: each(limit) }));
    report({ ...common, metric: 'peak RSS', unit: 'MB', ours: Math.max(...ours.map(({ rssMB }) => rssMB)), goal: 300 });
    report({ ...common, metric: 'load', unit: '', ours: loadavg()[0] ?? Number.NaN });
  } finally {
    server.stdin?.end();
  }
}

function kubeconfigOf(server: string): object {
  return {
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
}
