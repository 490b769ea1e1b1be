import { CustomResourceDefinition, VirtualMachine, type VirtualMachineStatus, Zone } from '@drydock/api';
import { run, systemClock } from '@drydock/kube';
import { type MemoryCluster, type MemoryKubeClient, memoryCluster, until } from '@drydock/kube/testing';
import { pino } from 'pino';
import { ZONE_FINALIZER } from '../kubernetes/zone.ts';
import { type VmWatchRole, type VmWatchRoleOptions, vmWatchRole } from '../role.ts';
import { links } from '../watch/links.ts';
import { type Estate, estate } from './estate.ts';

/** The whole role on a cluster and vCenters in memory. */
export interface VmWorld extends AsyncDisposable {
  readonly cluster: MemoryCluster;
  readonly client: MemoryKubeClient;
  readonly estate: Estate;
  /** Starts the role, once more after `stop` or `crash`. */
  start(options?: Partial<VmWatchRoleOptions>): Promise<VmWatchRole>;
  stop(): Promise<void>;
  /** The process is gone: its calls reach nobody any more. */
  crash(): Promise<void>;
  /** A guarded Zone. */
  zone(name: string, folder: string, metadata?: Partial<Zone['metadata']>): void;
  vm(name: string, status?: VirtualMachineStatus, more?: Partial<VirtualMachine>): void;
  status(name: string): VirtualMachineStatus;
  /** Waits until the status of an object is as wanted. */
  shows(name: string, what: string, wanted: (status: VirtualMachineStatus) => boolean): Promise<VirtualMachineStatus>;
  /** Waits until the watch on a vCenter is live. */
  live(server?: string): Promise<void>;
  /** Writes of statuses so far. */
  readonly writes: number;
}

/** Everything in it is in namespace ns. */
export function vmWorld(): VmWorld {
  const cluster = memoryCluster({ resources: [VirtualMachine, Zone], namespaces: ['ns', 'vmware-system-vmop'] });
  const name = 'virtualmachines.vmoperator.vmware.com';
  cluster.put(
    CustomResourceDefinition,
    { name },
    { metadata: { name, labels: { 'app.kubernetes.io/part-of': 'drydock' } } },
  );
  const vcenters = estate(systemClock);
  const observer = cluster.client();
  let running:
    | { readonly role: VmWatchRole; readonly client: MemoryKubeClient; readonly end: () => Promise<void> }
    | undefined;

  const world: VmWorld = {
    cluster,
    client: observer,
    estate: vcenters,
    start: async (options = {}) => {
      const client = cluster.client();
      const log = pino({ level: process.env['DRYDOCK_TEST_LOG'] ?? 'silent' });
      const ways = links({
        connect: vcenters.connect,
        credentials: () => ({ user: 'u', password: 'p' }),
      });
      const role = vmWatchRole({
        client,
        links: ways,
        firstServer: () => 'vc1',
        clock: systemClock,
        log,
        selfCheckMs: 0,
        ...options,
      });
      const operator = await run({ client, ...role, log, signal: new AbortController().signal });
      running = {
        role,
        client,
        end: async () => {
          await operator[Symbol.asyncDispose]();
          await ways[Symbol.asyncDispose]();
          await client[Symbol.asyncDispose]();
        },
      };
      return role;
    },
    stop: async () => {
      await running?.end();
      running = undefined;
    },
    crash: async () => {
      running?.client.kill();
      await world.stop();
    },
    zone: (zone, folder, metadata = {}) =>
      cluster.put(
        Zone,
        { namespace: 'ns', name: zone },
        {
          metadata: { namespace: 'ns', name: zone, finalizers: [ZONE_FINALIZER], ...metadata },
          spec: { managedVMs: { folderMoID: folder } },
        },
      ),
    vm: (vm, status, more = {}) =>
      cluster.put(
        VirtualMachine,
        { namespace: 'ns', name: vm },
        {
          ...more,
          ...(status === undefined ? {} : { status }),
          metadata: { namespace: 'ns', name: vm, ...more.metadata },
        },
      ),
    status: (vm) => cluster.peek(VirtualMachine, { namespace: 'ns', name: vm })?.status ?? {},
    shows: (vm, what, wanted) =>
      until(`${vm}: ${what}`, () => {
        const status = world.status(vm);
        return wanted(status) && status;
      }),
    live: async (server = 'vc1') => {
      await until(`the watch on ${server} is live`, () =>
        running?.role.watch.reports().some(({ vcenter, state }) => vcenter === server && state.name === 'live'),
      );
    },
    get writes() {
      return cluster.counters.get('replaceStatus') ?? 0;
    },
    [Symbol.asyncDispose]: async () => {
      await world.stop();
      await observer[Symbol.asyncDispose]();
    },
  };
  return world;
}
