import { KINDS_AT_ONCE } from '@drydock/preflight';
import { build, type Sandbox, scratchFolder, startSandbox } from '@drydock/sandbox';
import { type CommandRun, runCommand } from '../command.ts';
import { type Benchmark, compared, type Figure, median } from '../measure.ts';
import { startWorker, type Worker } from '../worker.ts';
import { COUNT, DEFINITIONS, type Folders, fill, writeDefinitions } from './cluster.ts';
import type { WriteJob, WriteResult } from './job.ts';
import { largePreflight } from './large-preflight.ts';
import { writeReleases } from './releases.ts';

const ROUNDS = 3;
const CHECKS = 7;
/** What the peer is tried with before the rounds; the fastest is taken. Ours chooses for itself. */
const PEER_AT_ONCE = [4, 8, 16, 32];
/** Writes of a trial. */
const TRIAL = 2_000;

/** What a rollback of definitions costs to look at: the files alone, and every stored object. Ours is the command itself. */
export const benchmark: Benchmark = {
  name: 'crd',
  about: `preflight of ${COUNT} stored objects of ${DEFINITIONS} definitions against a dry-run write of each; check of two whole releases`,
  async run(report, signal) {
    await build({ servers: [], crds: ['openshift-4.17', 'openshift-4.21'], signal });
    using scratch = scratchFolder();
    await check(scratch.path, report, signal);
    await largePreflight(scratch.path, report, signal);
    await using sandbox = await startSandbox({ signal });
    const folders = writeDefinitions(scratch.path);
    await fill(sandbox, folders, signal);
    await preflight(sandbox, folders, report, signal);
  },
};

async function check(scratch: string, report: (figure: Figure) => void, signal: AbortSignal): Promise<void> {
  const { old, now, files } = await writeReleases(scratch, signal);
  // The first run leaves compiled code behind: warm is every one after it.
  await runCommand(['crd', 'check', old, now], 3, signal);
  const runs: CommandRun[] = [];
  for (let round = 0; round < CHECKS; round += 1) runs.push(await runCommand(['crd', 'check', old, now], 3, signal));
  const common = { bench: 'crd', case: `check, ${files} files`, lowerIsBetter: true } as const;
  report({ ...common, metric: 'wall', unit: 's', ours: median(runs.map(({ seconds }) => seconds)), goal: 1 });
  report({ ...common, metric: 'CPU', unit: 's', ours: median(runs.map(({ cpuSeconds }) => cpuSeconds)) });
}

async function preflight(
  sandbox: Sandbox,
  folders: Folders,
  report: (figure: Figure) => void,
  signal: AbortSignal,
): Promise<void> {
  const args = [
    'preflight',
    '--to',
    folders.target,
    '--kubeconfig',
    sandbox.kubeconfig,
    '--target-version',
    '1.30',
    '-o',
    'json',
  ];
  const writes = async (atOnce: number, count: number): Promise<WriteResult> => {
    // A process per job: what one leaves behind is no other's.
    const source = new URL('peer.ts', import.meta.url).pathname;
    await using worker: Worker<WriteJob, WriteResult> = startWorker(process.execPath, [source]);
    const { ca, certificate, privateKey, url: server } = sandbox.admin;
    const job = { kubeconfig: sandbox.kubeconfig, server, ca, certificate, privateKey, atOnce, count };
    const result = await worker.run(job, signal);
    if (result.refused > 0) throw new Error(`bench: the server refused ${result.refused} writes of the peer`);
    return result;
  };
  const atOnce = await fastest((tried) => writes(tried, TRIAL));
  const ours: CommandRun[] = [];
  const peer: WriteResult[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await runCommand(['crd', ...args], 3, signal));
    peer.push(await writes(atOnce, COUNT));
    // A short run feels every other load of the machine: one before and one after the long one.
    ours.push(await runCommand(['crd', ...args], 3, signal));
  }
  const { objects, groups } = JSON.parse(ours[0]?.stdout ?? '{}') as { objects: number; groups: readonly unknown[] };
  for (const seen of [objects, ...peer.map((round) => round.writes)])
    if (seen !== COUNT) throw new Error(`bench: ${seen} objects instead of ${COUNT}`);
  const common = { bench: 'crd', case: 'preflight of 10,000', lowerIsBetter: true } as const;
  const seconds = (side: readonly { readonly seconds: number }[]): number => median(side.map((round) => round.seconds));
  report(compared({ ...common, metric: 'wall', unit: 's', ours: seconds(ours), peer: seconds(peer), goal: 0.1 }));
  report({ ...common, metric: 'peak RSS', unit: 'MB', ours: Math.max(...ours.map(({ rssMB }) => rssMB)), goal: 300 });
  report({ ...common, metric: 'CPU', unit: 's', ours: median(ours.map(({ cpuSeconds }) => cpuSeconds)) });
  // What the figures stand for.
  report({ ...common, metric: 'places', unit: '', ours: groups.length });
  report({ ...common, metric: 'at once', unit: '', ours: KINDS_AT_ONCE, peer: atOnce });
}

/** The concurrency with the most writes per second. */
async function fastest(run: (atOnce: number) => Promise<WriteResult>): Promise<number> {
  let best = { atOnce: 1, perSecond: 0 };
  for (const atOnce of PEER_AT_ONCE) {
    const { writes, seconds } = await run(atOnce);
    if (writes / seconds > best.perSecond) best = { atOnce, perSecond: writes / seconds };
  }
  return best.atOnce;
}
