import fs from 'node:fs';
import { rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Benchmark, compared, type Figure, median } from '../measure.ts';
import { buildPeer } from '../peer.ts';
import { startWorker, type Worker } from '../worker.ts';
import { contentOf, type DurableJob, type DurableResult, fileName, POD } from './job.ts';
import { directoryOn, type Medium, slowDisk } from './medium.ts';

const WARM_UPS = 2;
const ROUNDS = 11;
const FLUSH_MS = 2;
const SLOW = `${FLUSH_MS} ms flush`;
const BYTES = 2048;
const OBJECTS = 40;
const FILES_OF_OBJECT = 3;

/** The sides: ours with as many threads as `drydock-node` gives itself, ours with as many as Node does, and the peer. */
const SIDES = ['pool 64', 'pool 4', 'peer'] as const;
type Side = (typeof SIDES)[number];
type Workers = Readonly<Record<Side, Worker<DurableJob, DurableResult>>>;
type Runs = Readonly<Record<Side, (DurableResult & { readonly flushes: number | undefined })[]>>;

/** Something to make durable, and how long ours may take in terms of the peer's time. */
interface Case {
  readonly name: string;
  job(root: string, generation: number): DurableJob;
  readonly goals: Readonly<Record<string, Partial<Record<Side, number>>>>;
}

const CASES: readonly Case[] = [
  { name: '1 file', job: directoryOf(1), goals: {} },
  { name: '10 files', job: directoryOf(10), goals: {} },
  { name: '50 files', job: directoryOf(50), goals: { [SLOW]: { 'pool 64': 0.15, 'pool 4': 0.6 } } },
  {
    name: '200 files',
    job: directoryOf(200),
    goals: { [SLOW]: { 'pool 64': 0.12, 'pool 4': 0.6 }, tmpfs: { 'pool 64': 1.3 } },
  },
  {
    name: 'revision',
    job: (root, generation) => ({
      ...{ do: 'revision', root: join(root, 'node'), generation },
      ...{ objects: OBJECTS, files: FILES_OF_OBJECT, bytes: BYTES },
    }),
    goals: { [SLOW]: { 'pool 64': 0.1, 'pool 4': 0.6 } },
  },
];

/** Durable directories and revisions against a Go worker that makes the same calls in library-go's order, on three media. */
export const benchmark: Benchmark = {
  name: 'durable',
  about: `durable directories and revisions (${OBJECTS} objects × ${FILES_OF_OBJECT} files) against library-go's order in Go; ${machine()}, medians of ${ROUNDS} rounds`,
  async run(report, signal) {
    const [peer, server] = [await buildPeer('durable', signal), await buildPeer('slow-disk', signal)];
    await using stack = new AsyncDisposableStack();
    const ours = (threads: string): Worker<DurableJob, DurableResult> =>
      stack.use(startWorker(process.execPath, [join(import.meta.dirname, 'ours.ts')], { UV_THREADPOOL_SIZE: threads }));
    const workers = { 'pool 64': ours('64'), 'pool 4': ours('4'), peer: stack.use(startWorker(peer)) } as Workers;
    for (const open of [
      () => directoryOn('disk', tmpdir()),
      () => directoryOn('tmpfs', '/dev/shm'),
      () => slowDisk(SLOW, server, FLUSH_MS),
    ]) {
      await using medium = await open();
      for (const one of CASES)
        for (const figure of figures(medium, one, await rounds(medium, one, workers, signal))) report(figure);
    }
  },
};

function machine(): string {
  return `${cpus().length} cores of ${cpus()[0]?.model ?? 'an unknown kind'}`;
}

function directoryOf(files: number): Case['job'] {
  return (root, generation) => ({
    ...{ do: 'directory', files, bytes: BYTES, generation },
    target: join(root, 'secrets', `of-${files}`),
    staging: join(root, 'staging', 'bench', 'secrets', `of-${files}`),
  });
}

/** All sides in turn, another one first each time. */
async function rounds(medium: Medium, one: Case, workers: Workers, signal: AbortSignal): Promise<Runs> {
  const runs: Runs = { 'pool 64': [], 'pool 4': [], peer: [] };
  for (let round = 0; round < WARM_UPS + ROUNDS; round++) {
    for (let turn = 0; turn < SIDES.length; turn++) {
      const side = SIDES[(round + turn) % SIDES.length] ?? 'peer';
      const job = one.job(join(medium.root, side), round + 1);
      await medium.settle();
      const before = medium.flushes();
      const result = await workers[side].run(job, signal);
      const after = medium.flushes();
      check(job);
      if (job.do === 'revision') await removeRevision(job);
      const flushes = before === undefined || after === undefined ? undefined : after - before;
      if (round >= WARM_UPS) runs[side].push({ ...result, flushes });
    }
  }
  return runs;
}

/** What a side says to have written must be there, the last file of all. */
function check(job: DurableJob): void {
  const dir = job.do === 'directory' ? job.target : join(revisionDir(job), 'configmaps', `object-${job.objects - 1}`);
  const wanted = contentOf(job.generation, job.files - 1, job.bytes);
  const found = fs.readFileSync(join(dir, fileName(job.files - 1)), 'utf8');
  if (fs.readdirSync(dir).length !== job.files || found !== wanted)
    throw new Error(`bench: ${dir} does not hold what was to be written`);
  if (job.do === 'revision' && !fs.existsSync(join(job.root, 'manifests', `${POD}.yaml`)))
    throw new Error(`bench: there is no manifest in ${job.root}`);
}

/** The next round installs another one; on a node it is the pruner that removes the old ones. */
async function removeRevision(job: DurableJob & { do: 'revision' }): Promise<void> {
  await rm(revisionDir(job), { recursive: true });
}

function revisionDir({ root, generation }: DurableJob & { do: 'revision' }): string {
  return join(root, 'resources', `${POD}-${generation}`);
}

function figures(medium: Medium, one: Case, runs: Runs): readonly Figure[] {
  const found: Figure[] = [];
  const wall = (side: Side): number => median(runs[side].map(({ wallMs }) => wallMs));
  const flushes = (side: Side): number => median(runs[side].map((result) => result.flushes ?? Number.NaN));
  const fsyncs = (side: Side): number => median(runs[side].map((result) => result.fsyncs));
  const common = { bench: 'durable', case: `${medium.name}, ${one.name}`, lowerIsBetter: true } as const;
  for (const side of ['pool 64', 'pool 4'] as const) {
    const goal = one.goals[medium.name]?.[side];
    const of = { metric: side, unit: 'ms', ours: wall(side), peer: wall('peer') };
    found.push(compared({ ...common, ...of, ...(goal !== undefined && { goal }) }));
  }
  // Memory has no flushes, and ours does not sync there.
  if (medium.flushes() === undefined) return found;
  const counted = (metric: string, ours: number, peer: number): Figure => ({ ...common, metric, unit: '', ours, peer });
  found.push(counted('flushes, 64', flushes('pool 64'), flushes('peer')));
  found.push(counted('flushes, 4', flushes('pool 4'), flushes('peer')));
  found.push(counted('fsyncs', fsyncs('pool 64'), fsyncs('peer')));
  return found;
}
