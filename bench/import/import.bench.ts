import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectSwitchboard, startSandbox, type VCenterEndpoint } from '@drydock/sandbox';
import { type TestOva, writeTestOva } from '@drydock/templates/testing';
import { type Benchmark, compared, type Figure, median } from '../measure.ts';
import { buildPeer } from '../peer.ts';
import { startOurWorker, startWorker, type Worker } from '../worker.ts';
import type { ImportJob, ImportResult } from './job.ts';

const DISK_BYTES = 1 << 30;
const ROUNDS = 3;
const TAG = 'bench';
const FOLDER = '/DC0/vm/bench';

type Importer = Worker<ImportJob, ImportResult>;

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
    const workers = {
      ours: stack.use<Importer>(await startOurWorker(join(import.meta.dirname, 'ours.ts'))),
      peer: stack.use<Importer>(startWorker(peer)),
    };
    const { ours, theirs } = await rounds(workers, sandbox.vcenter, ova, signal);
    for (const figure of figures(ours, theirs)) report(figure);
  },
};

async function rounds(
  workers: { readonly ours: Importer; readonly peer: Importer },
  vcenter: VCenterEndpoint,
  ova: TestOva,
  signal: AbortSignal,
): Promise<{ readonly ours: readonly ImportResult[]; readonly theirs: readonly ImportResult[] }> {
  const { url, user, password, ca } = vcenter;
  const switchboard = connectSwitchboard(vcenter.switchboard);
  await switchboard.createFolder(FOLDER, { signal });
  await switchboard.createTag({ category: TAG, name: TAG }, { signal });
  const job = (name: string): ImportJob => ({
    ...{ url, user, password, ca, ova: ova.path, sha256: ova.sha256, name, tag: TAG, folder: FOLDER },
    datacenter: '/DC0',
    cluster: '/DC0/host/DC0_C0',
    datastore: '/DC0/datastore/LocalDS_0',
    network: '/DC0/network/VM Network',
  });
  const once = async (worker: Importer, name: string): Promise<ImportResult> => {
    const result = await worker.run(job(name), signal);
    // Frees the disk, and proves that there is a template.
    await switchboard.destroyVm(`${FOLDER}/${result.name}`, { signal });
    return result;
  };
  const ours: ImportResult[] = [];
  const theirs: ImportResult[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = [await once(workers.ours, `ours-${round}`), await once(workers.peer, `peer-${round}`)] as const;
    // The first round fills caches and compiles.
    if (round === 0) continue;
    ours.push(pair[0]);
    theirs.push(pair[1]);
  }
  return { ours, theirs };
}

function figures(ours: readonly ImportResult[], theirs: readonly ImportResult[]): readonly Figure[] {
  const both = (
    metric: 'wallSeconds' | 'cpuSeconds' | 'peakRssMB',
    of: (values: readonly number[]) => number,
  ): { readonly ours: number; readonly peer: number } => ({
    ours: of(ours.map((result) => result[metric])),
    peer: of(theirs.map((result) => result[metric])),
  });
  const common = { bench: 'import', case: 'OVA of 1 GiB', lowerIsBetter: true } as const;
  return [
    compared({ ...common, metric: 'wall', unit: 's', ...both('wallSeconds', median), goal: 1 }),
    compared({ ...common, metric: 'CPU', unit: 's', ...both('cpuSeconds', median) }),
    // No ratio: the goal bounds ours, whatever a Go program needs. The highest, since the workers live through all rounds.
    { ...common, metric: 'peak RSS', unit: 'MB', ...both('peakRssMB', (values) => Math.max(...values)), goal: 130 },
  ];
}
