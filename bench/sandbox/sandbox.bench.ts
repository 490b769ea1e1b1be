import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap } from '@drydock/api';
import { createCache, createClient, loadKubeconfig } from '@drydock/kube';
import { type Backend, connectSwitchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import { type TestOva, writeTestOva } from '@drydock/templates/testing';
import type { ImportJob, ImportResult } from '../import/job.ts';
import { type Benchmark, compared, median, percentile } from '../measure.ts';
import { startOurWorker } from '../worker.ts';

const SIDES: readonly Backend[] = ['embedded', 'real'];
const STARTS = 5;
const OBJECTS = 1_000;
const AT_ONCE = 8;
const DISK_BYTES = 256 << 20;
const NAMESPACE = 'default';
const FOLDER = '/DC0/vm/bench';

/** What one start and the work after it took. */
interface Round {
  readonly startSeconds: number;
  readonly memoryMB: number;
  readonly createsPerSecond: number;
  /** From the call that writes to the event, one per update (ms). */
  readonly events: readonly number[];
  readonly importSeconds: number;
}

/** The two back ends of the sandbox, in turn. */
export const benchmark: Benchmark = {
  name: 'sandbox',
  about: `the embedded servers against kube-apiserver, etcd and govmomi's simulator; medians of ${STARTS} starts`,
  async run(report, signal) {
    await using stack = new AsyncDisposableStack();
    const scratch = await mkdtemp(join(tmpdir(), 'drydock-bench-'));
    stack.defer(() => rm(scratch, { recursive: true, force: true }));
    const ova = await writeTestOva(join(scratch, 'image.ova'), { version: '1', diskBytes: DISK_BYTES });
    const rounds: Record<Backend, Round[]> = { embedded: [], real: [] };
    // The first round fills caches and compiles.
    for (let round = 0; round <= STARTS; round++)
      for (const side of SIDES) {
        const measured = await playRound(side, ova, signal);
        if (round > 0) rounds[side].push(measured);
      }
    const of = (pick: (round: Round) => number): { readonly ours: number; readonly peer: number } => ({
      ours: median(rounds.embedded.map(pick)),
      peer: median(rounds.real.map(pick)),
    });
    const figure = { bench: 'sandbox', lowerIsBetter: true } as const;
    // The goals bound ours, whatever the real servers need.
    report({
      ...figure,
      case: 'both servers',
      metric: 'start',
      unit: 's',
      ...of((one) => one.startSeconds),
      goal: 0.3,
    });
    report({ ...figure, case: 'both servers', metric: 'memory', unit: 'MB', ...of((one) => one.memoryMB), goal: 120 });
    report(
      compared({
        ...{ ...figure, case: `${OBJECTS} creates`, metric: 'rate', unit: '/s', lowerIsBetter: false },
        ...of((one) => one.createsPerSecond),
      }),
    );
    for (const [metric, share] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const)
      report(
        compared({
          ...{ ...figure, case: `${OBJECTS} watch events`, metric, unit: 'ms' },
          ...of((one) => percentile(one.events, share)),
        }),
      );
    report(
      compared({
        ...{ ...figure, case: 'import of 256 MiB', metric: 'wall', unit: 's' },
        ...of((one) => one.importSeconds),
      }),
    );
  },
};

async function playRound(backend: Backend, ova: TestOva, signal: AbortSignal): Promise<Round> {
  const began = performance.now();
  await using sandbox = await startSandbox({ backend, vcenter: true, signal });
  const startSeconds = (performance.now() - began) / 1000;
  const memory = memoryOfChildren();
  const objects = await playObjects(sandbox, signal);
  return { startSeconds, memoryMB: memory, ...objects, importSeconds: await playImport(sandbox, ova, signal) };
}

async function playObjects(
  { kubeconfig }: VCenterSandbox,
  signal: AbortSignal,
): Promise<Pick<Round, 'createsPerSecond' | 'events'>> {
  await using client = createClient(await loadKubeconfig({ kubeconfig }));
  const began = performance.now();
  await inLanes(async (index) => {
    await client.create(ConfigMap, { metadata: keyOf(index), data: {} }, { signal });
  });
  const createsPerSecond = (OBJECTS * 1000) / (performance.now() - began);

  const events: number[] = [];
  const all = Promise.withResolvers<void>();
  await using cache = createCache({ client, resource: ConfigMap, where: { namespace: NAMESPACE }, signal });
  await cache.synced;
  using _ = cache.subscribe(({ now, initial }) => {
    const written = Number(now?.data?.['written']);
    if (initial || !(written > 0)) return;
    events.push(performance.now() - written);
    if (events.length === OBJECTS) all.resolve();
  });
  for (let index = 0; index < OBJECTS; index++) {
    const patch = { data: { written: String(performance.now()) } };
    await client.mergePatch(ConfigMap, keyOf(index), patch, { signal });
  }
  await all.promise;
  return { createsPerSecond, events };
}

function keyOf(index: number): { readonly namespace: string; readonly name: string } {
  return { namespace: NAMESPACE, name: `object-${index}` };
}

async function inLanes(work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < OBJECTS) await work(next++);
    }),
  );
}

async function playImport({ vcenter }: VCenterSandbox, ova: TestOva, signal: AbortSignal): Promise<number> {
  const switchboard = connectSwitchboard(vcenter.switchboard);
  await switchboard.createFolder(FOLDER, { signal });
  await switchboard.createTag({ category: 'bench', name: 'bench' }, { signal });
  await using worker = await startOurWorker<ImportJob, ImportResult>(join(import.meta.dirname, '../import/ours.ts'));
  const { url, user, password, ca } = vcenter;
  const { wallSeconds } = await worker.run(
    {
      ...{ url, user, password, ca, ova: ova.path, sha256: ova.sha256, name: 'bench', tag: 'bench', folder: FOLDER },
      ...{ datacenter: '/DC0', cluster: '/DC0/host/DC0_C0', datastore: '/DC0/datastore/LocalDS_0' },
      ...{ network: '/DC0/network/VM Network', beside: false },
    },
    signal,
  );
  return wallSeconds;
}

/** Memory of all processes below this one, shared pages counted in part (Pss), in 10^6 bytes. */
function memoryOfChildren(): number {
  const parents = new Map<string, string>();
  for (const file of globSync('/proc/[0-9]*/stat')) {
    const fields = readable(file).split(') ').at(-1)?.split(' ') ?? [];
    parents.set(file.split('/')[2] ?? '', fields[1] ?? '');
  }
  const isBelow = (pid: string): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === String(process.pid) || isBelow(parent));
  };
  const kibibytes = [...parents.keys()]
    // The bundler of a checkout, which a package does not have, is no server.
    .filter((pid) => isBelow(pid) && !readable(`/proc/${pid}/cmdline`).includes('/esbuild'))
    .map((pid) => Number(/^Pss:\s+(\d+) kB$/m.exec(readable(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0));
  return (kibibytes.reduce((sum, one) => sum + one, 0) * 1024) / 1e6;
}

/** '' where the process is gone. */
function readable(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
