import { BootImage, BootImagePolicy, ConfigMap, Machine, MachineSet, Node, Secret } from '@drydock/api';
import { goldenName, goldenNamespace, type Platform, vspherePlatform } from '@drydock/boot-images';
import {
  computed,
  fakeCluster,
  infrastructure,
  type MachineFate,
  machineActor,
  machineSet,
  newRelease,
  type OperatorProcess,
  type OperatorProcessOptions,
  oldRelease,
  operatorProcess,
  stream,
} from '@drydock/boot-images/testing';
import { type KubeObject, keyOf, type Resource } from '@drydock/kube';
import type { MemoryKubeClient } from '@drydock/kube/testing';
import { type VirtualClock, virtualClock } from '@drydock/model';
import { templateStore } from '@drydock/templates';
import { memoryLedger, memoryOva, TEST_KEYS, testUptime } from '@drydock/templates/testing';
import { type MemoryClient, memoryInventory } from '@drydock/vsphere/testing';
import { KEEP, type LedgerWorld, type WayLedger, wayLedger } from './way-ledger.ts';

const server = 'vcenter.test';
const FOLDER = '/DC0/vm/ocp';
const BEGIN = Date.UTC(2026, 7, 2);
/** What the installer left, what the cluster has, what it is on its way to, and what comes then. */
export const RELEASES: readonly [string, string, string, string] = [
  oldRelease,
  newRelease,
  '9.9.20261001-0',
  '9.9.20261101-0',
];

/** How templates are published, and how many sets there are on one name. */
export interface WayOptions {
  readonly publication: 'pointer' | 'swap';
  readonly sets: number;
}

/** A cluster and its vCenter in memory, between them whatever processes a model runs. */
export interface WayWorld extends WayOptions, LedgerWorld {
  readonly clock: VirtualClock;
  readonly ledger: WayLedger;
  /** The ownership ledger in the cluster. */
  readonly records: ReturnType<typeof memoryLedger>;
  /** What becomes of machines of a release, where they do not boot. */
  readonly fates: Map<string, MachineFate>;
  /** Deeds of others so far. */
  readonly done: Set<string>;
  /** Sessions of whoever runs as the operator. */
  readonly operators: WeakSet<object>;
  /** Processes so far. */
  runs: number;
}

/** What a process that acts on a world has of its own, so that it can die. */
export interface WayProcess {
  readonly id: string;
  readonly client: MemoryKubeClient;
  readonly session: MemoryClient;
  readonly platform: (publication: 'pointer' | 'swap') => Platform;
  readonly kill: () => void;
}

const labels = { 'machine.openshift.io/cluster-api-cluster': 'c1' };
const tag = { name: 'c1-abcde', category: 'openshift-c1-abcde' } as const;
const workspace = {
  ...{ server, datacenter: 'DC0', datastore: '/DC0/datastore/DS0', resourcePool: '/DC0/host/C0/Resources' },
  ...{ folder: FOLDER, vmGroup: '' },
};
/** What a copy of a world takes along; the rest never changes. */
const KINDS: readonly Resource<KubeObject>[] = [BootImage, BootImagePolicy, Machine, MachineSet, Node];

/** The stream of a release: another image each. */
export function streamFor(release: string): string {
  const digest = Buffer.from(release).toString('hex').padEnd(64, '0').slice(0, 64);
  return stream.replaceAll(newRelease, release).replace('"AB"', `"${digest}"`).replace('rhcos.ova', `${release}.ova`);
}

/** Sets on the installer's image, of which the cluster has another by now. */
export async function wayWorld(options: WayOptions): Promise<WayWorld> {
  const world = emptyWorld(options);
  const { cluster, inventory, names } = world;
  inventory.add(inventory.at(FOLDER), {
    ...{ name: computed, template: true, createDate: new Date(BEGIN - 40 * 86_400_000).toISOString(), tags: [] },
    productVersion: oldRelease,
  });
  for (const name of names) cluster.client.put(MachineSet, workers(name));
  world.ledger.watch();
  await operate(world);
  // From here on images are tried first, and another release is wanted.
  cluster.client.put(BootImagePolicy, {
    metadata: { name: 'gold', uid: 'p-1', generation: 1 },
    spec: { canary: { mode: 'Machine' } },
  });
  wantRelease(world, RELEASES[2]);
  return world;
}

/** A world that goes on by itself from where this one is. */
export function copyWay(from: WayWorld): WayWorld {
  const world = emptyWorld(from, from);
  world.clock.advance(from.clock.now() - world.clock.now());
  world.cluster.clock = from.cluster.clock;
  const { cluster } = from.cluster.client;
  const objects = Object.entries(cluster.snapshot());
  for (const resource of KINDS) {
    const kind = resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
    for (const [id, one] of objects) if (id.startsWith(`${kind} `)) world.cluster.client.put(resource, one);
  }
  wantRelease(world, from.release);
  for (const [release, fate] of from.fates) world.fates.set(release, fate);
  for (const deed of from.done) world.done.add(deed);
  world.runs = from.runs;
  world.ledger.take(from.ledger);
  world.ledger.watch();
  return world;
}

/** Everything that a later process depends on, as text. Random identities are replaced by where they stand. */
export function stateOfWay({ cluster, inventory, clock, ledger, records, fates, done, release }: WayWorld): string {
  const { machines, leases } = inventory.state;
  const objects = Object.entries(cluster.client.cluster.snapshot()).filter(([id]) =>
    KINDS.some(({ plural }) => id.startsWith(`${plural}.`) || id.startsWith(`${plural} `)),
  );
  const said = [objects, [...machines.values()], [...leases.values()], [...fates], [...done].toSorted(), release];
  const text = JSON.stringify([...said, [...records.texts], ledger.state()], (key, value: unknown) => {
    if (key === 'resourceVersion') return undefined;
    return value instanceof Map || value instanceof Set ? [...value] : value;
  });
  const identities = new Map<string, string>();
  const named = text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (uuid) => {
    const known = identities.get(uuid) ?? `#${identities.size}`;
    identities.set(uuid, known);
    return known;
  });
  const keys = new Map<string, string>();
  const plain = named
    .replaceAll(KEY, (key) => {
      const begin = key.slice(0, 12);
      const known = keys.get(begin) ?? `key ${keys.size}`;
      keys.set(begin, known);
      return key === begin ? `begin of ${known}` : known;
    })
    .replaceAll(/-retired-[0-9a-f]{8}/g, '-retired-*')
    .replaceAll(/process-\d+/g, 'process-*')
    .replaceAll(/[0-9a-f]{12}:[\w-]{43}/g, 'code')
    .replaceAll(/session-\d+/g, 'session-*');
  return `${clock.now()} ${plain}`;
}

/** An identity key, or how one begins. */
const KEY = /(?<![\w-])[0-9a-f]{12}(?:[0-9a-f]{20})?(?!\w)/g;

/** Another process, with sessions of its own. */
export function processOf(world: WayWorld): WayProcess {
  world.runs += 1;
  const id = `process-${world.runs}`;
  const { cluster, inventory, clock, records } = world;
  const client = cluster.client.cluster.client();
  const session = inventory.client();
  const store = templateStore({
    ...{ vcenters: async () => session, cacheDir: '/nonexistent', clock, markKeys: async () => TEST_KEYS },
    ...{ ledger: records, uptime: testUptime(clock) },
    ovas: { open: (image, call) => memoryOva({ version: image.release }).open(image, call) },
  });
  return {
    ...{ id, client, session },
    platform: (publication) =>
      vspherePlatform({ store, publication, retain: KEEP, holder: id, holderIsLive: (holder) => holder === id }),
    kill: () => {
      client.kill();
      session.kill();
    },
  };
}

/** The operator as this process runs it. */
export function operatorOf(
  { cluster, publication, operators }: WayWorld,
  { client, session, platform }: WayProcess,
  mistake: OperatorProcessOptions['mistake'],
): OperatorProcess {
  operators.add(client).add(session);
  const vsphere = platform(publication);
  const own = mistake === undefined ? {} : { mistake };
  return operatorProcess(cluster, { client, platforms: new Map([[vsphere.type, vsphere]]), ...own });
}

/** A process of the operator that nothing befalls, until it has nothing to do for a while. */
export async function operate(
  world: WayWorld,
  mistake?: OperatorProcessOptions['mistake'],
  process: WayProcess = processOf(world),
): Promise<void> {
  const operator = operatorOf(world, process, mistake);
  for (let quiet = 0, passes = 0; quiet < 2; passes += 1) {
    if (passes > 60) throw new Error('the operator does not come to an end');
    const before = changesOf(world);
    const { after = 1_000 } = (await operator.pass()) ?? {};
    for (let round = 0; round < 20 && tries(world) && (await world.actor.round()); round += 1);
    await world.ledger.look();
    pass(world, after);
    quiet = changesOf(world) === before ? quiet + 1 : 0;
  }
}

/** Time goes by, as long as somebody waits for it: a canary that does not come up is waited for in few steps. */
export function pass(world: WayWorld, after: number): void {
  const ms = tries(world) ? 300_000 : Math.min(after, 61_000);
  world.cluster.clock += ms;
  world.clock.advance(ms);
}

function tries({ cluster }: WayWorld): boolean {
  return [...cluster.client.objects].some(([id]) => id.startsWith('machines '));
}

function changesOf({ cluster, inventory }: WayWorld): string {
  return `${cluster.client.cluster.version} ${[...inventory.state.machines.values()].map(({ name, isTemplate, changes }) => [name, isTemplate, changes].join()).join(';')}`;
}

/** The cluster's release asks for another image. */
export function wantRelease(world: WayWorld, release: string): void {
  world.release = release;
  const metadata = { namespace: goldenNamespace, name: goldenName };
  world.cluster.client.put(ConfigMap, { metadata, data: { stream: streamFor(release) } });
}

/** The set as it is stored. */
export function setNamed({ cluster }: WayWorld, name: string): MachineSet {
  const found = cluster.client.peek(MachineSet, keyOf(machineSet(name)));
  if (found === undefined) throw new TypeError(`there is no set ${name}`);
  return found;
}

function workers(name: string): MachineSet {
  const set = machineSet(name, { workspace }, { uid: `uid-${name}` });
  const own = { ...labels, 'machine.openshift.io/cluster-api-machineset': name };
  const spec = { selector: { matchLabels: own }, template: { ...set.spec?.template, metadata: { labels: own } } };
  return { ...set, apiVersion: 'machine.openshift.io/v1beta1', kind: 'MachineSet', spec } as MachineSet;
}

function emptyWorld({ publication, sets }: WayOptions, like?: WayWorld): WayWorld {
  const clock = virtualClock({ auto: true, start: BEGIN });
  const from = like === undefined ? {} : { from: like.inventory.state };
  const records = memoryLedger('cluster', new Map(like?.records.texts));
  const inventory = memoryInventory({ now: () => clock.now(), server, folders: [FOLDER], tags: [tag], ...from });
  const cluster = fakeCluster({
    ...{ publication, sets: [], stream: streamFor(newRelease), collectAfterMs: 60_000 },
    infrastructure: infrastructure((spec) => ({
      ...spec,
      platformSpec: {
        type: 'VSphere',
        vsphere: {
          vcenters: [{ server, datacenters: ['DC0'] }],
          failureDomains: [
            {
              ...{ name: 'fd1', region: 'r', zone: 'z', server },
              topology: {
                ...{ datacenter: 'DC0', computeCluster: '/DC0/host/C0', datastore: workspace.datastore },
                ...{ resourcePool: workspace.resourcePool, networks: ['VM Network'] },
                template: `${FOLDER}/${computed}`,
              },
            },
          ],
        },
      },
    })),
  });
  cluster.client.put(Secret, {
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: { [`${server}.username`]: 'dQ==', [`${server}.password`]: 'cA==' },
  });
  cluster.client.cluster.onCall = undefined;
  const names = Array.from({ length: sets }, (_, at) => `wk-${'abc'[at]}`);
  const fates = new Map<string, MachineFate>();
  const bearing = (name: string) => [...inventory.state.machines.values()].filter((one) => one.name === name);
  const actor = machineActor({
    client: cluster.client.cluster.client(),
    templates: (name) => bearing(name).length,
    fate: ({ spec }) => {
      const [template] = bearing(String(spec?.providerSpec?.value?.['template']));
      return fates.get(template?.productVersion ?? '') ?? 'boots';
    },
  });
  const world: Omit<WayWorld, 'ledger'> = {
    ...{ publication, sets, cluster, inventory, clock, records, names, actor, fates },
    ...{ release: newRelease, done: new Set<string>(), operators: new WeakSet(), runs: 0 },
  };
  return Object.assign(world, { ledger: wayLedger(world) });
}
