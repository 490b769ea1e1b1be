import { BootImagePolicy, type BootImagePolicySpec, type Machine, type MachineSet } from '@drydock/api';
import { type FakeClusterOptions, machineSet } from './fake-cluster.ts';
import { type MachineActor, type MachineFate, machineActor } from './machine-actor.ts';
import { type ReportingCluster, reportingCluster } from './reporting-cluster.ts';

/** A machine set as the installer makes it, with the labels by which it selects its machines. */
export function workers(name: string, value: Readonly<Record<string, unknown>> = {}): MachineSet {
  const set = machineSet(name, value);
  const labels = {
    'machine.openshift.io/cluster-api-cluster': 'c1',
    'machine.openshift.io/cluster-api-machineset': name,
  };
  const { template } = set.spec ?? {};
  const hooks = { preDrain: [{ name: 'keep', owner: 'somebody' }] };
  const spec = { ...template?.spec, lifecycleHooks: hooks, taints: [{ key: 'gpu', effect: 'NoSchedule' }] };
  return {
    ...set,
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'MachineSet',
    spec: {
      ...set.spec,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, 'machine.openshift.io/cluster-api-machine-role': 'worker' } },
        spec,
      },
    },
  } as MachineSet;
}

/** A cluster whose policy wants a canary, and the controllers that make its machines. */
export interface CanaryRig extends ReportingCluster {
  readonly actor: MachineActor;
  /** Writes the policy, by default one that wants a canary and nothing else. */
  readonly policy: (spec?: BootImagePolicySpec, generation?: number) => void;
  readonly machines: () => readonly Machine[];
  /** A pass, and all that the machines then do. */
  readonly turn: () => Promise<void>;
}

/** A cluster with machine set wk-a, unless the options name others. `fate`: what becomes of each machine. */
export function canaryRig(
  fate: () => MachineFate = () => 'boots',
  options: FakeClusterOptions & { readonly canary?: object } = {},
): CanaryRig {
  const c = reportingCluster({ sets: [workers('wk-a')], ...options });
  const { client, store } = c.cluster;
  const actor = machineActor({
    client,
    templates: (name) => [...store.templates.keys()].filter((one) => one === name).length,
    fate,
  });
  const policy: CanaryRig['policy'] = (spec = {}, generation = 1) =>
    client.put(BootImagePolicy, {
      metadata: { name: 'gold', uid: 'p-1', generation },
      spec: { canary: { mode: 'Machine', ...options.canary }, ...spec },
    });
  policy();
  const of = <T>(plural: string): readonly T[] =>
    [...client.objects].filter(([id]) => id.startsWith(`${plural} `)).map(([, object]) => object as T);
  return Object.assign(Object.create(c, Object.getOwnPropertyDescriptors(c)) as ReportingCluster, {
    actor,
    policy,
    machines: () => of<Machine>('machines'),
    turn: async () => {
      await c.pass();
      for (let rounds = 0; (await actor.round()) && rounds < 20; rounds += 1);
    },
  });
}

/** Phase and reason in the BootImage of a machine set. */
export function saidOf(rig: CanaryRig, set: string = 'wk-a'): string {
  const { phase, reason } = rig.image(set)?.status ?? {};
  return `${phase} ${reason}`;
}

/** The creations of machines so far. */
export function creationsIn({ cluster }: CanaryRig): readonly string[] {
  return cluster.client.writes.filter((write) => write.startsWith('create machines'));
}
