import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectSwitchboard, startSandbox, type VCenterEndpoint } from '@drydock/sandbox';
import { type TestOva, writeTestOva } from '@drydock/templates/testing';
import { deployedMemory } from '../deployed.ts';
import { type Benchmark, compared, type Figure, median } from '../measure.ts';
import { buildPeer } from '../peer.ts';
import { startOurWorker, startWorker, type Worker } from '../worker.ts';
import type { ImportJob, ImportResult } from './job.ts';

const DISK_BYTES = 1 << 30;
const ROUNDS = 3;
const TAG = 'bench';
const FOLDER = '/DC0/vm/bench';

type Importer = Worker<ImportJob, ImportResult>;
/** The peers: the plain way, and one that hashes beside its sending. */
type Side = 'ours' | 'peer' | 'beside';
const SIDES: readonly Side[] = ['ours', 'peer', 'beside'];
type Results = Readonly<Record<Side, readonly ImportResult[]>>;

/** The whole publication of a 1 GiB OVA, digests included, against a Go worker on govmomi's `ovf/importer` that does the same. */
export const benchmark: Benchmark = {
  name: 'import',
  about: `a template from an OVA of 1 GiB, all digests checked, against govmomi's ovf/importer; medians of ${ROUNDS} rounds`,
  async run(report, signal) {
    const peer = await buildPeer('import', signal);
    await using stack = new AsyncDisposableStack();
    const scratch = await mkdtemp(join(tmpdir(), 'drydock-bench-'));
    stack.defer(() => rm(scratch, { recursive: true, force: true }));
    const ova = await writeTestOva(join(scratch, 'image.ova'), { version: '1', diskBytes: DISK_BYTES });
    const sandbox = stack.use(await startSandbox({ vcenter: true, signal }));
    // Only the vCenter is measured: the others would take their share of the machine.
    await Promise.all([sandbox.apiserver.kill(), sandbox.etcd.kill()]);
    const workers: Readonly<Record<Side, Importer>> = {
      ours: stack.use<Importer>(
        await startOurWorker(join(import.meta.dirname, 'ours.ts'), [], deployedMemory('operator')),
      ),
      peer: stack.use<Importer>(startWorker(peer)),
      beside: stack.use<Importer>(startWorker(peer)),
    };
    for (const figure of figures(await rounds(workers, sandbox.vcenter, ova, signal))) report(figure);
  },
};

async function rounds(
  workers: Readonly<Record<Side, Importer>>,
  vcenter: VCenterEndpoint,
  ova: TestOva,
  signal: AbortSignal,
): Promise<Results> {
  const { url, user, password, ca } = vcenter;
  const switchboard = connectSwitchboard(vcenter.switchboard);
  await switchboard.createFolder(FOLDER, { signal });
  await switchboard.createTag({ category: TAG, name: TAG }, { signal });
  const job = (name: string, beside: boolean): ImportJob => ({
    ...{ url, user, password, ca, ova: ova.path, sha256: ova.sha256, name, tag: TAG, folder: FOLDER },
    datacenter: '/DC0',
    cluster: '/DC0/host/DC0_C0',
    datastore: '/DC0/datastore/LocalDS_0',
    network: '/DC0/network/VM Network',
    beside,
  });
  const once = async (side: Side, round: number): Promise<ImportResult> => {
    const result = await workers[side].run(job(`${side}-${round}`, side === 'beside'), signal);
    // Frees the disk, and proves that there is a template.
    await switchboard.destroyVm(`${FOLDER}/${result.name}`, { signal });
    return result;
  };
  const results: Record<Side, ImportResult[]> = { ours: [], peer: [], beside: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    for (const side of SIDES) {
      const result = await once(side, round);
      // The first round fills caches and compiles.
      if (round > 0) results[side].push(result);
    }
  }
  return results;
}

function figures(results: Results): readonly Figure[] {
  const of = (
    side: Side,
    metric: 'wallSeconds' | 'cpuSeconds' | 'peakRssMB',
    from: (values: readonly number[]) => number = median,
  ): number => from(results[side].map((result) => result[metric]));
  const highest = (values: readonly number[]): number => Math.max(...values);
  return (
    [
      ['peer', 'OVA of 1 GiB'],
      ['beside', 'hashing beside sending'],
    ] as const
  ).flatMap(([peer, name]) => {
    const common = { bench: 'import', case: name, lowerIsBetter: true } as const;
    const both = (metric: 'wallSeconds' | 'cpuSeconds') => ({ ours: of('ours', metric), peer: of(peer, metric) });
    const peaks = { ours: of('ours', 'peakRssMB', highest), peer: of(peer, 'peakRssMB', highest) };
    return [
      compared({ ...common, metric: 'wall', unit: 's', ...both('wallSeconds'), goal: 1 }),
      compared({ ...common, metric: 'CPU', unit: 's', ...both('cpuSeconds') }),
      // No ratio: the goal bounds ours, whatever a Go program needs. The highest, since the workers live through all rounds.
      { ...common, metric: 'peak RSS', unit: 'MB', ...peaks, goal: 130 },
    ];
  });
}
