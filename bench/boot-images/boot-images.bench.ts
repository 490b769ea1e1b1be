import { MachineSet } from '@drydock/api';
import {
  computed,
  type FakeCluster,
  fakeCluster,
  machineSet,
  newRelease,
  published,
} from '@drydock/boot-images/testing';
import { type SyncCounts, wholeSync } from '../../test/upstream/boot-images-sync.ts';
import { type Benchmark, compared, median } from '../measure.ts';
import { mixedFleet } from './mixed-fleet.ts';

const FEW = 250;
const MANY = 1000;
const ROUNDS = 5;

interface Outcome {
  readonly ms: number;
  readonly patches: number;
  readonly statusWrites: number;
}

/** A release that moves every machine set, in memory: what the algorithm costs, without any server. */
export const benchmark: Benchmark = {
  name: 'boot-images',
  about: `a release that moves ${MANY} MachineSets, in memory, against upstream's whole sync per event; medians of ${ROUNDS} rounds`,
  async run(report, signal) {
    const rounds = { few: [] as Outcome[], many: [] as Outcome[], peer: [] as Outcome[] };
    // The first round compiles.
    for (let round = 0; round <= ROUNDS; round++) {
      signal.throwIfAborted();
      const few = await ours(FEW);
      const many = await ours(MANY);
      const peer = await upstream(MANY);
      if (round === 0) continue;
      rounds.few.push(few);
      rounds.many.push(many);
      rounds.peer.push(peer);
    }
    const [many, peer] = [rounds.many[0], rounds.peer[0]];
    if (many === undefined || peer === undefined) return;
    const ms = (of: readonly Outcome[]): number => median(of.map((outcome) => outcome.ms));
    const common = { bench: 'boot-images', case: `${MANY} MachineSets`, lowerIsBetter: true } as const;
    report({ ...common, metric: 'patches', unit: '', ours: many.patches, peer: peer.patches, goal: MANY });
    report({
      ...common,
      metric: 'status writes',
      unit: '',
      ours: many.statusWrites,
      peer: peer.statusWrites,
      goal: 10,
    });
    report(compared({ ...common, metric: 'time', unit: 'ms', ours: ms(rounds.many), peer: ms(rounds.peer) }));
    // Linear: a set among many costs what one among few does.
    const each = { ours: ms(rounds.many) / MANY, peer: ms(rounds.few) / FEW };
    report(
      compared({ ...common, case: `each of ${MANY} to of ${FEW}`, metric: 'time', unit: 'ms', ...each, goal: 1.5 }),
    );
    await mixedFleet(report, signal);
  },
};

/** The pass that the release wakes, and the one that its own patches wake. */
async function ours(count: number): Promise<Outcome> {
  const cluster = fakeCluster({ sets: sets(count) });
  const started = performance.now();
  await cluster.pass({ reason: 'BootImageConfigMapUpdated' });
  await cluster.pass({ reason: 'MAPIMachineSetUpdated' });
  const ms = performance.now() - started;
  check(cluster, count);
  const patches = cluster.client.writes.filter((write) => write.startsWith('patch machinesets ')).length;
  return { ms, patches, statusWrites: cluster.conditionWrites.length };
}

/** The same cluster, and the same event. */
async function upstream(count: number): Promise<Outcome> {
  const cluster = fakeCluster({ sets: sets(count) });
  const { store, client, ports } = cluster;
  let imported = false;
  const controller = wholeSync<MachineSet>({
    sets: () => ports.world.machineSets(),
    plan: async (set) => {
      const template = set.spec?.template?.spec?.providerSpec?.value?.['template'];
      const name = typeof template === 'string' ? template : '';
      const seen = await store.inspect(placement, name);
      if (seen.kind === 'present' && seen.version === newRelease) return undefined;
      if (!imported) await store.publish(wish, { holderIsLive: () => true });
      imported = true;
      return published;
    },
    patch: async (set, template) => {
      const path = '/spec/template/spec/providerSpec/value/template';
      await client.patch(MachineSet, set.metadata, [{ op: 'replace', path, value: template }]);
    },
    writeStatus: async () => undefined,
  });
  const started = performance.now();
  controller.on('BootImageConfigMapUpdated');
  await controller.idle();
  const ms = performance.now() - started;
  check(cluster, count);
  const counts: SyncCounts = controller.counts;
  return { ms, patches: counts.patches, statusWrites: counts.statusWrites };
}

function sets(count: number): readonly MachineSet[] {
  return Array.from({ length: count }, (_, index) => machineSet(`set-${index}`));
}

function check(cluster: FakeCluster, count: number): void {
  for (let index = 0; index < count; index++)
    if (cluster.template(`set-${index}`) !== published) throw new Error(`bench: set-${index} was not moved`);
}

const placement = {
  server: 'vc1',
  failureDomain: 'fd1',
  datacenter: 'dc1',
  folder: '/dc1/vm/c1',
  datastore: '/dc1/datastore/ds1',
  resourcePool: '/dc1/host/c/Resources',
  computeCluster: '/dc1/host/c',
  networks: ['n1'],
};
const wish = {
  cluster: 'cluster-uid',
  base: computed,
  image: { release: newRelease, location: 'https://example/rhcos.ova', sha256: 'ab' },
  placement,
  tagName: 'c1-abcde',
  tagIds: [],
  holder: 'me',
};
