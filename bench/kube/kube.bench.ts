import { spawn } from 'node:child_process';
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Benchmark, compared, type Figure, median, percentile } from '../measure.ts';
import { startOurWorker, startWorker, type Worker } from '../worker.ts';
import type { BenchKind, KubeJob, KubeResult, Target } from './job.ts';
import type { ServerJob } from './server.ts';

const CONFIG_MAPS: BenchKind = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', count: 10_000 };
const MACHINE_SETS: BenchKind = {
  group: 'machine.openshift.io',
  version: 'v1beta1',
  kind: 'MachineSet',
  plural: 'machinesets',
  count: 10_000,
};
/** One of each side's own: they are updated in turn. */
const WATCHED: Readonly<Record<Side, BenchKind>> = {
  ours: { ...MACHINE_SETS, plural: 'ours', count: 2_000 },
  peer: { ...MACHINE_SETS, plural: 'peers', count: 2_000 },
};
const KINDS: readonly BenchKind[] = Array.from({ length: 20 }, (_, index) => ({
  group: 'bench.drydock.dev',
  version: 'v1',
  kind: `Kind${index}`,
  plural: `kind${index}s`,
  count: 250,
}));
const ROUNDS = 3;
const UPDATES = 1_000;
const UPDATE_ROUNDS = 20;
/** The calls take a fifth of a second: any stall of the machine spoils a round. */
const GET_ROUNDS = 7;
const IMPORTS = 9;
const IDLE_SECONDS = 15;

type Side = 'ours' | 'peer';
const SIDES: readonly Side[] = ['ours', 'peer'];

type Job = DistributiveOmit<KubeJob, keyof Target>;
/** A process that knows its server. */
interface Client extends AsyncDisposable {
  run(job: Job): Promise<KubeResult>;
}
type Start = (side: Side) => Promise<Client>;
type Runner = (side: Side, job: Job) => Promise<KubeResult>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** Our Kubernetes client against `@kubernetes/client-node`, each job in a process of its own, on a fake server over TLS. */
export const benchmark: Benchmark = {
  name: 'kube',
  about: `our Kubernetes client against @kubernetes/client-node on a fake server over TLS; medians`,
  async run(report, signal) {
    await using server: Worker<ServerJob, Target> = startWorker(process.execPath, [
      join(import.meta.dirname, 'server.ts'),
    ]);
    const target = await server.run(
      { kinds: [CONFIG_MAPS, MACHINE_SETS, ...Object.values(WATCHED), ...KINDS] },
      signal,
    );
    const start: Start = async (side) => {
      const worker: Worker<KubeJob, KubeResult> = await startOurWorker(join(import.meta.dirname, `${side}.ts`));
      return {
        run: (job) => worker.run({ ...target, ...job }, signal),
        [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
      };
    };
    const once: Runner = async (side, job) => {
      // A process per job: what one leaves behind is no other's.
      await using client = await start(side);
      return await client.run(job);
    };
    await gets(once, target, report);
    for (const [kind, goal] of [
      [CONFIG_MAPS, 0.4],
      [MACHINE_SETS, 0.5],
    ] as const)
      await lists(once, kind, goal, report);
    await updates(start, report);
    await imports(report, signal);
    const { rssMB = Number.NaN } = await once('ours', { do: 'idle', kinds: KINDS, seconds: IDLE_SECONDS });
    const idle = { bench: 'kube', case: 'idle, 20 kinds', metric: 'RSS', unit: 'MB', lowerIsBetter: true } as const;
    report({ ...idle, ours: rssMB, goal: 110 });
  },
};

async function gets(once: Runner, target: Target, report: (figure: Figure) => void): Promise<void> {
  const job = { do: 'gets', count: 1000, atOnce: 10 } as const;
  const speeds = { ours: [] as number[], peer: [] as number[] };
  const cpu = { ours: [] as number[], peer: [] as number[] };
  const opened = { ours: [] as number[], peer: [] as number[] };
  for (let round = 0; round < GET_ROUNDS; round++) {
    for (const side of ['ours', 'peer'] as const) {
      const before = await connections(target);
      const { perSecond = Number.NaN, cpuSeconds = Number.NaN } = await once(side, job);
      speeds[side].push(perSecond);
      cpu[side].push(cpuSeconds);
      // Ours to ask is one of them.
      opened[side].push((await connections(target)) - before - 1);
    }
  }
  const common = { bench: 'kube', case: '1,000 small GETs' } as const;
  report(
    compared({
      ...common,
      ...{ metric: 'requests', unit: '/s', ours: median(speeds.ours), peer: median(speeds.peer) },
      ...{ goal: 15, lowerIsBetter: false },
    }),
  );
  report(
    compared({
      ...common,
      ...{ metric: 'CPU', unit: 's', ours: median(cpu.ours), peer: median(cpu.peer), lowerIsBetter: true },
    }),
  );
  const most = { ours: Math.max(...opened.ours), peer: Math.max(...opened.peer) };
  report({ ...common, metric: 'connections', unit: '', ...most, goal: 8, lowerIsBetter: true });
}

async function lists(once: Runner, kind: BenchKind, goal: number, report: (figure: Figure) => void): Promise<void> {
  const { ours, peer } = await rounds(once, { do: 'list', kind });
  const common = { bench: 'kube', case: `10,000 ${kind.kind}s`, lowerIsBetter: true } as const;
  const of = (side: readonly KubeResult[], metric: 'heapMB' | 'cpuSeconds'): number =>
    median(side.map((result) => result[metric] ?? Number.NaN));
  report(
    compared({ ...common, metric: 'heap kept', unit: 'MB', ours: of(ours, 'heapMB'), peer: of(peer, 'heapMB'), goal }),
  );
  report(compared({ ...common, metric: 'CPU', unit: 's', ours: of(ours, 'cpuSeconds'), peer: of(peer, 'cpuSeconds') }));
}

/** Both follow one kind each all the time and take turns at being told of 1,000 updates: so what a machine does besides strikes both. */
async function updates(start: Start, report: (figure: Figure) => void): Promise<void> {
  await using ours = await start('ours');
  await using peer = await start('peer');
  const sides = { ours, peer };
  const results = { ours: [] as KubeResult[], peer: [] as KubeResult[] };
  for (const side of SIDES) {
    await sides[side].run({ do: 'follow', kind: WATCHED[side] });
    // What is compiled on the way is not measured.
    await sides[side].run({ do: 'updates', kind: WATCHED[side], count: 4 * UPDATES });
  }
  for (let round = 0; round < UPDATE_ROUNDS; round++) {
    for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed())
      results[side].push(await sides[side].run({ do: 'updates', kind: WATCHED[side], count: UPDATES }));
  }
  const common = { bench: 'kube', case: '1,000 updates', lowerIsBetter: true } as const;
  const p99 = (side: Side): number => median(results[side].map(({ latencyMs = [] }) => percentile(latencyMs, 0.99)));
  // Not the median: a collection of garbage is dear, and not in every round.
  const cpu = (side: Side): number => mean(results[side].map(({ cpuSeconds = Number.NaN }) => cpuSeconds));
  report(compared({ ...common, metric: 'p99', unit: 'ms', ours: p99('ours'), peer: p99('peer') }));
  report(compared({ ...common, metric: 'CPU', unit: 's', ours: cpu('ours'), peer: cpu('peer'), goal: 1 }));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

async function rounds(
  once: Runner,
  job: Parameters<Runner>[1],
): Promise<{ readonly ours: readonly KubeResult[]; readonly peer: readonly KubeResult[] }> {
  const ours: KubeResult[] = [];
  const peer: KubeResult[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await once('ours', job));
    peer.push(await once('peer', job));
  }
  return { ours, peer };
}

/** From nothing to a client, in a fresh process with Node's compile cache warm. Ours is imported from its source. */
async function imports(report: (figure: Figure) => void, signal: AbortSignal): Promise<void> {
  const times = { '@drydock/kube': [] as number[], '@kubernetes/client-node': [] as number[] };
  for (let round = 0; round <= IMPORTS; round++) {
    for (const name of ['@drydock/kube', '@kubernetes/client-node'] as const) {
      const took = await importTime(name, signal);
      // The first fills the cache.
      if (round > 0) times[name].push(took);
    }
  }
  const [ours, peer] = [median(times['@drydock/kube']), median(times['@kubernetes/client-node'])];
  report(
    compared({
      bench: 'kube',
      case: 'cold import',
      metric: 'wall',
      unit: 'ms',
      ours,
      peer,
      goal: 0.4,
      lowerIsBetter: true,
    }),
  );
}

async function importTime(name: string, signal: AbortSignal): Promise<number> {
  const script = `const at = performance.now(); await import(${JSON.stringify(name)}); console.log(performance.now() - at)`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, NODE_COMPILE_CACHE: join(import.meta.dirname, '..', '.cache', 'compiled') },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  return Number(await text(child.stdout));
}

async function connections({ url, ca }: Target): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  get(`${url}/bench/connections`, { ca, agent: false }, (answer) => void text(answer).then(resolve, reject)).on(
    'error',
    reject,
  );
  return Number(await promise);
}
