import { spawn } from 'node:child_process';
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Benchmark, compared, type Figure, median, percentile } from '../measure.ts';
import { buildPeer } from '../peer.ts';
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
  tuned: { ...MACHINE_SETS, plural: 'tuneds', count: 2_000 },
  clientGo: { ...MACHINE_SETS, plural: 'clientgos', count: 2_000 },
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

/** client-node as it comes; with one dispatcher and without field owners; client-go without field owners. */
type Peer = 'peer' | 'tuned' | 'clientGo';
type Side = 'ours' | Peer;
const PEERS: readonly Peer[] = ['peer', 'tuned', 'clientGo'];
const SIDES: readonly Side[] = ['ours', ...PEERS];
/** The goals against client-node hold for it however it is tuned; against client-go: to be no worse. */
type Goals = Readonly<Record<Peer, number>>;
type Cases = Readonly<Record<Peer, string>>;

type Job = DistributiveOmit<KubeJob, keyof Target>;
/** A process that knows its server. */
interface Client extends AsyncDisposable {
  run(job: Job): Promise<KubeResult>;
}
type Start = (side: Side) => Promise<Client>;
type Runner = (side: Side, job: Job) => Promise<KubeResult>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** Our Kubernetes client against `@kubernetes/client-node` and client-go, each job in a process of its own, on a fake server over TLS. */
export const benchmark: Benchmark = {
  name: 'kube',
  about: 'our Kubernetes client against @kubernetes/client-node and client-go on a fake server over TLS; medians',
  async run(report, signal) {
    const clientGo = await buildPeer('kube', signal);
    await using server: Worker<ServerJob, Target> = startWorker(process.execPath, [
      join(import.meta.dirname, 'server.ts'),
    ]);
    const target = await server.run(
      { kinds: [CONFIG_MAPS, MACHINE_SETS, ...Object.values(WATCHED), ...KINDS] },
      signal,
    );
    const start: Start = async (side) => {
      const worker: Worker<KubeJob, KubeResult> =
        side === 'clientGo'
          ? startWorker(clientGo)
          : await startOurWorker(
              join(import.meta.dirname, side === 'ours' ? 'ours.ts' : 'peer.ts'),
              side === 'tuned' ? ['--tuned'] : [],
            );
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
  const speeds = perSide<number>();
  const cpu = perSide<number>();
  const opened = perSide<number>();
  for (let round = 0; round < GET_ROUNDS; round++) {
    for (const side of SIDES) {
      const before = await connections(target);
      const { perSecond = Number.NaN, cpuSeconds = Number.NaN } = await once(side, job);
      speeds[side].push(perSecond);
      cpu[side].push(cpuSeconds);
      // Ours to ask is one of them.
      opened[side].push((await connections(target)) - before - 1);
    }
  }
  const cases: Cases = { peer: '1,000 small GETs', tuned: 'GETs, one dispatcher', clientGo: 'GETs, client-go' };
  const goals: Goals = { peer: 15, tuned: 15, clientGo: 1 };
  for (const peer of PEERS) {
    const common = { bench: 'kube', case: cases[peer], lowerIsBetter: true } as const;
    const both = (of: (side: Side) => number) => ({ ours: of('ours'), peer: of(peer) });
    const requests = both((side) => median(speeds[side]));
    report(
      compared({ ...common, metric: 'requests', unit: '/s', ...requests, goal: goals[peer], lowerIsBetter: false }),
    );
    report(compared({ ...common, metric: 'CPU', unit: 's', ...both((side) => median(cpu[side])) }));
    const most = both((side) => Math.max(...opened[side]));
    report({ ...common, metric: 'connections', unit: '', ...most, goal: 8 });
  }
}

function perSide<T>(): Readonly<Record<Side, T[]>> {
  return { ours: [], peer: [], tuned: [], clientGo: [] };
}

async function lists(once: Runner, kind: BenchKind, goal: number, report: (figure: Figure) => void): Promise<void> {
  const results = perSide<KubeResult>();
  for (let round = 0; round < ROUNDS; round++)
    for (const side of SIDES) results[side].push(await once(side, { do: 'list', kind }));
  const plural = `${kind.kind}s`;
  const cases: Cases = { peer: `10,000 ${plural}`, tuned: `${plural}, no owners`, clientGo: `${plural}, client-go` };
  const goals: Goals = { peer: goal, tuned: goal, clientGo: 1 };
  const of = (side: Side, metric: 'heapMB' | 'cpuSeconds'): number =>
    median(results[side].map((result) => result[metric] ?? Number.NaN));
  for (const peer of PEERS) {
    const common = { bench: 'kube', case: cases[peer], lowerIsBetter: true } as const;
    const both = (metric: 'heapMB' | 'cpuSeconds') => ({ ours: of('ours', metric), peer: of(peer, metric) });
    report(compared({ ...common, metric: 'heap kept', unit: 'MB', ...both('heapMB'), goal: goals[peer] }));
    report(compared({ ...common, metric: 'CPU', unit: 's', ...both('cpuSeconds') }));
  }
}

/** All follow one kind each all the time and take turns at being told of 1,000 updates: so what a machine does besides strikes each of them. */
async function updates(start: Start, report: (figure: Figure) => void): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const clients = new Map<Side, Client>();
  for (const side of SIDES) clients.set(side, stack.use(await start(side)));
  const results = perSide<KubeResult>();
  const run = async (side: Side, job: Job): Promise<KubeResult> => (await clients.get(side)?.run(job)) ?? {};
  for (const side of SIDES) {
    await run(side, { do: 'follow', kind: WATCHED[side] });
    // What is compiled on the way is not measured.
    await run(side, { do: 'updates', kind: WATCHED[side], count: 4 * UPDATES });
  }
  for (let round = 0; round < UPDATE_ROUNDS; round++) {
    for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed())
      results[side].push(await run(side, { do: 'updates', kind: WATCHED[side], count: UPDATES }));
  }
  const cases: Cases = { peer: '1,000 updates', tuned: 'updates, no owners', clientGo: 'updates, client-go' };
  const p99 = (side: Side): number => median(results[side].map(({ latencyMs = [] }) => percentile(latencyMs, 0.99)));
  // Not the median: a collection of garbage is dear, and not in every round.
  const cpu = (side: Side): number => mean(results[side].map(({ cpuSeconds = Number.NaN }) => cpuSeconds));
  for (const peer of PEERS) {
    const common = { bench: 'kube', case: cases[peer], lowerIsBetter: true } as const;
    report(compared({ ...common, metric: 'p99', unit: 'ms', ours: p99('ours'), peer: p99(peer) }));
    report(compared({ ...common, metric: 'CPU', unit: 's', ours: cpu('ours'), peer: cpu(peer), goal: 1 }));
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
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
