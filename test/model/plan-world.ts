import { BootImagePolicy, MachineSet, Secret } from '@drydock/api';
import {
  type CarriedOut,
  type ClusterPlan,
  carryOut,
  keptSets,
  planCluster,
  vspherePlatform,
} from '@drydock/boot-images';
import {
  computed,
  type FakeClusterOptions,
  infrastructure,
  machineActor,
  machineSet,
  newRelease,
  oldRelease,
  type ReportingCluster,
  reportingCluster,
  stream,
  stub22,
} from '@drydock/boot-images/testing';
import { virtualClock } from '@drydock/model';
import { type TemplateStore, templateStore } from '@drydock/templates';
import { memoryLedger, memoryOva, recordCalls, TEST_KEYS, testUptime, withoutRef } from '@drydock/templates/testing';
import { type MemoryClient, type MemoryInventory, memoryInventory } from '@drydock/vsphere/testing';

const server = 'vcenter.test';
const tag = { name: 'c1-abcde', category: 'openshift-c1-abcde' } as const;
const FOLDERS = ['/DC0/vm/ocp', '/DC0/vm/ocp2'] as const;
const DAY = 86_400_000;
const BEGIN = Date.UTC(2026, 7, 2);

/** A cluster in memory, its vCenter in memory, and the program's own store between them. */
export interface PlanWorld {
  readonly cluster: ReportingCluster;
  readonly inventory: MemoryInventory;
  readonly names: readonly string[];
  /** Of all sets. */
  plan(): Promise<ClusterPlan>;
  /** A process of its own carries the plan out. `dies`: with its so-many-th call that changes something in vCenter or the API server. `during`: told of each call to vCenter, before it is made. */
  carryOut(plan: ClusterPlan, dies?: number, during?: (call: string) => void): Promise<CarriedOut | 'died'>;
  /** An operator runs until it has nothing to do for a while. */
  operate(): Promise<void>;
  /** Machines in the cluster. */
  machines(): Promise<readonly string[]>;
  /** What was really called to change something, as a plan says it: the vCenter's calls, then the API server's; reports of sets are none. */
  executed(): Executed;
  /** Forgets what was called so far. */
  forget(): void;
}

/** Calls that change something. */
export interface Executed {
  readonly vcenter: readonly string[];
  readonly api: readonly string[];
}

/** What a world is made of; chosen by a seed. */
export interface PlanWorldOptions {
  readonly publication: 'pointer' | 'swap';
  /** Sets, by what they start from and in which folder they make machines. */
  readonly sets: readonly { readonly template: 'installer' | 'absent' | 'ours'; readonly folder: 0 | 1 }[];
  /** What stands under the installer's name. */
  readonly installer: 'old' | 'new' | 'absent';
  /** Earlier releases that were published here, of which nothing needs more than two. */
  readonly earlier: number;
  readonly oldStub: boolean;
  readonly canary: boolean;
  /** Sets that somebody opted out. */
  readonly out: number;
}

const workspace = (folder: 0 | 1): object => ({
  ...{ server, datacenter: 'DC0', datastore: '/DC0/datastore/DS0', resourcePool: '/DC0/host/C0/Resources' },
  ...{ folder: FOLDERS[folder], vmGroup: '' },
});

const labels = { 'machine.openshift.io/cluster-api-cluster': 'c1', 'machine.openshift.io/cluster-api-machineset': 'x' };

function workers(name: string, template: string, folder: 0 | 1, out: boolean): MachineSet {
  const annotations = { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=amd64' };
  const metadata = { annotations: { ...annotations, ...(out ? { 'drydock.dev/boot-image': 'Disabled' } : {}) } };
  const set = machineSet(name, { template, workspace: workspace(folder) }, metadata);
  const own = { ...labels, 'machine.openshift.io/cluster-api-machineset': name };
  const spec = { selector: { matchLabels: own }, template: { ...set.spec?.template, metadata: { labels: own } } };
  return { ...set, apiVersion: 'machine.openshift.io/v1beta1', kind: 'MachineSet', spec } as MachineSet;
}

/** See {@link PlanWorld}. */
export async function planWorld(options: PlanWorldOptions): Promise<PlanWorld> {
  const clock = virtualClock({ auto: true, start: BEGIN - 300 * DAY });
  const inventory = memoryInventory({ now: () => clock.now(), server, folders: FOLDERS, tags: [tag] });
  const names = options.sets.map((_, at) => `wk-${at}`);
  const clusterOptions: FakeClusterOptions = {
    publication: options.publication,
    stream: stream.replace('"AB"', `"${'ab'.repeat(32)}"`),
    sets: [],
    ...(options.oldStub ? { userData: stub22 } : {}),
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
                ...{ datacenter: 'DC0', computeCluster: '/DC0/host/C0', datastore: '/DC0/datastore/DS0' },
                ...{ resourcePool: '/DC0/host/C0/Resources', networks: ['VM Network'] },
                template: `/DC0/vm/ocp/${computed}`,
              },
            },
          ],
        },
      },
    })),
    collectAfterMs: 60_000,
  };
  const cluster = reportingCluster(clusterOptions);
  const { client } = cluster.cluster;
  client.put(Secret, {
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: { [`${server}.username`]: 'dQ==', [`${server}.password`]: 'cA==' },
  });

  /** In the cluster, for all processes. */
  const ledger = memoryLedger('cluster');
  /** One process's store. */
  const process = (identity: string): { readonly store: TemplateStore; readonly session: MemoryClient } => {
    const session = inventory.client();
    const ovas = memoryOva({ version: newRelease });
    const store = templateStore({
      ...{ vcenters: async () => session, cacheDir: '/nonexistent', clock, ovas, markKeys: async () => TEST_KEYS },
      ...{ ledger, uptime: testUptime(clock) },
    });
    cluster.restart();
    const platform = vspherePlatform({
      ...{ store, publication: options.publication, retain: 1 },
      ...{ holder: identity, holderIsLive: (holder) => holder === identity },
    });
    (cluster.cluster.ports.platforms as Map<string, typeof platform>).set('VSphere', platform);
    return { store, session };
  };

  const before = process('before');
  const released = new Map<number, string>();
  for (const [at, folder] of FOLDERS.entries()) {
    if (options.installer !== 'absent' || options.sets.some((set) => set.template === 'installer'))
      inventory.add(inventory.at(folder), {
        ...{ name: computed, template: true, createDate: new Date(BEGIN - 400 * DAY).toISOString(), tags: [] },
        productVersion: options.installer === 'new' ? newRelease : oldRelease,
      });
    for (let earlier = 0; earlier < options.earlier; earlier += 1) {
      const release = `9.${earlier}.20250101-0`;
      const { name } = await before.store.publish(
        {
          ...{ cluster: 'cluster-uid', base: computed, tagName: tag.name, tagIds: [], holder: 'before' },
          image: { release, location: 'https://mirror.test/x.ova', sha256: String(earlier).repeat(64) },
          placement: {
            ...{ server, datacenter: 'DC0', failureDomain: 'fd1', folder, datastore: '/DC0/datastore/DS0' },
            ...{ resourcePool: '/DC0/host/C0/Resources', computeCluster: '/DC0/host/C0', networks: ['VM Network'] },
          },
        },
        { holderIsLive: () => false },
      );
      released.set(at, name);
      clock.advance(DAY);
    }
  }
  clock.advance(BEGIN - clock.now());
  for (const [at, { template, folder }] of options.sets.entries()) {
    const reference =
      template === 'installer' ? computed : template === 'absent' ? 'gone' : (released.get(folder) ?? computed);
    client.put(MachineSet, workers(names[at] ?? '', reference, folder, at < options.out));
  }
  if (options.canary)
    client.put(BootImagePolicy, {
      metadata: { name: 'gold', uid: 'p-1', generation: 1 },
      spec: { canary: { mode: 'Machine' } },
    });
  const actor = machineActor({
    client,
    // The places of this world are one vCenter's, and machines look for names in all of it.
    templates: (name) => ([...inventory.state.machines.values()].some((one) => one.name === name) ? 1 : 0),
  });
  const boots = async (): Promise<void> => {
    for (let round = 0; round < 20 && (await actor.round()); round += 1);
  };

  let calls = recordCalls(inventory);
  const plan = (): Promise<ClusterPlan> => {
    process('planner');
    const { ports } = cluster;
    return planCluster(keptSets(ports.world), ports);
  };
  return {
    cluster,
    inventory,
    names,
    plan,
    executed: () => ({ vcenter: calls, api: client.writes.filter(isStep).map(asPlanned) }),
    forget: () => {
      calls = recordCalls(inventory);
      client.writes.length = 0;
    },
    operate: async () => {
      process('operator');
      for (let quiet = 0; quiet < 3; ) {
        const before = calls.length + client.writes.filter(isStep).length;
        const { after = 1_000 } = (await cluster.pass()) ?? {};
        await boots();
        const ms = Math.min(after, 60_000);
        cluster.cluster.clock += ms;
        clock.advance(ms);
        quiet = calls.length + client.writes.filter(isStep).length === before ? quiet + 1 : 0;
      }
    },
    machines: async () => {
      await boots();
      return [...client.objects].flatMap(([id]) => (id.startsWith('machines ') ? id : []));
    },
    carryOut: async (agreed, dies, during) => {
      const { session } = process(`apply-${clock.now()}`);
      const end = new AbortController();
      let left = dies ?? Number.POSITIVE_INFINITY;
      const die = (): void => {
        left -= 1;
        if (left > 0) return;
        session.kill();
        end.abort(new Error('killed'));
        throw new Error('killed');
      };
      const counted = recordCalls(inventory, (_, phase, __, { mutates }) => {
        if (!mutates || phase !== 'before') return;
        during?.(counted.at(-1) ?? '');
        die();
      });
      counted.unshift(...calls);
      calls = counted;
      client.refuse = () => {
        if (end.signal.aborted) return new Error('killed');
        if (dies !== undefined) left -= 1;
        if (left > 0) return undefined;
        session.kill();
        end.abort(new Error('killed'));
        return new Error('killed');
      };
      try {
        return await carryOut(agreed, {
          ports: cluster.ports,
          signal: end.signal,
          pause: async (ms) => {
            await boots();
            cluster.cluster.clock += ms;
            clock.advance(ms);
          },
        });
      } catch (error) {
        if (!end.signal.aborted) throw error;
        return 'died';
      } finally {
        client.refuse = undefined;
        inventory.onCall = undefined;
      }
    },
  };
}

/** Writes that steps make; what is said of sets is none. The actor's are not made here. */
function isStep(write: string): boolean {
  return (
    /^(patch machinesets|replace secrets|(create|delete) machines) /.test(write) &&
    !/^patch machinesets\/status/.test(write)
  );
}

function asPlanned(write: string): string {
  return write.replace('openshift-machine-api/', '');
}

/** What a plan says will be called. */
export function plannedCalls({ steps }: ClusterPlan): Executed {
  return {
    vcenter: steps.flatMap((step) =>
      step.kind === 'image'
        ? step.steps.flatMap(({ calls }) => calls.map(withoutRef))
        : step.kind === 'collect'
          ? [`Destroy_Task "${step.name}"`]
          : [],
    ),
    api: steps.flatMap((step): readonly string[] => {
      switch (step.kind) {
        case 'stub':
          // What it says is kept, it is converted, and what keeps it is sealed.
          return ['-ignition-2', '', '-ignition-2'].map((suffix) => `replace secrets ${step.secret}${suffix}`);
        case 'canary':
          return [`create machines ${step.machine}`, `delete machines ${step.machine}`];
        case 'point':
          return step.edits.length === 0 ? [] : [`patch machinesets ${step.set.replace('ms/', '')}`];
        default:
          return [];
      }
    }),
  };
}
