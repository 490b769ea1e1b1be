import { join } from 'node:path';
import { scratchFolder, startSandbox } from '@drydock/sandbox';
import { deployedMemory } from '../deployed.ts';
import { type Benchmark, compared, median } from '../measure.ts';
import { buildPeer } from '../peer.ts';
import { startOurWorker, startWorker, type Worker } from '../worker.ts';
import type { ReleaseJob, ReleaseResult } from './job.ts';
import { DEFINITIONS, MANIFESTS, type WrittenPayload, writePayload } from './payload.ts';

/** A server that is fresh for each makes them vary by a tenth. */
const ROUNDS = 9;
/** Attempts at a release that is complete: the first finds out what the server has filled in, those after it are what holding costs. */
const HOLDS = 4;

type Side = 'ours' | 'peer';
type Runner = Worker<ReleaseJob, ReleaseResult>;

interface Round {
  readonly first: ReleaseResult;
  /** The last one. */
  readonly hold: ReleaseResult;
}

/** A payload that is applied and held, against client-go in upstream's way, each on a fresh API server. */
export const benchmark: Benchmark = {
  name: 'release',
  about: `a payload of ${MANIFESTS} manifests, ${DEFINITIONS} of them definitions, on a real API server, against client-go in upstream's way; medians of ${ROUNDS} rounds`,
  async run(report, signal) {
    using folder = scratchFolder();
    const payload = await writePayload(folder.path);
    const peer = await buildPeer('release', signal);
    const rounds: Record<Side, Round[]> = { ours: [], peer: [] };
    const started = (side: Side): Promise<Runner> | Runner =>
      side === 'peer'
        ? startWorker<ReleaseJob, ReleaseResult>(peer)
        : startOurWorker<ReleaseJob, ReleaseResult>(
            join(import.meta.dirname, 'ours.ts'),
            [],
            deployedMemory('release'),
          );
    for (let round = 0; round < ROUNDS; round += 1)
      for (const side of round % 2 === 0 ? (['ours', 'peer'] as const) : (['peer', 'ours'] as const)) {
        await using worker = await started(side);
        rounds[side].push(await oneRound(worker, payload, signal));
      }
    const of = (side: Side, pick: (round: Round) => number): number => median(rounds[side].map(pick));
    const both = (pick: (round: Round) => number) => ({ ours: of('ours', pick), peer: of('peer', pick) });
    const common = { bench: 'release', lowerIsBetter: true } as const;
    for (const [name, pick] of [
      ['first apply', (round: Round) => round.first],
      ['nothing changed', (round: Round) => round.hold],
    ] as const) {
      const figure = { ...common, case: name } as const;
      report(compared({ ...figure, metric: 'wall', unit: 's', ...both((one) => pick(one).seconds), goal: 1 }));
      report(compared({ ...figure, metric: 'CPU', unit: 's', ...both((one) => pick(one).cpuSeconds) }));
      const requests = both((one) => pick(one).requests);
      const goal = name === 'nothing changed' ? { goal: 0.1 } : {};
      report(compared({ ...figure, metric: 'requests', unit: '', ...requests, ...goal }));
    }
    const rssMB = (side: Side): number => Math.max(...rounds[side].map(({ hold }) => hold.rssMB));
    const rss = { ...common, case: 'both', metric: 'peak RSS', unit: 'MB', goal: 150 } as const;
    report({ ...rss, ours: rssMB('ours'), peer: rssMB('peer') });
    const loads: ReleaseResult[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await using worker = await started('ours');
      const { layout, signatures, ring } = payload;
      const loaded = await worker.run({ do: 'load', layout, signatures, ring }, signal);
      loads.push(check(loaded));
    }
    const load = { ...common, case: 'load and verify', unit: 's' } as const;
    report({ ...load, metric: 'wall', goal: 1, ours: median(loads.map(({ seconds }) => seconds)) });
    report({ ...load, metric: 'CPU', ours: median(loads.map((one) => one.cpuSeconds)) });
  },
};

async function oneRound(worker: Runner, { folder }: WrittenPayload, signal: AbortSignal): Promise<Round> {
  await using sandbox = await startSandbox();
  const { kubeconfig, admin: server } = sandbox;
  await worker.run({ do: 'read', folder }, signal);
  const apply = async (mode: 'initializing' | 'reconciling'): Promise<ReleaseResult> =>
    check(await worker.run({ do: 'apply', kubeconfig, server, mode }, signal));
  const first = await apply('initializing');
  let hold = first;
  for (let at = 0; at < HOLDS; at += 1) hold = await apply('reconciling');
  return { first, hold };
}

function check(result: ReleaseResult): ReleaseResult {
  if (result.manifests !== MANIFESTS) throw new Error(`bench: ${result.manifests} manifests instead of ${MANIFESTS}`);
  return result;
}
