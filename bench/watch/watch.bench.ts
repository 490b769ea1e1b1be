import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '@drydock/sandbox';
import { type Followed, follow, type Moments } from '@drydock/vm-watch/testing';
import { type Benchmark, compared, median } from '../measure.ts';
import { buildPeer } from '../peer.ts';
import { startOurWorker, type Worker } from '../worker.ts';
import type { Changed, ServerJob, Target, WatchResult } from './job.ts';
import { operatorMemory } from './operator.ts';
import { paced } from './paced.ts';
import { type Bench, FLEET, QUIET_MS, type Side, startPrompt, type Watcher } from './sides.ts';

const SIZES = [1_000, 10_000, 45_000] as const;
const LARGE = 10_000;
const ROUNDS = 3;
const PATIENCE_MS = 120_000;

/** Our watch of machines against a re-enactment of vm-operator's on govmomi, both on a synthetic vCenter over TLS. */
export const benchmark: Benchmark = {
  name: 'watch',
  about: `our watch of machines against a clean-room re-enactment of vm-operator's on govmomi's property collector, synthetic vCenter over TLS; medians of ${ROUNDS} rounds`,
  async run(report, signal) {
    await using stack = new AsyncDisposableStack();
    const peer = await buildPeer('watch', signal);
    const scratch = await mkdtemp(join(tmpdir(), 'drydock-bench-'));
    stack.defer(() => rm(scratch, { recursive: true, force: true }));
    const authority = createAuthority('bench');
    const ca = join(scratch, 'ca.pem');
    await writeFile(ca, authority.certificate);
    const compiled = { NODE_COMPILE_CACHE: join(import.meta.dirname, '..', '.cache', 'compiled') };
    const server: Worker<ServerJob, Target & Changed> = stack.use(
      startPrompt(process.execPath, [join(import.meta.dirname, 'server.ts')], compiled),
    );
    const identity = authority.issueServer(['127.0.0.1']);
    const ours = join(import.meta.dirname, 'ours.ts');
    // Leaves the stripped sources in the cache from which ours starts.
    await (await startOurWorker(ours))[Symbol.asyncDispose]();
    const bench: Bench = {
      report,
      serve: (machines, folders = 1) => server.run({ do: 'serve', machines, folders, identity, ca }, signal),
      change: (how) => server.run({ do: 'change', folder: 0, perSecond: 0, noise: 0, resetEveryMs: 0, ...how }, signal),
      tell: (watcher, job) => watcher.run(job, signal),
      start: async (side) => (side === 'peer' ? startPrompt(peer) : startPrompt(process.execPath, [ours], compiled)),
    };
    // For whoever works on one of them.
    const wanted = process.env['DRYDOCK_BENCH_CASES']?.split(',');
    for (const [name, measure] of Object.entries(CASES)) if (wanted?.includes(name) !== false) await measure(bench);
  },
};

const CASES: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  operator,
  sync: initialSync,
  paced,
  flat: flatOut,
  noise,
  resets,
};

/** What runs in a cluster: the whole operator with both roles, as the Deployment starts it. */
async function operator(bench: Bench): Promise<void> {
  const { peak, steady } = await operatorMemory(await bench.serve(LARGE), LARGE);
  const figure = { bench: 'watch', case: `operator, ${LARGE}`, unit: 'MiB', lowerIsBetter: true } as const;
  bench.report({ ...figure, metric: 'peak RSS', ours: peak });
  bench.report({ ...figure, metric: 'steady RSS', ours: steady, goal: 120 });
}

/** Watches all machines in a new process; resolves when each was read, and was asked for where nobody knew it. */
async function synced(
  bench: Bench,
  side: Side,
  machines: number,
  verified: boolean,
): Promise<AsyncDisposable & { readonly watcher: Watcher; readonly result: WatchResult }> {
  const target = await bench.serve(machines);
  const watcher = await bench.start(side);
  const requests = verified ? 0 : machines;
  const { containers, ...where } = target;
  const [container = ''] = containers;
  const how = { do: 'watch', verified, requests, patienceMs: PATIENCE_MS } as const;
  const result = await bench.tell(watcher, { ...where, container, ...how });
  if (result.machines.length !== requests)
    throw new Error(`bench: ${side} asked for ${result.machines.length} of ${requests} machines`);
  return { watcher, result, [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose]() };
}

async function initialSync(bench: Bench): Promise<void> {
  const walls = new Map<number, number>();
  for (const machines of SIZES) {
    const results: Record<Side, WatchResult[]> = { ours: [], peer: [] };
    for (let round = 0; round < (machines === LARGE ? ROUNDS : 1); round += 1) {
      for (const side of machines === LARGE ? (['ours', 'peer'] as const) : (['ours'] as const)) {
        await using run = await synced(bench, side, machines, false);
        results[side].push(run.result);
      }
    }
    const of = (side: Side, metric: 'wallSeconds' | 'cpuSeconds' | 'peakRssMB'): number =>
      median(results[side].map((result) => result[metric]));
    walls.set(machines, of('ours', 'wallSeconds'));
    const figure = { bench: 'watch', case: `sync of ${machines}`, lowerIsBetter: true } as const;
    if (machines === LARGE) {
      const both = (metric: 'wallSeconds' | 'cpuSeconds'): { readonly ours: number; readonly peer: number } => ({
        ours: of('ours', metric),
        peer: of('peer', metric),
      });
      bench.report(compared({ ...figure, metric: 'wall', unit: 's', ...both('wallSeconds'), goal: 0.2 }));
      bench.report(compared({ ...figure, metric: 'CPU', unit: 's', ...both('cpuSeconds') }));
      bench.report({ ...figure, metric: 'peak RSS', unit: 'MB', ours: of('ours', 'peakRssMB'), goal: 110 });
    } else {
      bench.report({ ...figure, metric: 'wall', unit: 's', ours: of('ours', 'wallSeconds') });
      bench.report({ ...figure, metric: 'peak RSS', unit: 'MB', ours: of('ours', 'peakRssMB') });
    }
  }
  const perMachine = (machines: number): number => (walls.get(machines) ?? Number.NaN) / machines;
  bench.report({
    bench: 'watch',
    case: 'sync, 45,000 to 1,000',
    metric: 'per machine',
    unit: '×',
    ours: perMachine(45_000) / perMachine(1_000),
    goal: 1.3,
    lowerIsBetter: true,
  });
}

/** Changes and the requests that follow them, after a sync of the fleet. */
async function stream(
  bench: Bench,
  side: Side,
  how: Partial<ServerJob & { readonly do: 'change' }> & { readonly updates: number },
): Promise<{ readonly changes: Moments; readonly result: WatchResult; readonly followed: Followed }> {
  await using run = await synced(bench, side, FLEET, true);
  // What is compiled on the way is not measured.
  const warm = await bench.change({ updates: 2 * FLEET, noise: how.noise ?? 0 });
  await bench.tell(run.watcher, { do: 'collect', requests: warm.machines.length, patienceMs: QUIET_MS });
  const changes = await bench.change(how);
  const patienceMs = (how.resetEveryMs ?? 0) > 0 ? 2 * QUIET_MS : QUIET_MS;
  const requests = (how.resetEveryMs ?? 0) > 0 ? Number.MAX_SAFE_INTEGER : changes.machines.length;
  const result = await bench.tell(run.watcher, { do: 'collect', requests, patienceMs });
  return { changes, result, followed: follow(changes, result) };
}

async function flatOut(bench: Bench): Promise<void> {
  const rate: Record<Side, number[]> = { ours: [], peer: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of ['ours', 'peer'] as const) {
      const { changes, result } = await stream(bench, side, { updates: 20_000 });
      rate[side].push((changes.at.length * 1e6) / ((result.at.at(-1) ?? Number.NaN) - (changes.at[0] ?? Number.NaN)));
    }
  }
  const figure = { bench: 'watch', case: 'flat out', metric: 'updates', unit: '/s', lowerIsBetter: false } as const;
  bench.report(compared({ ...figure, ours: median(rate.ours), peer: median(rate.peer), goal: 1.5 }));
}

async function noise(bench: Bench): Promise<void> {
  const updates = 10_000;
  const cpu: Record<Side, number[]> = { ours: [], peer: [] };
  let surplus = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of ['ours', 'peer'] as const) {
      const { result, followed } = await stream(bench, side, { updates, noise: 0.99 });
      cpu[side].push((result.cpuSeconds * 1e6) / updates);
      if (side === 'ours') surplus += followed.surplus + followed.lost;
    }
  }
  const figure = { bench: 'watch', case: '99 % noise', lowerIsBetter: true } as const;
  bench.report({ ...figure, metric: 'for noise', unit: 'requests', ours: surplus, goal: 0 });
  bench.report(
    compared({
      ...figure,
      metric: 'CPU / 1000',
      unit: 'ms',
      ours: median(cpu.ours),
      peer: median(cpu.peer),
      goal: 0.3,
    }),
  );
}

async function resets(bench: Bench): Promise<void> {
  const lost: Record<Side, number> = { ours: 0, peer: 0 };
  for (const side of ['ours', 'peer'] as const)
    lost[side] = (await stream(bench, side, { updates: 12_000, perSecond: 200, resetEveryMs: 5_000 })).followed.lost;
  const figure = { bench: 'watch', case: 'cut every 5 s, 1 min', unit: 'changes', lowerIsBetter: true } as const;
  // No ratio of the two: one of them is nothing.
  bench.report({ ...figure, metric: 'lost', ours: lost.ours, peer: lost.peer, goal: 0 });
}
