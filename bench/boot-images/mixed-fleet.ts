import { BootImage, MachineSet } from '@drydock/api';
import {
  awsInfrastructure,
  awsOn,
  awsSet,
  type FakeCluster,
  fakeCluster,
  fakeEc2,
  furnishAws,
  publishAmi,
  publishProduct,
  rosa,
  writeBootImages,
} from '@drydock/boot-images/testing';
import { wholeSync } from '../../test/upstream/boot-images-sync.ts';
import { type Benchmark, compared, median } from '../measure.ts';

const FEW = 250;
const MANY = 1000;
const REGIONS = 30;
const ROUNDS = 5;

interface Outcome {
  readonly ms: number;
  /** DescribeImages with ids, and by product. */
  readonly calls: number;
  readonly searches: number;
  readonly patches: number;
  readonly conditions: number;
  /** Status writes of the BootImage that had most. */
  readonly most: number;
}

/** 30 regions of the commercial partition, by number. */
const region = (n: number): string =>
  `us-${['east', 'west', 'north', 'south', 'central'][n % 5]}-${Math.floor(n / 5) + 1}`;
const regions = Array.from({ length: REGIONS }, (_, n) => region(n));
const hex = (n: number): string => n.toString(16).padStart(16, '0');
const target = (n: number): string => `ami-a${hex(n)}`;
/** Images of releases before, three in each region. */
const old = (n: number, release: number): string => `ami-b${hex(n * 8 + release)}`;
const custom = (n: number): string => `ami-c${hex(n)}`;
const sold = (n: number, newer: boolean): string => `ami-d${hex(n * 2 + (newer ? 1 : 0))}`;

const stream = JSON.stringify({
  stream: 'rhcos-bench',
  architectures: {
    x86_64: {
      artifacts: { aws: { release: '9.8.20260802-0' } },
      images: {
        aws: { regions: Object.fromEntries(regions.map((name, n) => [name, { image: target(n) }])) },
      },
    },
  },
});

/** Of twenty sets seventeen have an image of Red Hat, one that of the stream already, one an image of a product, and one somebody's own. */
function currentOf(set: number): string {
  const n = set % REGIONS;
  const kind = Math.floor(set / REGIONS) % 20;
  if (kind === 17) return target(n);
  if (kind === 18) return sold(n, false);
  return kind === 19 ? custom(n) : old(n, kind % 3);
}

const wantedOf = (set: number): string => {
  const [n, current] = [set % REGIONS, currentOf(set)];
  if (current === custom(n)) return current;
  return current === sold(n, false) ? sold(n, true) : target(n);
};

/** A release that moves a fleet in 30 regions of AWS; EC2 is the double of the tests, without a network. */
export const mixedFleet: Benchmark['run'] = async (report, signal) => {
  const rounds = { few: [] as Outcome[], many: [] as Outcome[], peer: [] as Outcome[] };
  const written = await ours(MANY, true);
  // The first round compiles.
  for (let round = 0; round <= ROUNDS; round++) {
    signal.throwIfAborted();
    const [few, many, peer] = [await ours(FEW), await ours(MANY), await upstream(MANY)];
    if (round === 0) continue;
    rounds.few.push(few);
    rounds.many.push(many);
    rounds.peer.push(peer);
  }
  const [many, peer] = [rounds.many[0], rounds.peer[0]];
  if (many === undefined || peer === undefined) return;
  const ms = (of: readonly Outcome[]): number => median(of.map((outcome) => outcome.ms));
  const common = {
    bench: 'boot-images',
    case: `${MANY} in ${REGIONS} regions`,
    unit: '',
    lowerIsBetter: true,
  } as const;
  // No region has more than a hundred images.
  report({ ...common, metric: 'DescribeImages by id', ours: many.calls, peer: peer.calls, goal: REGIONS });
  report({ ...common, metric: 'DescribeImages by product', ours: many.searches, peer: peer.searches, goal: REGIONS });
  report({ ...common, metric: 'patches', ours: many.patches, peer: peer.patches, goal: peer.patches });
  report({ ...common, metric: 'status writes', ours: written.conditions, peer: peer.conditions, goal: 10 });
  report({ ...common, metric: 'writes of a BootImage', ours: written.most, goal: 2 });
  report(compared({ ...common, metric: 'time', unit: 'ms', ours: ms(rounds.many), peer: ms(rounds.peer) }));
  const each = { ours: ms(rounds.many) / MANY, peer: ms(rounds.few) / FEW };
  const linear = { case: `AWS, each of ${MANY} to of ${FEW}`, metric: 'time', unit: 'ms', goal: 1.5 };
  report(compared({ ...common, ...linear, ...each }));
};

/** Both sides' cluster, with the account of what EC2 was asked. */
function fleet(count: number) {
  const { state, answer } = fakeEc2();
  for (let n = 0; n < REGIONS; n += 1) {
    publishAmi(state, { id: target(n) }, region(n));
    for (let release = 0; release < 3; release += 1) publishAmi(state, { id: old(n, release) }, region(n));
    publishAmi(state, { id: custom(n), owner: '123456789012' }, region(n));
    publishProduct(state, sold(n, false), '9.6.20260110-0', { product: rosa }, region(n));
    publishProduct(state, sold(n, true), '9.8.20260110-0', { product: rosa }, region(n));
  }
  const sets = Array.from({ length: count }, (_, n) =>
    awsSet(`set-${n}`, { id: currentOf(n) }, { placement: { region: region(n % REGIONS) } }),
  );
  const aws = awsOn(answer);
  const cluster = fakeCluster({ sets, stream, infrastructure: awsInfrastructure, platform: aws.platform });
  furnishAws(cluster.client, state);
  state.asked.length = 0;
  return { state, aws, cluster };
}

/** The pass that the release wakes, and the one that its own patches wake. */
async function ours(count: number, written: boolean = false): Promise<Outcome> {
  const { state, cluster } = fleet(count);
  // An in-memory server judges each BootImage by its schema, which is no part of what is timed.
  if (written) Object.assign(cluster.ports, writeBootImages(cluster));
  const started = performance.now();
  await cluster.pass({ reason: 'BootImageConfigMapUpdated' });
  await cluster.pass({ reason: 'MAPIMachineSetUpdated' });
  const ms = performance.now() - started;
  check(cluster, count);
  const { writes } = cluster.client;
  const statuses = new Map<string, number>();
  for (const write of writes)
    if (write.startsWith(`status ${BootImage.plural} `)) statuses.set(write, (statuses.get(write) ?? 0) + 1);
  return {
    ...{ ms, ...asked(state.asked), conditions: cluster.conditionWrites.length, most: Math.max(...statuses.values()) },
    patches: writes.filter((write) => write.startsWith('patch machinesets ')).length,
  };
}

/** The same cluster, and the same event: each set asks about its own image, in each sync. */
async function upstream(count: number): Promise<Outcome> {
  const { state, aws, cluster } = fleet(count);
  const { client, ports } = cluster;
  const controller = wholeSync<MachineSet>({
    sets: () => ports.world.machineSets(),
    plan: async (set) => {
      const { ami, placement } = (set.spec?.template?.spec?.providerSpec?.value ?? {}) as {
        readonly ami: { readonly id: string };
        readonly placement: { readonly region: string };
      };
      const owner = await aws.ownerOf(state, placement.region, ami.id);
      if (owner === '123456789012') return undefined;
      const n = regions.indexOf(placement.region);
      const images = owner === '531415883065' ? [target(n)] : await aws.product(state, placement.region, rosa);
      const wanted = images.at(-1);
      return wanted === ami.id ? undefined : wanted;
    },
    patch: async (set, id) => {
      const path = '/spec/template/spec/providerSpec/value/ami';
      await client.patch(MachineSet, set.metadata, [{ op: 'replace', path, value: { id } }]);
    },
    writeStatus: async () => undefined,
  });
  const started = performance.now();
  controller.on('BootImageConfigMapUpdated');
  await controller.idle();
  const ms = performance.now() - started;
  check(cluster, count);
  const { patches, statusWrites } = controller.counts;
  return { ms, ...asked(state.asked), patches, conditions: statusWrites, most: 0 };
}

/** What EC2 was asked: with ids, and without. */
function asked(calls: readonly string[]): Pick<Outcome, 'calls' | 'searches'> {
  const searches = calls.filter((call) => call.endsWith(' DescribeImages')).length;
  return { searches, calls: calls.filter((call) => call.includes(' DescribeImages ')).length };
}

function check(cluster: FakeCluster, count: number): void {
  for (const set of cluster.ports.world.machineSets()) {
    const n = Number(set.metadata.name.slice('set-'.length));
    const ami = set.spec?.template?.spec?.providerSpec?.value?.['ami'];
    if (n < count && JSON.stringify(ami) !== JSON.stringify({ id: wantedOf(n) }))
      throw new Error(`bench: set-${n} has ${JSON.stringify(ami)} in place of ${wantedOf(n)}`);
  }
}
